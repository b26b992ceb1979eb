"""Control flow that SwiftShader compiles in a time that does not double with each branch.

For the head of each loop SwiftShader searches the blocks that can be reached, breadth first, and goes on from a block
once for each way that arrives there in the same number of steps. A loop with n times ``if (...) {...} else {...}`` in a
row has 2^n such ways. So here

* a function returns at its end alone,
* a selection whose sides do nothing but arithmetic computes both sides and chooses between their results,
* ``if (c) {A} else {B}`` becomes ``if (c) {A} if (!c) {B}``: the way around A is shorter than the way through it,
* a variable without a value at the start of a function or of a loop's iteration gets an undefined one there.  Without
  it, the rules above make the old value look alive: the driver carries it through all loops around, one value for each
  variable of each call, since it makes all functions a part of their callers.

The rules are for the modules that glslang makes, in which phis come from ``&&`` and ``||`` alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from vkamp.spirv.blocks import BasicBlock, Instruction, Op, SpirvFunction, SpirvModule, parse

_FUNCTION_STORAGE = 7
#: Input and PushConstant.
_CONSTANT_STORAGE = (1, 9)
#: GLSL's modf and frexp, which store a result.
_WITH_POINTERS = (35, 51)
#: Instructions that may run where the program would not: OpVectorShuffle to OpCopyObject, conversions, arithmetic,
#: comparisons, and operations on bits.
_PURE = frozenset((*range(79, 84), *range(109, 116), 124, *range(126, 149), *range(154, 192), *range(194, 206)))


def straightened(spirv: bytes) -> bytes:
    """The module with such control flow. AmpError if it is not a module."""
    module = parse(spirv)
    entries = {each.operands[1] for each in module.declarations if each.op == Op.ENTRY_POINT}
    common = _Common(module)
    for function in module.functions:
        if function.id not in entries:
            _SingleExit(common, function).run()
        _forget(common, function, is_entry=function.id in entries)
        _choose(common, function)
        _split(common, function)
    return module.data()


class _Common:
    """What the functions of a module share: its types and constants."""

    def __init__(self, module: SpirvModule) -> None:
        self.module = module
        declared = module.declarations
        self.bool_type = next((e.operands[0] for e in declared if e.op == Op.TYPE_BOOL), 0)
        #: The components of the types that OpSelect takes: 1 for a scalar.
        self.sizes = {e.operands[0]: 1 for e in declared if e.op in (Op.TYPE_BOOL, Op.TYPE_INT, Op.TYPE_FLOAT)}
        self.sizes |= {e.operands[0]: e.operands[2] for e in declared if e.op == Op.TYPE_VECTOR}
        #: The types of vectors of conditions, by their components.
        vectors = [e.operands for e in declared if e.op == Op.TYPE_VECTOR]
        self.conditions = {size: number for number, element, size in vectors if element == self.bool_type}
        #: What pointers to the variables of functions point to, by their types.
        pointers = [e.operands for e in declared if e.op == Op.TYPE_POINTER]
        self.pointees = {number: kind for number, storage, kind in pointers if storage == _FUNCTION_STORAGE}
        #: The variables that nothing changes: inputs and push constants.
        variables = [e.operands for e in declared if e.op == Op.VARIABLE]
        self.inputs = frozenset(number for _, number, storage, *_ in variables if storage in _CONSTANT_STORAGE)
        self.undefined_values: dict[int, int] = {}

    def constant(self, op: int) -> int:
        """The constant true or false."""
        number = self.module.new_id()
        self.module.declarations.append(Instruction(op, (self.bool_type, number)))
        return number

    def undefined(self, kind: int) -> int:
        """The undefined value of a type."""
        if kind not in self.undefined_values:
            self.undefined_values[kind] = number = self.module.new_id()
            self.module.declarations.append(Instruction(Op.UNDEF, (kind, number)))
        return self.undefined_values[kind]

    def variables(self, function: SpirvFunction) -> dict[int, int]:
        """The types of a function's own variables and of the parameters that are pointers to such, by their ids."""
        own = [e for e in (*function.head, *function.blocks[0].body) if e.op in (Op.PARAMETER, Op.VARIABLE)]
        return {e.operands[1]: self.pointees[e.operands[0]] for e in own if e.operands[0] in self.pointees}

    def variable(self, function: SpirvFunction, kind: int) -> int:
        """A new variable of a function."""
        pointer, number = self.module.new_id(), self.module.new_id()
        self.pointees[pointer] = kind
        self.module.declarations.append(Instruction(Op.TYPE_POINTER, (pointer, _FUNCTION_STORAGE, kind)))
        function.blocks[0].body.insert(0, Instruction(Op.VARIABLE, (pointer, number, _FUNCTION_STORAGE)))
        return number

    def value(self, block: BasicBlock, op: int, kind: int, *operands: int, result: int | None = None) -> int:
        """The result of a new instruction at the end of a block; ``result``: the id to give it."""
        number = self.module.new_id() if result is None else result
        block.body.append(Instruction(op, (kind, number, *operands)))
        return number

    def choice(
        self, block: BasicBlock, kind: int, condition: int, then: int, orelse: int, result: int | None = None
    ) -> int:
        """One of two values of a type that has a size, chosen at the end of a block; ``result``: the id to give it."""
        size = self.sizes[kind]
        if size > 1:
            if size not in self.conditions:
                self.conditions[size] = self.module.new_id()
                operands = (self.conditions[size], self.bool_type, size)
                self.module.declarations.append(Instruction(Op.TYPE_VECTOR, operands))
            condition = self.value(block, Op.COMPOSITE_CONSTRUCT, self.conditions[size], *[condition] * size)
        return self.value(block, Op.SELECT, kind, condition, then, orelse, result=result)


