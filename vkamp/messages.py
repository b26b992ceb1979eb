"""The text of every diagnostic: one row for each code.

Codes: 1xx syntax, 2xx names and calls, 3xx types, 4xx memory, 5xx tiles, 6xx barriers and races, 7xx hand-edited
shaders.
"""

from __future__ import annotations

from typing import Literal

from vkamp.records import dataclass


@dataclass(frozen=True)
class Message:
    """What is wrong, in one sentence, and how to write it instead; both are format strings.

    ``kind`` says which error it is: one of compilation, an unsupported feature, or one in a hand-edited shader.
    """

    text: str
    help: str = ""
    kind: Literal["compile", "unsupported", "edit"] = "compile"


_MISSED = "some threads of the tile may not reach this barrier: it is {place}"
_DROP = "or drop the edit: vkamp shaders revert {name}"

MESSAGES: dict[str, Message] = {
    # -- 1xx: syntax
    "VKA101": Message("kernels do not support {what}", "{advice}"),
    "VKA102": Message("the source of `{name}` {problem}, and a kernel is compiled from its source", "{advice}"),
    "VKA103": Message("`{text}` has no effect", "{advice}"),
    "VKA104": Message("a `for` loop cannot iterate over `{text}`", "{advice}"),
    "VKA106": Message(
        "`{name}` takes any number of keyword arguments (`**{param}`), which kernels do not support",
        "write a name for every parameter, or take any number of arguments by position, `*{param}`",
    ),
    "VKA107": Message("{what} cannot be a kernel", "{advice}"),
    "VKA109": Message("{what}", "{advice}"),
    "VKA110": Message(
        "kernels do not support the type `{text}`",
        "use a type of 32 or 64 bits such as `amp.float32`; elements of containers can also have 8 or 16 bits, "
        "or a structured dtype",
    ),
    "VKA112": Message("the step of a range is 0", "use a step other than 0"),
    "VKA113": Message(
        "this loop would be unrolled {count} times; the limit is {limit}",
        "use range(...) instead of amp.static_range(...)",
    ),
    "VKA114": Message("`{text}` is {given}; the arguments of a range must be integers", "{advice}"),
    "VKA115": Message(
        "the kernel `{name}` has no parameter for its index",
        "write `def {name}({parameters}):`; the {which} parameter is the thread's index",
    ),
    "VKA116": Message("the {kind} parameter `{name}` of a kernel is {what} as a constant", "{advice}"),
    "VKA117": Message(
        "`{text}` is supported only as the iterable of a `for` loop",
        "write `for i in {text}:`, and backwards `for i in reversed({text}):`; a condition can choose its bounds",
    ),
    "VKA118": Message(
        "this expression or chain of statements is nested too deeply",
        "assign parts of an expression to variables first; split a long chain of `elif` into functions",
    ),
    "VKA119": Message(
        "this loop never ends: its condition is always true, and no `break` or `return` is reached",
        "write the condition under which the loop continues, or end it: `if ...: break`",
    ),
    "VKA121": Message(
        "`{text}` has several clauses or conditions, so its length is not known",
        "write its loops and conditions as statements; only `sum`, `any`, `all`, `min` and `max` accept it",
    ),
    "VKA122": Message("`{name}` of one sequence does not support `{keyword}`", "{advice}"),
    "VKA123": Message("`{text}` has no items", "pass the result for an empty sequence: `{name}(..., default=0)`"),
    "VKA124": Message(
        "`{text}` cannot become a tuple: its length is not known when the kernel is compiled, or exceeds {limit}",
        "use amp.private(shape, dtype) and a `for` loop",
    ),
    "VKA125": Message(
        "`{text}` is {what}, but `in` searches tuples, ranges, arrays and containers only", "compare with =="
    ),
    "VKA126": Message(
        "`{text}` is {given}, but a range contains integers only", "compare with its ends: `low <= x < high`"
    ),
    "VKA127": Message(
        "`strict=True` needs equal lengths, but they are {one} and {other}", "remove `strict` to stop at the shortest"
    ),
    # -- 2xx: names and calls
    "VKA201": Message("the name `{name}` is not defined", "{advice}"),
    "VKA202": Message("`{name}` may be unassigned here: not every path to this line assigns it", "{advice}"),
    "VKA203": Message("`{name}` is an ordinary Python {kind}, which a kernel cannot call", "{advice}"),
    "VKA204": Message("`{name}` calls itself ({chain}); kernels do not support recursion", "write it as a loop"),
    "VKA205": Message("`{name}` is {what}, which a kernel cannot use", "{advice}"),
    "VKA206": Message("{owner} has no `{name}`", "{advice}"),
    "VKA207": Message("`{name}` takes {expected} argument{s}, but {given} {are} given", "{advice}"),
    "VKA208": Message("`{name}` works on the host only, not in a kernel", "use it before or after the launch"),
    "VKA209": Message("`{text}` cannot be assigned: {why}", "{advice}"),
    "VKA210": Message("`{text}` is {what}, not a function", "{advice}"),
    "VKA211": Message(
        "`{name}` returns a value on some paths and nothing on others",
        "return a value at the end of every path through the function",
    ),
    "VKA212": Message(
        "`{text}` is {what}, which a function cannot return",
        "return numbers, indices, structs, whole private arrays, or tuples of them",
    ),
    "VKA213": Message("a kernel cannot return a value", "store the result in a container: `{advice}`"),
    "VKA216": Message(
        "`{text}` has no memory to view: a kernel can make views of containers and arrays only",
        "write `{name}(a)` or `{name}(a, extent)`, or make the view on the host and pass it",
    ),
    "VKA217": Message(
        "`{text}` is a part of an array or struct, which cannot be passed to a function by reference",
        "pass the whole array and the index, or the value of the element",
    ),
    "VKA218": Message(
        "`{name}` returns {given} here, but {other} elsewhere", "return the same number and kinds of values everywhere"
    ),
    "VKA219": Message(
        "`{name}` is a kernel, and a kernel cannot call a kernel",
        "move what both need into an @amp.func, and call that",
    ),
    "VKA220": Message("`{text}` takes no keyword arguments", "pass its arguments by position"),
    "VKA221": Message("the argument of `{name}` must be the barrier", "write `amp.{name}(t_idx.barrier)`"),
    "VKA222": Message("the arguments do not fit `{name}`: {reason}", "{advice}"),
    "VKA223": Message("`{text}` returns no value", "call it on its own line"),
    "VKA224": Message(
        "`{name}` is assigned after the function `{function}` captured its value",
        "use another name for the new value, or make it a parameter of `{function}`",
    ),
    "VKA225": Message("no overload of `{name}` takes {given}", "its overloads are {forms}: convert the arguments"),
    "VKA226": Message(
        "`{name}{given}` is ambiguous: {forms} fit equally well", "convert the arguments to the types of one of them"
    ),
    "VKA227": Message("{what}", "{advice}", kind="unsupported"),
    "VKA228": Message("`print` cannot show `{text}`, which is {what}", "{advice}"),
    "VKA229": Message(
        "`print` in a kernel does not support {what}", "pass the values; `sep` and `end` may be string literals"
    ),
    "VKA230": Message(
        "`{spec}` is not a format for {what}",
        "use Python's: `{{x:8.3f}}` for a float, `{{n:5d}}` for an integer, none for vectors, structs and indices",
    ),
    "VKA231": Message(
        "`{text}` is {what}, which has no length", "`len` takes a container, array, tuple, index or extent"
    ),
    "VKA232": Message(
        "`ord` takes a string of one character, and `{text}` is not one",
        "the elements of a container are numbers already",
    ),
    "VKA236": Message('`"{name}"` is not a device feature', "{advice}"),
    "VKA237": Message("{text}", "call `{name}` with other arguments: it refuses these while the kernel is compiled"),
    # -- 3xx: types
    "VKA301": Message("{given} value cannot be stored in {what}, which is {type}", "{advice}"),
    "VKA302": Message("`{op}` does not work on {what}", "{advice}"),
    "VKA303": Message("{value} does not fit {type}, which holds {range}", "{advice}"),
    "VKA304": Message("{what} the device feature {feature}, {why}", "{advice}", kind="unsupported"),
    "VKA305": Message(
        "bool is not an element type of containers: its size differs between host and device",
        "use amp.int32 with 0 and 1: `mask.astype(np.int32)` on the host",
    ),
    "VKA308": Message("{what} must be {kind} known at compile time, and `{text}` is not", "{advice}"),
    "VKA309": Message("{left} and {right} differ in rank", "use the same number of components on both sides"),
    "VKA310": Message("division by zero", "use a divisor that is not 0"),
    "VKA311": Message("`{text}` is {what}, but a number is needed here", "{advice}"),
    "VKA312": Message("the struct has no field `{name}`", "{advice}"),
    "VKA313": Message("{what} has rank {rank}, but {given} subscript{s} {are} given", "{advice}"),
    "VKA314": Message("`{text}` is {given}; a subscript must be an integer", "{advice}"),
    "VKA315": Message("`{name}` takes {accepts}, not {given}", "convert the argument: `{advice}`"),
    "VKA316": Message("`{name}` cannot become {new}: a variable keeps its type throughout the function", "{advice}"),
    "VKA317": Message("{what} is {type}, but {given} is given", "{advice}"),
    "VKA318": Message("the result of a shift by {count} bits is undefined", "shift by 0 to 31 bits"),
    "VKA319": Message(
        "an integer to the power of `{text}` is not an integer", "make the base a float: `float(x) ** {text}`"
    ),
    "VKA321": Message("indices and tuples cannot be ordered", "compare their components, `idx[0] < n`"),
    "VKA322": Message("`{op}` is not defined for {left} and {right}", "{advice}"),
    "VKA323": Message("`{text}` is {what}, which has no elements", "{advice}"),
    "VKA324": Message("the subscript {index} is outside {place}", "{advice}"),
    "VKA325": Message(
        "the subscript {index} is out of range: `{text}` has {size} component{s}",
        "{advice}",
    ),
    "VKA326": Message(
        "the loop variable `{name}` would be {type} here", "use another name, or the same type in both places"
    ),
    "VKA327": Message("the result of `{text}` is undefined", "use arguments for which it is defined"),
    "VKA328": Message("`{text}` is {what}, which cannot be unpacked", "{advice}"),
    "VKA329": Message("{values} value{s} for {targets} name{t}", "use as many names as there are values"),
    "VKA330": Message("`{text}` is {what}; only elements can be assigned", "{advice}"),
    "VKA331": Message(
        "the tuple `{name}` contains {what}",
        "a tuple variable can contain numbers only; assign the other things to variables",
    ),
    "VKA332": Message("{what} cannot be ordered", "compare their {parts}: `{example} {op} ...`"),
    "VKA333": Message("`{text}` is {given}, which does not convert to {type}: the lengths differ", "{advice}"),
    "VKA334": Message(
        "`{text}` is {what}", "choose between vectors of one type; `amp.float3(a)` makes a vector from a number"
    ),
    "VKA335": Message(
        "`{text}` is {given}, whose bits cannot be read as {type}: the sizes differ", "the bits stay the same; {advice}"
    ),
    "VKA340": Message("a section of rank {rank} takes an index, an extent, both, or {count} whole numbers", "{advice}"),
    "VKA341": Message(
        "the section {what} in dimension {dim}{of}",
        "the origin must be inside, the length at least 1, and the end within the container",
    ),
    "VKA342": Message(
        "a view of {wanted} elements does not fit into {have}",
        "a view has at least 1 element, and at most as many as its memory",
    ),
    "VKA343": Message(
        "`{name}` needs contiguous elements, but `{text}` is {what}", "take one row: `{text}[{indices}].{name}({args})`"
    ),
    "VKA344": Message("{old} cannot be read as {new}: {reason}", "{advice}"),
    "VKA351": Message(
        "`{name}` cannot become {what} here: branches and loops can rebind a name only to elements of one "
        "array or container, "
        "or objects",
        "begin with an object, `{name} = ... .copy()`; or use one name for each of them",
    ),
    "VKA352": Message(
        "`{text}` is assigned before `{name}` is read: in Python this loses its old value",
        "assign copies: write `.copy()` after each element of `{value}`",
    ),
    "VKA353": Message(
        "in Python `{name}` and `{by}` are one object here, but a kernel has a copy, which lacks the change",
        "make the copy explicit where it gets its second name, `{copy}`, or read `{by}`",
    ),
    "VKA354": Message(
        "in Python this changes `{other}` too, but in a kernel `{name}` is a copy of it: the change would be lost",
        "copy it where it gets its second name, `... .copy()`, or change `{other}` itself",
    ),
    "VKA356": Message("`{text}` is one of its operands, but these are {what}", "{advice}"),
    "VKA355": Message("`{name}` is a copy of {of}: the change is lost", "{advice}"),
    # -- 4xx: memory
    "VKA401": Message(
        "`amp.{name}` declares an array, and must be assigned to a name directly",
        "write `values = amp.{name}(shape, dtype)` on its own line",
    ),
    "VKA402": Message(
        "a tile_static array cannot be declared inside a branch or loop: it exists once per tile",
        "move the declaration to the top level of the function, before the branch or loop",
    ),
    "VKA403": Message(
        "tile_static memory needs tiles, but the domain of this launch has none",
        "launch over a tiled domain, `extent.tile(...)`, or use amp.private(shape, dtype)",
    ),
    "VKA404": Message(
        "{name} memory cannot have an initial value: its contents are undefined until a thread writes them",
        "assign the elements after the declaration; for tile_static memory, each thread assigns some, "
        "and then all wait at a barrier",
    ),
    "VKA405": Message("this writes to `{name}`, which is a read-only view", "{advice}"),
    "VKA406": Message(
        "`{name}` needs an element of a container or of a tile_static array, but `{text}` is {what}", "{advice}"
    ),
    "VKA407": Message(
        "`{name}` works on {accepts}, but the element is {given}", "use a container or tile_static array of integers"
    ),
    "VKA408": Message("a {name} array cannot have the size {size}", "use sizes of 1 or more"),
    "VKA409": Message(
        "the expected value, `{text}`, must be a local variable of type {type}: it receives the old value",
        "assign it to a variable first: `expected = amp.{type}({advice})`",
    ),
    "VKA410": Message(
        "this {name} array has {size} bytes; the limit is {limit}", "make it smaller, or use a container"
    ),
    "VKA411": Message("`{name}` cannot update `{text}`, {what}", "use a separate tile_static array for it"),
    "VKA412": Message(
        "`{name}` is used after the `{scope}` that declares it, and its memory may belong to another array",
        "declare it before the scope, or move this line into the scope",
    ),
    "VKA420": Message("{what}", "{advice}"),
    # -- 5xx: tiles
    "VKA501": Message(
        "`{text}` needs tiles, but the domain of this launch has none",
        "launch over a tiled domain, `extent.tile(...)`, or use `{index}` itself, the thread's index",
    ),
    "VKA502": Message(
        "`{name}` works on the reference accelerator only, and this launch runs on another one",
        'run with VKAMP_ACCELERATOR=reference, or pass `amp.accelerator("reference")` before the domain; or remove it',
        kind="unsupported",
    ),
    "VKA503": Message(
        "`amp.subgroup.{name}` needs {operation} subgroup operations; {device} supports {supported}",
        "run it on another accelerator, or exchange the values through tile_static memory and barriers",
        kind="unsupported",
    ),
    "VKA504": Message(
        "the tile_static arrays of `{kernel}` have {bytes} bytes; {device} has {limit} per tile",
        "make them smaller, or let them share memory by `with amp.tile_scope():`; `{name}` alone has {size} bytes",
        kind="unsupported",
    ),
    # -- 6xx: barriers and races
    "VKA600": Message(
        "a barrier needs tiles, but the domain of this launch has none",
        "launch over a tiled domain, `extent.tile(...)`: a barrier synchronizes the threads of a tile",
    ),
    "VKA601": Message(
        _MISSED,
        "{fix}move the barrier out of the `if`, so that every thread waits, and guard only the loads and stores",
    ),
    "VKA602": Message(
        _MISSED,
        "{fix}let all threads of the tile run the loop to the same bound, "
        "and guard the loads and stores in it by an `if`",
    ),
    "VKA603": Message(
        _MISSED,
        "{fix}keep all threads alive up to the last barrier: instead of returning, "
        "guard the loads and stores by an `if` (in a padded domain, one that excludes the threads outside the data)",
    ),
    "VKA604": Message(
        _MISSED,
        "{fix}let all threads of the tile run the same number of iterations, "
        "and guard the loads and stores in it by an `if` instead of the `{jump}`",
    ),
    "VKA605": Message(
        "some threads of the tile may not reach this barrier: `{function}` is called {place}",
        "{fix}call `{function}` where all threads of the tile call it, and guard only its loads and stores",
    ),
    "VKA606": Message(
        "`amp.uniform` must be called by all threads of the tile, but some may not reach it: {what} {place}",
        "{fix}call it earlier, where all threads of the tile reach it, and use the result here",
    ),
    "VKA607": Message(
        "`amp.uniform` needs tiles, but the domain of this launch has none",
        "remove it, or launch over a tiled domain, `extent.tile(...)`",
    ),
    "VKA608": Message(
        "`amp.subgroup.{name}` needs tiles, but the domain of this launch has none",
        "launch over a tiled domain, `extent.tile(...)`",
    ),
    "VKA650": Message(
        "`amp.{name}` must be called by all threads of a subgroup together, "
        "but some of them may not reach it: {what} {place}",
        "{fix}call it where all threads of the subgroup reach it, with a neutral value such as 0 in threads that have "
        "none, and use the result here",
    ),
    "VKA651": Message(
        "the second argument of `amp.subgroup.{name}` may differ between the threads of the subgroup",
        "{fix}pass the same value in all of them, or use `amp.subgroup.shuffle(x, lane)`, where each thread "
        "chooses its lane",
    ),
    "VKA610": Message(
        "{threads} update this one element of `{name}` at once: a race",
        "write `amp.{atomic}({element}, ...)`, or let one thread do it: {single}",
    ),
    "VKA611": Message(
        "{threads} update this one element of `{name}` at once: a race",
        "let each thread update a separate element, and {combine}",
    ),
    "VKA620": Message(
        "{threads} store to this one element of `{name}`: {outcome}", "let one thread store it: {single}"
    ),
    "VKA630": Message(
        "{element} is {done} here by thread {now}{when} and {did} thread {before}, "
        "with no barrier that orders {space} memory in between: a race",
        "{advice}",
    ),
    "VKA631": Message(
        "{element} is written here by the threads {first} and {second} without synchronization: a race",
        "let each thread write a separate element, or use an atomic",
    ),
    "VKA632": Message(
        "{name} may have the memory of {other}, which threads may still use: no barrier waits for them in between",
        "wait at the end of the scope of {other}: `{barrier}`",
    ),
    "VKA640": Message(
        "this barrier has no effect: no thread accesses {memory} memory {where}",
        "remove it, or use the fence for the memory that is accessed",
    ),
    # -- 7xx: hand-edited shaders
    "VKA701": Message("glslang rejects this hand-edited shader: {said}", f"correct the line, {_DROP}", kind="edit"),
    "VKA702": Message(
        "this hand-edited shader no longer fits its kernel: {what}",
        f"restore its declarations (vkamp shaders diff {{name}} shows them), {_DROP}",
        kind="edit",
    ),
    "VKA703": Message(
        "this shader was edited for another version of its kernel: the shader that vkamp generates for "
        "`{kernel}` has changed",
        "merge the edit with the new shader: vkamp shaders merge {name}",
        kind="edit",
    ),
    "VKA704": Message(
        "this hand-edited shader contains an unresolved merge conflict",
        "resolve the conflict between <<<<<<< and >>>>>>>, and remove the markers; "
        "vkamp shaders merge --undo {name} reverts the merge",
        kind="edit",
    ),
    "VKA705": Message(
        "the generated shader that this one was edited from is missing: {base}",
        "restore it from version control; or move the edited file away, and export the shader again",
        kind="edit",
    ),
    "VKA706": Message("spirv-val rejects this hand-edited shader: {said}", f"correct the line, {_DROP}", kind="edit"),
    "VKA707": Message(
        "this hand-edited shader needs {features}, which {who}", f"remove what needs it, {_DROP}", kind="edit"
    ),
    "VKA708": Message(
        "check mode cannot check this hand-edited shader: it instruments the shader that vkamp generates for "
        "`{kernel}`, "
        "whose results may differ",
        "run without VKAMP_CHECK=1 to use the edit; VKAMP_SHADERS=0, amp.use_shaders(None) or amp.check(...) check "
        "the generated shader on purpose",
        kind="edit",
    ),
}
