"""Names, literals, declarations, parentheses, and what a shader says of itself."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers, scalars
from tests.emit.table import PROGRAMS
from vkamp import spirv
from vkamp.artifacts import ContainerAccess, PushWord, Target
from vkamp.emit.layout import struct_members
from vkamp.emit.literals import literal
from vkamp.emit.names import Namer, identifier
from vkamp.errors import UnsupportedFeatureError
from vkamp.ir.requirements import access
from vkamp.ir.types import INT32, from_dtype
from vkamp.pipeline.passes import shader_of


def glsl(function: Any, *, rank: int = 1, tile: Any = None, args: Any = None, **options: Any) -> str:
    """The body of ``main`` without the prologue's lines."""
    program = Program(function, rank, tile, args or buffers(a=(INT32, 1)), **options)
    text = shader_of(program.kernel(), program.target).glsl
    spirv.compile(text)
    return text[text.index("void main()") :]


# -- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ("total", "total"),
        ("input", "input_"),
        ("vec3", "vec3_"),
        ("atomicAdd", "atomicAdd_"),
        ("main", "main_"),
        ("gl_Position", "v_gl_Position"),
        ("GL_KHR_x", "v_GL_KHR_x"),
        ("a__b", "a_b"),
        ("été", "ue9tue9"),
        ("my field", "my_field"),
        ("2nd", "v_2nd"),
        ("", "v_"),
        ("_", "_"),
    ],
)
def test_names_that_glsl_cannot_spell(python: str, expected: str) -> None:
    assert Namer().give(python) == expected


def test_the_types_of_glsl_are_no_names() -> None:
    """glslang refuses a variable that is called like one of them."""
    numbers = ("2", "3", "4", "2x2", "2x3", "2x4", "3x2", "3x3", "3x4", "4x2", "4x3", "4x4")
    words = [f"{kind}vec{n}" for kind in ("", "i", "u", "b", "d") for n in (2, 3, 4)]
    words += [f"{kind}mat{n}" for kind in ("", "d") for n in numbers]
    shapes = ("1D", "2D", "3D", "Cube", "2DRect", "1DArray", "2DArray", "Buffer", "2DMS", "2DMSArray", "CubeArray")
    words += [f"{kind}{form}{shape}" for kind in ("", "i", "u") for form in ("sampler", "image") for shape in shapes]
    words += [f"sampler{shape}Shadow" for shape in ("1D", "2D", "Cube", "2DRect", "1DArray", "2DArray", "CubeArray")]
    names = Namer()
    given = [names.give(word) for word in words]
    assert not set(given) & set(words)
    declared = "\n".join(f"    float {name} = 0.0;" for name in given)
    spirv.compile(f"#version 450\nlayout(local_size_x = 1) in;\nvoid main() {{\n{declared}\n}}\n")


def test_a_taken_name_gets_a_number() -> None:
    outer = Namer()
    assert outer.give("x") == "x"
    inner = Namer(outer)
    assert [inner.give("x") for _ in range(3)] == ["x_1", "x_2", "x_3"]
    assert [outer.give("sample") for _ in range(2)] == ["sample_", "sample_1"]
    assert identifier("x") == "x"


# -- literals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (True, "bool", "true"),
        (5, "int32", "5"),
        (-(2**31), "int32", "(-2147483647 - 1)"),
        (2**32 - 1, "uint32", "4294967295u"),
        (1, "float32", "1.0"),
        (0.1, "float32", "0.1"),
        (-0.0, "float32", "-0.0"),
        (1e-7, "float32", "1.0e-7"),
        (3.4028234663852886e38, "float32", "3.4028235e+38"),
        (16777216.0, "float32", "16777216.0"),
        (float("inf"), "float32", "uintBitsToFloat(0x7f800000u)"),
        (1e39, "float32", "uintBitsToFloat(0x7f800000u)"),
    ],
)
def test_literals(value: Any, kind: str, expected: str) -> None:
    assert literal(value, kind) == expected


def test_float_literals_are_read_back_as_they_were() -> None:
    bits = np.random.default_rng(3).integers(0, 2**32, 3000, dtype=np.uint64).astype(np.uint32)
    for value in bits.view(np.float32):
        if np.isfinite(value):
            assert np.float32(float(literal(float(value), "float32"))) == value


# -- declarations ------------------------------------------------------------------------------------------------


def test_a_variable_is_declared_where_its_uses_need_it() -> None:
    def function(idx, a):
        for i in range(3):
            inside = a[i] + i
            if inside > 2:
                both = inside * 2
            else:
                both = 7
            a[i] = both
        late = a[0]
        if late > 1:
            late = 2
        a[1] = late

    text = glsl(function)
    assert text.count("int inside = ") == text.count("int late = ") == 1
    assert re.search(r"\n        int both;\n", text)