def _branch(target: int) -> Instruction:
    return Instruction(Op.BRANCH, (target,))


def _decide(block: BasicBlock, condition: int, then: int, merge: int, orelse: int | None = None) -> None:
    """Lets a block end in a selection; without ``orelse`` in one with one side."""
    block.merge = Instruction(Op.SELECTION_MERGE, (merge, 0))
    block.end = Instruction(Op.BRANCH_CONDITIONAL, (condition, then, merge if orelse is None else orelse))


def _retarget(block: BasicBlock, old: int, new: int) -> None:
    """Lets a block branch to another label."""
    first = 0 if block.end.op == Op.BRANCH else 1
    changed = (new if n >= first and each == old else each for n, each in enumerate(block.end.operands))
    block.end = Instruction(block.end.op, tuple(changed))


def _rename_parent(block: BasicBlock, old: int, new: int) -> None:
    """Lets the phis of a block name one that it comes from by another label."""
    for number, each in enumerate(block.body):
        if each.op == Op.PHI:
            parents = (new if n % 2 and p == old else p for n, p in enumerate(each.operands[2:]))
            block.body[number] = Instruction(Op.PHI, (*each.operands[:2], *parents))


def _has_phi(block: BasicBlock) -> bool:
    return any(each.op == Op.PHI for each in block.body)


def _returns(block: BasicBlock) -> bool:
    return block.end.op in (Op.RETURN, Op.RETURN_VALUE)


def _reached(blocks: dict[int, BasicBlock], first: int, ends: Set[int]) -> Iterator[BasicBlock]:
    """The blocks that can be reached from a label without passing one of ``ends``."""
    seen, pending = set(ends), [first]
    while pending:
        label = pending.pop()
        if label not in seen:
            seen.add(label)
            yield blocks[label]
            pending += blocks[label].targets


def _leads_to(blocks: dict[int, BasicBlock], first: int, ends: Set[int], target: int) -> bool:
    return first == target or any(target in block.targets for block in _reached(blocks, first, ends))


# -- one return ----------------------------------------------------------------------------------------------------


