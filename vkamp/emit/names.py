"""Names in the generated GLSL: the Python name, changed only where GLSL would not take it.

A name gets a suffix when it is GLSL's own (``input`` -> ``input_``) or already taken (``f`` -> ``f_1``); never a
running number otherwise, so that a small change of a kernel stays a small change of its shader.
"""

from __future__ import annotations

import re
from itertools import count

_KEYWORDS = """
const uniform buffer shared attribute varying coherent volatile restrict readonly writeonly atomic_uint layout
centroid flat smooth noperspective patch sample invariant precise break continue do for while switch case default if
else subroutine in out inout int void bool true false float double discard return struct lowp mediump highp precision
common partition active asm class union enum typedef template this resource goto inline noinline public static extern
external interface long short half fixed unsigned superp input output filter sizeof cast namespace using
uint sampler samplerShadow subpassInput isubpassInput usubpassInput subpassInputMS isubpassInputMS usubpassInputMS
hvec2 hvec3 hvec4 fvec2 fvec3 fvec4 sampler3DRect demote terminateInvocation nonuniformEXT rayQueryEXT
accelerationStructureEXT hitObjectNV coopmat fcoopmatNV icoopmatNV taskPayloadSharedEXT perprimitiveEXT
devicecoherent queuefamilycoherent workgroupcoherent subgroupcoherent nonprivate shadercallcoherent
spirv_instruction spirv_execution_mode spirv_type spirv_literal spirv_decorate
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t float16_t float32_t float64_t
main VULKAN defined
"""

_FUNCTIONS = """
radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow exp log exp2 log2 sqrt inversesqrt
abs sign floor trunc round roundEven ceil fract mod modf min max clamp mix step smoothstep isnan isinf
floatBitsToInt floatBitsToUint intBitsToFloat uintBitsToFloat fma frexp ldexp packUnorm2x16 packSnorm2x16
packUnorm4x8 packSnorm4x8 unpackUnorm2x16 unpackSnorm2x16 unpackUnorm4x8 unpackSnorm4x8 packHalf2x16 unpackHalf2x16
packDouble2x32 unpackDouble2x32 length distance dot cross normalize faceforward reflect refract matrixCompMult
outerProduct transpose determinant inverse lessThan lessThanEqual greaterThan greaterThanEqual equal notEqual any all
not uaddCarry usubBorrow umulExtended imulExtended bitfieldExtract bitfieldInsert bitfieldReverse bitCount findLSB
findMSB atomicAdd atomicMin atomicMax atomicAnd atomicOr atomicXor atomicExchange atomicCompSwap barrier
memoryBarrier memoryBarrierAtomicCounter memoryBarrierBuffer memoryBarrierShared memoryBarrierImage
groupMemoryBarrier imageSize imageLoad imageStore texture textureSize textureLod texelFetch dFdx dFdy fwidth
subpassLoad ftransform noise1 noise2 noise3 noise4
subgroupBarrier subgroupMemoryBarrier subgroupMemoryBarrierBuffer subgroupMemoryBarrierShared subgroupElect subgroupAll
subgroupAny subgroupAllEqual subgroupBroadcast subgroupBroadcastFirst subgroupBallot subgroupInverseBallot
subgroupBallotBitExtract subgroupBallotBitCount subgroupBallotInclusiveBitCount subgroupBallotExclusiveBitCount
subgroupBallotFindLSB subgroupBallotFindMSB subgroupShuffle subgroupShuffleXor subgroupShuffleUp subgroupShuffleDown
subgroupAdd subgroupMul subgroupMin subgroupMax subgroupAnd subgroupOr subgroupXor subgroupInclusiveAdd
subgroupInclusiveMul subgroupInclusiveMin subgroupInclusiveMax subgroupInclusiveAnd subgroupInclusiveOr
subgroupInclusiveXor subgroupExclusiveAdd subgroupExclusiveMul subgroupExclusiveMin subgroupExclusiveMax
subgroupExclusiveAnd subgroupExclusiveOr subgroupExclusiveXor
"""


def _types() -> set[str]:
    """The vector, matrix, sampler and image types."""
    names = {f"{p}vec{n}" for p in ("", "i", "u", "b", "d") for n in (2, 3, 4)}
    names |= {f"{p}mat{n}" for p in ("", "d") for n in (2, 3, 4)}
    names |= {f"{p}mat{n}x{m}" for p in ("", "d") for n in (2, 3, 4) for m in (2, 3, 4)}
    shapes: tuple[str, ...] = ("1D", "2D", "3D", "Cube", "2DRect", "1DArray", "2DArray", "Buffer", "2DMS")
    shapes = (*shapes, "2DMSArray", "CubeArray")
    for kind in ("sampler", "texture", "image"):
        names |= {f"{p}{kind}{s}" for p in ("", "i", "u", "i64", "u64") for s in shapes}
    return names | {f"sampler{s}Shadow" for s in shapes}


_RESERVED = frozenset(_KEYWORDS.split()) | frozenset(_FUNCTIONS.split()) | _types()


def identifier(name: str) -> str:
    """``name`` as GLSL can spell it: ASCII letters, digits and single underscores, no reserved prefix."""
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else _spelled(c) for c in name)
    text = re.sub(r"__+", "_", text)
    if not text or text[0].isdigit() or text[:3].lower() == "gl_":
        text = f"v_{text}"
    return text


def _spelled(character: str) -> str:
    if character == "]":
        # An item of a parameter, as `inputs[0]`.
        return ""
    return f"u{ord(character):x}" if character.isalnum() else "_"


class Namer:
    """The names taken in a scope; a function's scope also avoids everything global."""

    def __init__(self, outer: Namer | None = None) -> None:
        self._outer = outer
        self._taken: set[str] = set()

    def taken(self, name: str) -> bool:
        """Whether ``name`` is in use here or outside, or GLSL's own."""
        if name in self._taken or name in _RESERVED:
            return True
        return self._outer is not None and self._outer.taken(name)

    def reserve(self, name: str) -> None:
        """Reserves ``name`` for text that is printed unchanged."""
        self._taken.add(name)

    def give(self, wanted: str) -> str:
        """An unused name: ``wanted``, or a similar one."""
        name = identifier(wanted)
        if name in _RESERVED:
            name += "_"
        free = name
        for number in count(1):
            if not self.taken(free):
                break
            free = f"{name.rstrip('_')}_{number}"
        self._taken.add(free)
        return free