def test_a_loop_variable_that_outlives_its_loop() -> None:
    def function(idx, a):
        i = 5
        for i in range(4):
            a[i] = i
        a[i] = 1

    text = glsl(function)
    assert "int i = 5;" in text
    assert "for (int i_counter = 0; i_counter < 4; ++i_counter) {\n        i = i_counter;" in text


def test_two_loops_share_a_variable_and_nested_ones_do_not() -> None:
    def function(idx, a):
        for i in range(4):
            a[i] = i
        for i in range(2, 9, 3):
            a[i] += 1
        for j in range(2):
            for j in range(3):
                a[j] += j

    text = glsl(function)
    assert "for (int i = 0; i < 4; ++i)" in text
    assert "for (int i = 2; i < 9; i += 3)" in text
    assert text.count("j_counter") > 2


def test_a_bound_that_the_loop_changes_is_read_before_it() -> None:
    def function(idx, a, n):
        count = n
        for i in range(count):
            count -= 1
            a[i] = count
        for i in range(a[0]):
            a[i] = 2
        for i in range(n + 1):
            a[i] = 3

    text = glsl(function, args=buffers(a=(INT32, 1)) + scalars(n=INT32))
    assert "const int i_stop = count;" in text
    assert "const int i_stop_1 = a[0];" in text
    assert "i < n + 1;" in text


def test_range_with_step_zero_runs_never() -> None:
    def function(idx, a, *, step: amp.constant):
        for i in range(0, 5, step):
            a[i] = 1
        a[0] = 2

    # A step that is zero at compile time may be refused before it gets here.
    try:
        text = glsl(function, constants=(("step", 0),))
    except amp.CompileError:
        return
    assert "for" not in text.replace("// for", "")


# fmt: off
def test_comments_are_python_lines_and_never_swallow_code() -> None:
    def function(idx, a):
        a[0] = 1 + \
            2
        a[1] = 3; a[2] = 4  # noqa: E702
        a[3] = 5

    text = glsl(function)
    assert "// a[0] = 1 +\n    a[0] = 3;" in text
    assert text.count("// a[1] = 3; a[2] = 4") == 1
    # The same words in both languages need no comment.
    assert "// a[3]" not in text and "    a[3] = 5;" in text
# fmt: on


# -- the whole ---------------------------------------------------------------------------------------------------


def test_push_words_are_those_that_are_used() -> None:
    program = PROGRAMS["tile_average"]
    shader = shader_of(program.kernel(), program.target)
    assert shader.push == (
        PushWord("offset", "matrix", 0, "int32"),
        PushWord("stride", "matrix", 0, "int32"),
        PushWord("stride", "matrix", 1, "int32"),
        PushWord("extent", "averages", 1, "int32"),
    )
    assert shader.push_binding is None
    assert shader.local_size == (3, 2, 1)
    assert shader.shared_bytes == 24
    assert [(b.number, b.name, b.reads, b.writes) for b in shader.bindings] == [
        (0, "matrix", True, False),
        (1, "averages", False, True),
    ]


@amp.kernel
def keeps_vectors(t_idx, out):
    three = amp.tile_static((3, 7), amp.float3)
    two = amp.tile_static(5, amp.int2)
    three[t_idx.local[0], 1] = amp.float3(1.0)
    two[t_idx.local[0]] = amp.int2(2)
    t_idx.barrier.wait()
    out[t_idx] = three[0, 1].x + two[0].y


def test_three_components_take_the_place_of_four() -> None:
    out = amp.array_view(np.zeros(6, np.float32))
    shown = keeps_vectors.inspect(amp.accelerator("reference"), out.extent.tile(3), out)
    assert shown.shared_bytes == 3 * 7 * 16 + 5 * 8


def test_push_words_beyond_the_limit_lie_in_a_buffer() -> None:
    program = PROGRAMS["push_spill"]
    shader = shader_of(program.kernel(), program.target)
    assert len(shader.push) > 4 and shader.push_binding == 2
    roomy = shader_of(program.kernel(), Target(push_words=len(shader.push)))
    assert roomy.push_binding is None and "push_constant" in roomy.glsl


def test_a_container_that_is_not_accessed_needs_no_binding() -> None:
    def function(idx, a, b, c):
        c[idx] = a.extent[0] + b[idx]

    program = Program(function, 1, None, buffers(a=(INT32, 1), b=(INT32, 1), c=(INT32, 1)))
    kernel = program.kernel()
    assert access(kernel) == {
        "a": ContainerAccess(),
        "b": ContainerAccess(reads=True),
        "c": ContainerAccess(writes=True),
    }
    shader = shader_of(kernel, Target())
    assert [b.name for b in shader.bindings] == ["b", "c"]
    assert shader.push[0] == PushWord("extent", "a", 0, "int32")