class _SingleExit:
    """Makes a function return at its end alone: a return stores the result and branches to the exit, and what comes
    after the construct with the return becomes the other side of it.

    A variable says of what may have returned or not (a loop, a side of a selection that returns in some cases) whether
    it has.
    """

    def __init__(self, common: _Common, function: SpirvFunction) -> None:
        self.common = common
        self.function = function
        self.blocks = function.by_label()
        self.result = self.flag = self.true = 0

    def run(self) -> None:
        """Changes the function if that is needed."""
        function, common = self.function, self.common
        returns = [block for block in function.blocks if _returns(block)]
        # Where the head of a loop is a merge block, too, and in switches, the driver may have it its own way.
        unusual = any(b.end.op == Op.SWITCH or (b.is_loop and _has_phi(b)) for b in function.blocks)
        if unusual or (len(returns) < 2 and not any(self.in_loop(block) for block in returns)):
            return
        last = self.new_block(Instruction(Op.RETURN, ()))
        if any(block.end.op == Op.RETURN_VALUE for block in returns):
            self.result = common.variable(function, function.type)
            last.end = Instruction(Op.RETURN_VALUE, (common.value(last, Op.LOAD, function.type, self.result),))
        entry = function.blocks[0].label
        function.blocks.append(last)
        for head in [block for block in reversed(function.blocks) if block.is_loop]:
            self.leave(head)
        self.region(entry, last.label, flagged=False)

    def new_block(self, end: Instruction) -> BasicBlock:
        block = BasicBlock(self.common.module.new_id(), [], None, end)
        self.blocks[block.label] = block
        return block

    def inside(self, head: BasicBlock) -> list[BasicBlock]:
        """The blocks of a loop."""
        position = self.function.position
        return self.function.blocks[position(head.label) : position(head.merge_label)]

    def in_loop(self, block: BasicBlock) -> bool:
        return any(block in self.inside(head) for head in self.function.blocks if head.is_loop)

    def leave(self, head: BasicBlock) -> None:
        """Makes the returns in a loop leave it, and return after it. Inner loops come first."""
        returns = [block for block in self.inside(head) if _returns(block)]
        for block in returns:
            self.end(block, head.merge_label, flagged=True)
        if returns:
            self.return_if_flagged(head.merge_label)

    def end(self, block: BasicBlock, target: int, *, flagged: bool) -> None:
        """Makes a return a branch."""
        if block.end.op == Op.RETURN_VALUE:
            block.body.append(Instruction(Op.STORE, (self.result, block.end.operands[0])))
        if flagged:
            self.need_flag()
            block.body.append(Instruction(Op.STORE, (self.flag, self.true)))
        block.end = _branch(target)

    def need_flag(self) -> None:
        if not self.flag:
            self.flag = self.common.variable(self.function, self.common.bool_type)
            self.true = self.common.constant(Op.CONSTANT_TRUE)
            entry = self.function.blocks[0].body
            first = next((n for n, each in enumerate(entry) if each.op != Op.VARIABLE), len(entry))
            entry.insert(first, Instruction(Op.STORE, (self.flag, self.common.constant(Op.CONSTANT_FALSE))))

    def return_if_flagged(self, label: int) -> None:
        """Puts a return, of the result that is stored, before what a block does."""
        block = self.blocks[label]
        rest = self.new_block(block.end)
        rest.body, rest.merge = block.body, block.merge
        for target in rest.targets:
            _rename_parent(self.blocks[target], label, rest.label)
        leaving = self.new_block(Instruction(Op.RETURN, ()))
        block.body = []
        flag = self.common.value(block, Op.LOAD, self.common.bool_type, self.flag)
        _decide(block, flag, leaving.label, rest.label)
        position = self.function.position(label) + 1
        self.function.blocks[position:position] = [leaving, rest]

    def region(self, label: int, stop: int, *, flagged: bool) -> None:
        """Lets the blocks from one label to another, which may return, branch to the other instead.

        ``flagged``: whether they note it if they do.
        """
        while label != stop:
            block = self.blocks[label]
            if block.merge is None:
                if _returns(block):
                    self.end(block, stop, flagged=flagged)
                if block.end.op != Op.BRANCH:
                    return
                label = block.targets[0]
            elif block.is_loop:
                label = block.merge_label
            else:
                label, stop = self.selection(block, stop, flagged=flagged)

    def selection(self, head: BasicBlock, stop: int, *, flagged: bool) -> tuple[int, int]:
        """Does what :meth:`region` does for a selection; where that goes on, and the new label where it stops."""
        merge = head.merge_label
        sides = [target for target in dict.fromkeys(head.targets) if target != merge]
        returning = [s for s in sides if any(map(_returns, _reached(self.blocks, s, {merge})))]
        if not returning:
            return merge, stop
        going_on = [s for s in head.targets if _leads_to(self.blocks, s, {merge}, merge)]
        if set(returning) & set(going_on):
            for side in returning:
                self.region(side, merge, flagged=True)
            self.return_if_flagged(merge)
            return merge, stop
        if not going_on:
            for side in returning:
                self.region(side, merge, flagged=flagged)
            self.blocks[merge].end = _branch(stop)
            return stop, stop
        # The code after the selection becomes a part of the side that does not return.
        exit_ = self.new_block(_branch(stop))
        for block in list(_reached(self.blocks, merge, {stop})):
            _retarget(block, stop, exit_.label)
        self.function.blocks.insert(self.function.position(stop), exit_)
        head.merge = Instruction(Op.SELECTION_MERGE, (exit_.label, 0))
        for side in returning:
            self.region(side, exit_.label, flagged=flagged)
        return merge, exit_.label


# -- old values ----------------------------------------------------------------------------------------------------


