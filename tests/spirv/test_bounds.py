"""Subscripts that are limited in the SPIR-V: which ones, and that the module stays valid."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from tests.emit.validation import validate
from vkamp import spirv
from vkamp.errors import AmpError
from vkamp.spirv.blocks import Op, parse
from vkamp.spirv.bounds import limit_subscripts

SOURCE = """#version 450
layout(local_size_x = 1) in;
struct Pair { int first; float second[3]; };
layout(std430, binding = 0) buffer A { uint count; Pair pairs[]; };
layout(std430, binding = 1) buffer B { int numbers[]; };
layout(push_constant) uniform Launch { int n; uint m; };
shared int tile[8];
float of(int at) { return pairs[at].second[n]; }
void main() {
    tile[n] = numbers[3];
    numbers[n] = tile[m];
    numbers[1024] = numbers[1023] + numbers[5000];
    pairs[m].first = int(of(n) + of(n + 1));
    atomicAdd(numbers[m], 1);
    atomicAdd(pairs[n].first, 1);
    atomicAdd(count, 1u);
}
"""


def found(data: bytes) -> dict[str, Any]:
    """The number of limits in a module, the number of lengths that it queries, and the constants added to them."""
    module = parse(data)
    body = [each for function in module.functions for block in function.blocks for each in block.body]
    values = {e.operands[1]: e.operands[2] for e in module.declarations if e.op == Op.CONSTANT}
    lengths = {each.operands[1] for each in body if each.op == Op.ARRAY_LENGTH}
    return {
        "limits": sum(each.op == Op.EXT_INST and each.operands[3] == 38 for each in body),
        "lengths": len(lengths),
        "added": sorted({values[e.operands[3]] for e in body if e.op == Op.ADD and e.operands[2] in lengths}),
    }


def test_all_accesses_but_those_of_small_constants_are_limited(tmp_path):
    plain = spirv.compile(SOURCE)
    data = limit_subscripts(plain)
    validate(data, tmp_path)
    # numbers[n], [1024], [5000] and [m]; pairs[m], pairs[n], and pairs[at] in the function. A length for each array.
    # numbers[1023] is in the bytes behind even an empty buffer.
    assert found(plain) == {"limits": 0, "lengths": 0, "added": []}
    assert found(data) == {"limits": 7, "lengths": 2, "added": [2**32 - 1]}
    assert spirv.compile(SOURCE, limited=True) == data


def test_functions_read_the_lengths_that_main_computes(tmp_path):
    module = parse(limit_subscripts(spirv.compile(SOURCE)))
    main = next(e.operands[1] for e in module.declarations if e.op == Op.ENTRY_POINT)
    bodies = {f.id == main: [each for block in f.blocks for each in block.body] for f in module.functions}
    private = {e.operands[1] for e in module.declarations if e.op == Op.VARIABLE and e.operands[2] == 6}
    assert len(private) == 1
    assert not any(each.op == Op.ARRAY_LENGTH for each in bodies[False])
    assert sum(each.op == Op.LOAD and each.operands[2] in private for each in bodies[False]) == 1
    assert sum(each.op == Op.STORE and each.operands[0] in private for each in bodies[True]) == 1


@pytest.mark.parametrize("data", [b"", b"1234" * 8, struct.pack("<6I", 0x07230203, 0, 0, 9, 0, 0)])
def test_what_is_no_module_is_refused(data):
    with pytest.raises(AmpError, match="SPIR-V module"):
        limit_subscripts(data)
