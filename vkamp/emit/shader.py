"""Prints a kernel as a complete compute shader: its functions, preceded by the declarations that they use."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass

from vkamp.artifacts import Binding, ContainerAccess, Pieces, PushWord, Shader, Target
from vkamp.emit.exchanges import by_shuffles, quad_swap
from vkamp.emit.globals import Globals, word_type
from vkamp.emit.helpers import GLSL_TYPES, HELPER_NAMES
from vkamp.emit.layout import StorageBlock, piece_views, storage_blocks, struct_members, structs_of
from vkamp.emit.names import Namer
from vkamp.emit.statements import Line, fence_glsl, function_lines, holds_float, type_text
from vkamp.emit.text import Text, operation
from vkamp.emit.threads import LAUNCH_NAMES, grid_word
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import changed_parameters
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.packed import DOT_PRODUCTS
from vkamp.ir.requirements import (
    access,
    has_matrices,
    has_packed_products,
    memory_unit,
    subgroup_form,
    subgroup_uses,
    typed_access,
    types_in_use,
    wide_operations,
)
from vkamp.ir.subgroups import OPERATIONS, Operation
from vkamp.ir.types import FLOAT32, FLOAT64, INT64, UINT32, UINT64, Scalar, Struct, Type, Vector, scalars_in

#: Characters of a constant that the first comment shows.
_MAX_CONSTANT_TEXT = 100


def emit(kernel: ir.Kernel, target: Target, pieces: Pieces | None = None) -> Shader:
    """The GLSL compute shader of a legalized kernel, whose threads may have ``pieces`` of several elements."""
    return _Shader(kernel, target, pieces).shader()


@dataclass(frozen=True)
class _Words:
    """The launch words in their order, and where they are."""

    words: tuple[PushWord, ...]
    binding: int | None


class _Shader:
    def __init__(self, kernel: ir.Kernel, target: Target, pieces: Pieces | None) -> None:
        self.kernel = kernel
        self.pieces = pieces
        self.target = target
        self.types = DeviceTypes(target.types)
        self.blocks = storage_blocks(kernel)
        self.views = piece_views(kernel, self.blocks)
        self.names = Namer()
        for name in (*sorted(HELPER_NAMES), *LAUNCH_NAMES):
            self.names.reserve(name)
        self.candidates = _candidate_words(kernel)
        self.globals = self._globals()
        width = self._local_size()[0]
        if "absent_lanes" in target.quirks and width % target.vector:
            axis, size = Text("gl_LocalInvocationID.x"), Text(f"{width}u")
            self.globals.has_thread = operation("lt", axis, size)
        views = [view for _, view in self.views]
        self.block_names = {b: self.names.give(f"{self._block_name(b)}_buffer") for b in (*self.blocks, *views)}
        self.launch_name = self.names.give("Launch")

    # -- names -------------------------------------------------------------------------------------------------

    def _globals(self) -> Globals:
        """Names for everything global: the containers first, for their names matter most."""
        give = self.names.give
        buffer_names: dict[tuple[str, Type], str] = {}
        for block in (*self.blocks, *(view for _, view in self.views)):
            first, kind = block.params[0], block.element
            if kind == first.element:
                name = give(first.name)
            elif self.types.packs(first.element) and kind == UINT32:
                name = give(f"{first.name}_words")
            else:
                name = give(f"{first.name}_as_{_type_name(kind)}")
            buffer_names.update({(p.name, kind): name for p in block.params})
        variables = {v.name: give(v.name) for v in (*self.kernel.tile_statics, *self.kernel.thread_variables)}
        words = {word: give(_word_name(word)) for word in self.candidates}
        functions = {f.name: give(f.python_name) for f in self.kernel.functions}
        structs = structs_of(self.kernel)
        struct_names = {s: give(s.name) for s in structs}
        fields = {s: _field_names(s) for s in structs}
        return Globals(
            self.kernel,
            buffer_names,
            variables,
            functions,
            struct_names,
            fields,
            words,
            self.target.types,
            self.pieces is not None,
            memory_unit(self.kernel),
            quirks=self.target.quirks,
        )

    def _block_name(self, block: StorageBlock) -> str:
        return self._name(block).rstrip("_")

    def _name(self, block: StorageBlock) -> str:
        return self.globals.buffer_names[block.params[0].name, block.element]

    # -- the parts ---------------------------------------------------------------------------------------------

    def shader(self) -> Shader:
        """Prints everything."""
        functions = self._functions()
        words = self._words()
        head = self._head(words)
        helpers = [line for text in self.globals.helpers.texts() for line in ("", *text.splitlines())]
        lines = [Line(text) for text in (*head, *helpers)] + functions
        return Shader(
            glsl="".join(f"{line.text}\n" for line in lines),
            name=self.kernel.name,
            bindings=tuple(self._binding(n, b) for n, b in enumerate(self.blocks)),
            push=words.words,
            push_binding=words.binding,
            local_size=self._local_size(),
            folded=self.target.folded,
            shared_bytes=sum(self.types.size(v.type) for v in self.kernel.tile_statics),
            lines=tuple(line.span for line in lines),
            pieces=self.pieces,
            subgroup_size=self.kernel.subgroup_size if self.kernel.full_subgroups else None,
        )

    def _functions(self) -> list[Line]:
        written = changed_parameters(self.kernel)
        lines = []
        for function in (*self.kernel.functions, self.kernel.body):
            arrays = written.get(function.name, frozenset())
            lines.append(Line(""))
            lines += function_lines(function, self.globals, self.names, self.target, arrays)
        return lines

    def _words(self) -> _Words:
        # Those of 64 bits first, where they are aligned.
        used = tuple(sorted((w for w in self.candidates if w in self.globals.words), key=lambda word: -word.size))
        return _Words(used, len(self.blocks) if sum(w.size for w in used) > 4 * self.target.push_words else None)

    def _binding(self, number: int, block: StorageBlock) -> Binding:
        return Binding(
            number=number,
            name=self._name(block),
            params=tuple(p.name for p in block.params),
            element=str(block.element),
            reads=block.access.reads or block.access.atomics,
            writes=block.access.changes,
        )

    def _local_size(self) -> tuple[int, int, int]:
        if self.kernel.tile is None:
            # One row of threads where the domain is one.
            group = self.target.group
            return (math.prod(group), 1, 1) if self.kernel.rank == 1 else group
        if self.kernel.lanes is not None:
            return math.prod(self.kernel.lanes), 1, 1
        if self.globals.in_a_row:
            return math.prod(self.kernel.tile), 1, 1
        x, y, z = (*self.kernel.tile[::-1], 1, 1)[:3]
        return x, y, z

    def _head(self, words: _Words) -> list[str]:
        lines = ["#version 450", *_extensions(self.kernel, self.target), ""]
        lines += [*_description(self.kernel), "", self._layout_line()]
        for struct in self.globals.struct_names:
            lines += ["", *self._struct(struct)]
        if words.words:
            lines += ["", *self._launch(words)]
        for number, block in (*enumerate(self.blocks), *self.views):
            lines += ["", *self._buffer(number, block)]
        if self.kernel.tile_statics:
            lines += ["", *self._tile_statics()]
        if self.kernel.thread_variables:
            lines += ["", *self._thread_variables()]
        return lines

    def _layout_line(self) -> str:
        sizes = zip("xyz", self._local_size(), strict=True)
        rank = len(self.kernel.tile) if self.kernel.tile is not None else 3
        shown = [f"local_size_{a} = {n}" for i, (a, n) in enumerate(sizes) if i < rank and (n > 1 or i == 0)]
        return f"layout({', '.join(shown)}) in;"

    def _struct(self, struct: Struct) -> list[str]:
        names = self.globals.field_names[struct]
        pads = Namer()
        for name in names.values():
            pads.reserve(name)
        lines = [f"struct {self.globals.struct_names[struct]} {{"]
        for member in struct_members(struct):
            if member.field is None:
                lines.append(f"    {self._padding(struct, member.bytes, pads)};")
            else:
                base, suffix = type_text(member.field.type, self.globals)
                lines.append(f"    {base} {names[member.field.name]}{suffix};")
        return [*lines, "};"]

    def _padding(self, struct: Struct, nbytes: int, names: Namer) -> str:
        """Pads with words, or with smaller members if there are any: a gap may be smaller than a word."""
        smallest = min(scalars_in(struct), key=lambda kind: (kind.size, kind.name))
        size = min(smallest.size, 4)
        array = f"[{nbytes // size}]" if nbytes > size else ""
        return f"{GLSL_TYPES[smallest.name] if size < 4 else 'uint'} {names.give('padding')}{array}"

    def _launch(self, words: _Words) -> list[str]:
        """The launch words: push constants, or a buffer where the device has too few of them."""
        head = "layout(push_constant) uniform"
        if words.binding is not None:
            head = f"layout(std430, set = 0, binding = {words.binding}) restrict readonly buffer"
        members = [f"    {GLSL_TYPES[w.type]} {self.globals.word_names[w]};" for w in words.words]
        return [f"{head} {self.launch_name} {{", *members, "};"]

    def _buffer(self, number: int, block: StorageBlock) -> list[str]:
        qualifiers = "".join(f"{q} " for q in block.qualifiers)
        base, suffix = type_text(block.element, self.globals)
        is_precise = self.kernel.precise and block.access.writes and holds_float(block.element)
        member = f"{'precise ' if is_precise else ''}{base} {self._name(block)}"
        lines = []
        names = list(dict.fromkeys(p.name for p in block.params))
        if block.element != block.params[0].element:
            in_parts = self.types.packs(block.params[0].element) and block.element == UINT32
            text = "in words of 32 bits" if in_parts else f"as {_type_name(block.element)}s"
            lines.append(f"// The memory of {_listed(names)} {text}.")
        elif len(names) > 1:
            lines.append(f"// The memory of {_listed(names)}.")
        return [
            *lines,
            f"layout(std430, set = 0, binding = {number}) {qualifiers}buffer {self.block_names[block]} {{",
            f"    {member}[]{suffix};",
            "};",
        ]

    def _thread_variables(self) -> list[str]:
        names = self.globals.variable_names
        return [f"{type_text(v.type, self.globals)[0]} {names[v.name]};" for v in self.kernel.thread_variables]

    def _tile_statics(self) -> list[str]:
        lines = []
        for variable in self.kernel.tile_statics:
            base, suffix = type_text(variable.type, self.globals)
            qualifier = "precise " if self.kernel.precise and holds_float(variable.type) else ""
            name = self.globals.variable_names[variable.name]
            lines.append(f"shared {qualifier}{base} {name}{suffix};")
        return lines


def _type_name(kind: Type) -> str:
    """A type in the name of a container's memory: ``uint``, or a struct's name."""
    is_narrow = isinstance(kind, Scalar) and kind.is_narrow
    return GLSL_TYPES[kind.name] if isinstance(kind, (Scalar, Vector)) and not is_narrow else str(kind)


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def _word_name(word: PushWord) -> str:
    """``matrix_extent_0``, ``matrix_offset``, ``domain_1``; a scalar has its Python name."""
    if word.kind == "scalar":
        return word.name
    prefix = f"{word.name}_" if word.name else ""
    return f"{prefix}{word.kind}" if word.kind == "offset" else f"{prefix}{word.kind}_{word.dim}"


def _candidate_words(kernel: ir.Kernel) -> list[PushWord]:
    """Every word that a shader of the kernel could use, in the order of the launch words."""
    words: list[PushWord] = []
    for buffer in kernel.buffers:
        dims = range(buffer.rank)
        words += [PushWord("extent", buffer.name, d, "int32") for d in dims]
        if not buffer.dense:
            words.append(PushWord("offset", buffer.name, 0, "int32"))
            words += [PushWord("stride", buffer.name, d, "int32") for d in dims]
    for scalar in kernel.scalars:
        words.append(PushWord("scalar", scalar.name, 0, word_type(scalar.type)))  # type: ignore[arg-type]
    words += [grid_word("domain", d) for d in range(kernel.rank if kernel.tile is None else 0)]
    words += [grid_word("tiles", d) for d in range(kernel.rank)]
    return words


def _field_names(struct: Struct) -> dict[str, str]:
    names = Namer()
    return {f.name: names.give(f.name) for f in struct.fields}


def _description(kernel: ir.Kernel) -> list[str]:
    """The header comment: the kernel, the tile, and the arguments."""
    table = access(kernel)
    tile = "untiled" if kernel.tile is None else f"tiles of {_sizes(kernel.tile)} threads"
    if kernel.lanes is not None:
        count = math.prod(kernel.lanes)
        tile += f" as loops of {count} lanes" if count > 1 else " as loops"
    full = f", full subgroups of {kernel.subgroup_size}" if kernel.full_subgroups else ""
    lines = [f"// {kernel.name}: {tile}{', precise' if kernel.precise else ''}{full}"]
    rows = [(b.name, f"{b.element}, {_kind(b)}{_use(table[b.name])}") for b in kernel.buffers]
    names = {s.name for s in kernel.scalars}
    for scalar in kernel.scalars:
        double = f"{scalar.name} {FLOAT64}"
        shown = scalar.name.replace(":", ".")
        if double in names:
            rows.append((shown, f"{scalar.type}, and as {FLOAT64}"))
        elif scalar.name.partition(" ")[2] != FLOAT64.name:
            rows.append((shown, str(scalar.type)))
    rows += [(name, f"constant {_shortened(value)}") for name, value in kernel.constants]
    width = max((len(name) for name, _ in rows), default=0)
    lines += [f"//   {name:<{width}}  {text}" for name, text in rows]
    rows_of_four = _rows_of_four(kernel)
    if rows_of_four:
        lines.append(f"// This version requires that the last extents of {_listed(rows_of_four)} are multiples of 4.")
    return [*lines, f"// Generated by vkamp from {_file_name(kernel.span)}; edit freely."]


def _kind(buffer: ir.BufferParam) -> str:
    if buffer.table is not None:
        return f"a table of {_sizes(buffer.table.shape)} constants"
    return "by value" if buffer.by_value else f"rank {buffer.rank}"


def _shortened(text: str) -> str:
    if len(text) <= _MAX_CONSTANT_TEXT:
        return text
    return f"{text[:_MAX_CONSTANT_TEXT].rpartition(' ')[0]} ..."


def _rows_of_four(kernel: ir.Kernel) -> list[str]:
    """The containers whose rows the lowering reads or writes by vectors, so that the shader is not for all of them."""
    if kernel.lanes is None:
        return []
    wide = {name for name, kind in typed_access(kernel) if isinstance(kind, Vector) and kind.count == 4}
    return [b.name for b in kernel.buffers if b.name in wide and b.rank > 1 and isinstance(b.element, Scalar)]


#: By the feature that a function of 64-bit integers needs.
_WIDE_EXTENSIONS: dict[str, str] = {
    "int64_atomics": "GL_EXT_shader_atomic_int64",
    "shared_int64_atomics": "GL_EXT_shader_atomic_int64",
    "subgroup_extended_types": "GL_EXT_shader_subgroup_extended_types_int64",
}


def _extensions(kernel: ir.Kernel, target: Target) -> list[str]:
    """What is beyond GLSL 4.50: hints for loops, subgroups and barriers of theirs, types of other sizes."""
    statements = [s for function in (*kernel.functions, kernel.body) for s in ir.walk_statements(function.body)]
    texts = [text for s in statements if isinstance(s, ir.Barrier) for text in fence_glsl(s.fence, target)]
    hints = any(isinstance(s, ir.For) and s.unroll for s in statements)
    swaps = False
    used: set[Operation] = {"basic"} if any(text.startswith("subgroup") for text in texts) else set()
    for node in subgroup_uses(kernel):
        own = by_shuffles(node, target.quirks)
        used |= set(subgroup_form(node)[1] if own is None else own.needs)
        swaps = swaps or quad_swap(node, target.quirks) is not None
    names = ["GL_EXT_control_flow_attributes"] if hints else []
    names += [f"GL_KHR_shader_subgroup_{name}" for name in OPERATIONS if name in used]
    names += ["GL_KHR_shader_subgroup_quad"] if swaps else []
    names += _type_extensions(types_in_use(kernel), DeviceTypes(target.types))
    if any(isinstance(s, ir.Atomic) and s.place.type == FLOAT32 for s in statements):
        names.append("GL_EXT_shader_atomic_float")
    names += ["GL_KHR_cooperative_matrix"] if has_matrices(kernel) else []
    if has_matrices(kernel) or any(isinstance(s, ir.Atomic) and s.is_access for s in statements):
        names.append("GL_KHR_memory_scope_semantics")
    if DOT_PRODUCTS in target.types and has_packed_products(kernel):
        names.append("GL_EXT_spirv_intrinsics")
    wide = {_WIDE_EXTENSIONS[sort] for sort in wide_operations(kernel)}
    names += sorted(wide)
    return [f"#extension {name} : require" for name in names]


def _type_extensions(kinds: Iterable[Scalar], types: DeviceTypes) -> list[str]:
    """For integers of 64 bits, and for small types where the device has them."""
    names = set()
    for kind in kinds:
        if kind in (INT64, UINT64):
            names.add("explicit_arithmetic_types_int64")
        elif kind.is_narrow:
            if not types.packs(kind):
                names.add(f"{kind.bits}bit_storage")
            if types.computes(kind):
                names.add(f"explicit_arithmetic_types_{types.feature(kind)}")
    return [f"GL_EXT_shader_{name}" for name in sorted(names)]


def _sizes(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def _use(kind: ContainerAccess) -> str:
    if kind.atomics:
        return ", updated atomically"
    if kind.reads and kind.writes:
        return ", read and written"
    return ", read" if kind.reads else ", written" if kind.writes else ""


def _file_name(span: Span) -> str:
    name = os.path.basename(span.file.replace("\\", "/"))
    return "".join(c if c.isprintable() else "?" for c in name) or "Python"