def _forget(common: _Common, function: SpirvFunction, *, is_entry: bool) -> None:
    """Stores undefined values to variables that have no value: where a function starts, and where an iteration does."""
    lifetimes = _Lifetimes(common, function)
    for head in function.blocks:
        if head.is_loop:
            inside = function.blocks[function.position(head.label) : function.position(head.merge_label)]
            mentioned = {name for block in inside for name in lifetimes.stored[block.label]}
            _undefine(common, head, lifetimes, mentioned - lifetimes.live[head.label])
    if not is_entry:
        # Its parameters have values.
        declared = {each.operands[1] for each in function.blocks[0].body if each.op == Op.VARIABLE}
        entry = function.blocks[0]
        _undefine(common, entry, lifetimes, lifetimes.kinds.keys() & declared - lifetimes.stored[entry.label])


def _undefine(common: _Common, block: BasicBlock, lifetimes: _Lifetimes, names: Set[int]) -> None:
    position = next((n for n, e in enumerate(block.body) if e.op not in (Op.PHI, Op.VARIABLE)), len(block.body))
    stores = [Instruction(Op.STORE, (name, common.undefined(lifetimes.kinds[name]))) for name in sorted(names)]
    block.body[position:position] = stores


class _Lifetimes:
    """``kinds``: the types of the variables, of scalars and vectors, that a function loads and stores as a whole;
    ``stored`` and ``live``: those that each block stores before it loads them, and those with a value that is loaded in
    or behind a block, by the block's label.
    """

    def __init__(self, common: _Common, function: SpirvFunction) -> None:
        kinds = {name: kind for name, kind in common.variables(function).items() if kind in common.sizes}
        for each in (each for block in function.blocks for each in block.body):
            for name in _used_otherwise(each) & kinds.keys():
                del kinds[name]
        self.kinds = kinds
        self.stored: dict[int, set[int]] = {}
        self.live: dict[int, set[int]] = {}
        for block in function.blocks:
            stored, loaded = self.stored.setdefault(block.label, set()), self.live.setdefault(block.label, set())
            for each in block.body:
                if each.op == Op.STORE and each.operands[0] in kinds and each.operands[0] not in loaded:
                    stored.add(each.operands[0])
                elif each.op == Op.LOAD and each.operands[2] in kinds and each.operands[2] not in stored:
                    loaded.add(each.operands[2])
        self.spread(function)

    def spread(self, function: SpirvFunction) -> None:
        """Extends the live ranges of a block's values to the blocks before it."""
        changed = True
        while changed:
            changed = False
            for block in reversed(function.blocks):
                live = self.live[block.label]
                behind: set[int] = set().union(*(self.live[target] for target in block.targets))
                more = behind - self.stored[block.label] - live
                live |= more
                changed |= bool(more)


def _used_otherwise(each: Instruction) -> set[int]:
    """The ids in an instruction but those that it loads from or stores to."""
    if each.op == Op.VARIABLE:
        return set()
    if each.op == Op.LOAD:
        return set(each.operands[3:])
    return set(each.operands[1:] if each.op == Op.STORE else each.operands)


# -- choices instead of branches -----------------------------------------------------------------------------------


def _choose(common: _Common, function: SpirvFunction) -> None:
    """Makes choices of the selections whose sides do nothing but arithmetic, inner ones first."""
    chooser = _Chooser(common, function)
    for head in reversed(function.blocks):
        if head.end.op == Op.BRANCH_CONDITIONAL and head.merge is not None and not head.is_loop:
            chooser.selection(head)
    function.blocks = [block for block in function.blocks if block.label in chooser.blocks]