def test_no_float_arithmetic_of_a_precise_kernel_can_be_contracted() -> None:
    program = PROGRAMS["exact"]
    binary = spirv.compile(shader_of(program.kernel(), program.target).glsl)
    words = struct.unpack(f"<{len(binary) // 4}I", binary)
    results, decorated = set(), set()
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if opcode in (129, 131, 133, 136):  # OpFAdd, OpFSub, OpFMul, OpFDiv
            results.add(words[at + 2])
        if opcode == 71 and words[at + 2] == 42:  # OpDecorate NoContraction
            decorated.add(words[at + 1])
        at += length
    assert len(results) > 10
    assert results <= decorated


@pytest.mark.parametrize(
    "layout",
    [
        {"names": ["a", "b"], "formats": ["<f4", "<i4"], "offsets": [0, 2], "itemsize": 8},
        {"names": ["a", "b"], "formats": ["<f4", "<i4"], "offsets": [0, 5], "itemsize": 12},
        {"names": ["a"], "formats": ["<f4"], "offsets": [0], "itemsize": 6},
    ],
)
def test_structs_that_glsl_cannot_lay_out(layout: Any) -> None:
    kind = from_dtype(np.dtype(layout), "Odd")
    with pytest.raises(UnsupportedFeatureError, match="Odd overlap or are not aligned"):
        struct_members(kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tile_average", "atomics", "fences", "functions", "names"])
def test_memory_qualifiers(name: str) -> None:
    program = PROGRAMS[name]
    text = shader_of(program.kernel(), program.target).glsl
    found = re.findall(r"binding = \d+\) (.*)buffer (\w+) {", text)
    assert {b: q.strip() for q, b in found} == {
        "tile_average": {"matrix_buffer": "restrict readonly", "averages_buffer": "restrict writeonly"},
        "atomics": {
            "values_buffer": "restrict readonly",
            "bins_buffer": "restrict",
            "extremes_buffer": "restrict",
        },
        "fences": {"a_buffer": "coherent restrict"},
        "functions": {"a_buffer": "coherent restrict"},
        "names": {
            "input_buffer": "restrict readonly",
            "sample_buffer": "restrict readonly",
            "output_buffer": "restrict",
        },
    }[name]


def test_equal_kernels_of_two_structs_of_one_name() -> None:
    first = from_dtype(np.dtype([("x", "f4")]), "Pair")
    second = from_dtype(np.dtype([("x", "f4"), ("y", "i4")]), "Pair")

    def function(idx, a, b):
        a[idx].x = b[idx].x
        b[idx].y = 1

    text = glsl(function, args=buffers(a=(first, 1), b=(second, 1)))
    assert "a[idx_0].x = b[idx_0].x;" in text


@amp.func
def first_of(values):
    return values[0]


@amp.func
def ends_of(values):
    return first_of(values) + values[3]


@amp.func
def clear(values):
    values[0] = 0


@amp.func
def clear_and_add(values):
    clear(values)
    return values[1]


def test_arrays_are_passed_for_writing_only_where_they_are_written() -> None:
    def function(idx, a):
        mine = amp.private(4, amp.int32)
        for k in range(4):
            mine[k] = a[idx] + k
        a[idx] = ends_of(mine) + clear_and_add(mine) + mine[0]

    program = Program(function, 1, None, buffers(a=(INT32, 1)))
    text = shader_of(program.kernel(), program.target).glsl
    spirv.compile(text)
    assert re.findall(r"^\w+ (\w+)\((.*)\) {", text, re.MULTILINE) == [
        ("first_of", "int values[4]"),
        ("ends_of", "int values[4]"),
        ("clear", "inout int values[4]"),
        ("clear_and_add", "inout int values[4]"),
        ("main", ""),
    ]


@amp.kernel
def masked(i, a, n):
    k = i[0] - 5
    a[i] = (k & 7) // 3 + (7 & k) % 5
    a[i] += (k & n) // 3


def test_a_mask_makes_numbers_positive():
    """On either side; the result for two numbers of any sign is unknown."""
    a = amp.array_view(np.zeros(8, np.int32))
    shader = masked.inspect(amp.accelerator("reference").default_view, a.extent, a, 3).glsl
    assert "(k & 7) / 3 + (7 & k) % 5;" in shader
    assert "floor_div(k & n, 3)" in shader


@amp.func
def bumped(cells):
    cells[0] += 1
    return cells[0]


@amp.kernel
def keeps_an_operand(idx, a, out):
    word = a[idx] * 3
    cells = amp.private(2, amp.int32)
    cells[0] = word
    word = word + bumped(cells)
    out[idx] = word


def test_a_kept_operand_has_the_comment_of_its_use():
    a, out = (amp.array_view(np.zeros(4, np.int32)) for _ in range(2))
    text = keeps_an_operand.inspect(out.extent, a, out).glsl
    assert text.count("// word = a[idx] * 3") == 1
    assert "    // word = word + bumped(cells)\n    int value = word;\n" in text