class _Chooser:
    def __init__(self, common: _Common, function: SpirvFunction) -> None:
        self.common = common
        self.blocks = function.by_label()
        self.arrivals = Counter(label for block in function.blocks for label in set(block.targets))
        heads = [block for block in function.blocks if block.merge is not None]
        #: How often each block is named as the one after a construct, or as the one that continues a loop.
        self.named = Counter(label for b in heads if b.merge for label in b.merge.operands[: 1 + b.is_loop])
        self.variables = common.variables(function)

    def selection(self, head: BasicBlock) -> None:
        """Makes a choice of a selection if it can be one."""
        condition, *targets = head.end.operands[:3]
        merge = self.blocks[head.merge_label]
        if targets[0] == targets[1] or not self.is_join(merge):
            return
        sides = [self.blocks[target] for target in targets if target != merge.label]
        if not all(self.is_plain(side, merge.label) for side in sides):
            return
        then, orelse = ({} if t == merge.label else self.hoist(self.blocks[t], head) for t in targets)
        for pointer in dict.fromkeys((*then, *orelse)):
            kind = self.variables[pointer]
            then_value, else_value = (
                stored[pointer] if pointer in stored else self.common.value(head, Op.LOAD, kind, pointer)
                for stored in (then, orelse)
            )
            result = self.common.choice(head, kind, condition, then_value, else_value)
            head.body.append(Instruction(Op.STORE, (pointer, result)))
        ways = [head.label if target == merge.label else target for target in targets]
        for each in merge.body:
            if each.op == Op.PHI:
                kind, result, *pairs = each.operands
                values_by_way = dict(zip(pairs[1::2], pairs[::2], strict=True))
                then_value, else_value = (values_by_way[way] for way in ways)
                self.common.choice(head, kind, condition, then_value, else_value, result=result)
            else:
                head.body.append(each)
        head.merge, head.end = merge.merge, merge.end
        for gone in (merge, *sides):
            del self.blocks[gone.label]
        for target in head.targets:
            _rename_parent(self.blocks[target], merge.label, head.label)

    def is_join(self, block: BasicBlock) -> bool:
        """Whether a block is after one selection alone, and its phis can be choices."""
        phis = [each for each in block.body if each.op == Op.PHI]
        return (
            self.arrivals[block.label] == 2
            and self.named[block.label] == 1
            and not block.is_loop
            and all(each.operands[0] in self.common.sizes for each in phis)
        )

    def is_plain(self, side: BasicBlock, merge: int) -> bool:
        """Whether a side of a selection may run where the other one does."""
        if side.merge is not None or side.end != _branch(merge) or self.arrivals[side.label] != 1:
            return False
        constants = set(self.common.inputs)
        for each in side.body:
            if each.op == Op.STORE:
                fits = each.operands[0] in self.variables and self.variables[each.operands[0]] in self.common.sizes
                fits = fits and len(each.operands) == 2
            elif each.op == Op.LOAD:
                fits = each.operands[2] in self.variables or each.operands[2] in constants
            elif each.op == Op.ACCESS_CHAIN:
                fits = each.operands[2] in constants
                constants.add(each.operands[1])
            elif each.op == Op.EXT_INST:
                fits = each.operands[3] not in _WITH_POINTERS
            else:
                fits = each.op in _PURE
            if not fits:
                return False
        return True

    def hoist(self, side: BasicBlock, head: BasicBlock) -> dict[int, int]:
        """Lets the head compute what a side does; the values that the side would store, by variable."""
        stored: dict[int, int] = {}
        for each in side.body:
            if each.op == Op.STORE:
                stored[each.operands[0]] = each.operands[1]
            elif each.op == Op.LOAD and each.operands[2] in stored:
                kind, result, pointer = each.operands[:3]
                head.body.append(Instruction(Op.COPY_OBJECT, (kind, result, stored[pointer])))
            else:
                head.body.append(each)
        return stored


# -- one side at a time --------------------------------------------------------------------------------------------


def _split(common: _Common, function: SpirvFunction) -> None:
    """Makes two selections of each that has two sides which both continue after it."""
    blocks = function.by_label()
    out = list(function.blocks)
    around: list[tuple[int, Set[int]]] = []
    for head in function.blocks:
        while around and around[-1][0] == head.label:
            around.pop()
        if head.is_loop and head.merge is not None:
            around.append((head.merge_label, {*head.merge.operands[:2]}))
        if head.end.op != Op.BRANCH_CONDITIONAL or head.merge is None or head.is_loop:
            continue
        condition, *targets = head.end.operands[:3]
        merge = head.merge_label
        if merge in targets or targets[0] == targets[1] or _has_phi(blocks[merge]):
            continue
        ends = {merge, *(label for _, labels in around for label in labels)}
        sides = [list(_reached(blocks, target, ends)) for target in targets]
        if not all(any(merge in block.targets for block in side) for side in sides):
            continue
        between = BasicBlock(common.module.new_id(), [], None, _branch(merge))
        for block in sides[0]:
            _retarget(block, merge, between.label)
        opposite = common.value(head, Op.LOGICAL_NOT, common.bool_type, condition)
        _decide(head, condition, targets[0], between.label)
        _decide(between, opposite, targets[1], merge)
        # A block comes before those that can only be reached through it.
        out.insert(out.index(blocks[targets[1]]), between)
        blocks[between.label] = between
    function.blocks = out
