"""Small GLSL functions that a shader gets when it uses them: Python's ``//`` and ``%``, and rows of the table."""

from __future__ import annotations

import re
from collections.abc import Collection

from vkamp.artifacts import Quirk
from vkamp.emit.conversions import CONVERSION_TEXTS, conversion
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.glsl_library import function_names, functions, needed_by
from vkamp.ir.narrow_floats import CALLED, NARROW_ROWS
from vkamp.ir.rows import BuiltinRow
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.ir.types import VECTORS, Complex, PackedVector, Scalar, Vector

_VECTOR_PREFIX = {"int32": "i", "uint32": "u", "float32": "", "float64": "d", "float16": "f16"}

#: By the name of a scalar or vector type.
GLSL_TYPES = {
    "bool": "bool", "int32": "int", "uint32": "uint", "float32": "float", "float16": "float16_t",
    "int64": "int64_t", "uint64": "uint64_t", "float64": "double", "bfloat16": "uint16_t",
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    **{name: f"{_VECTOR_PREFIX[v.element.name]}vec{v.count}" for name, v in VECTORS.items()},
}  # fmt: skip

# -2^31 / -1 is undefined in SPIR-V, and not the same on all devices: a divisor of -1 becomes 1, and the dividend its
# opposite, which wraps.  None of these branches: `? :` of names and numbers is a choice, and compilers of CPU devices
# take long for branches.
_INT_FLOOR_DIV = """\
// Python's //: rounds towards minus infinity. -2^31 // -1 wraps.
int floor_div(int a, int b) {
    int sign = b == -1 ? -1 : 1;
    int dividend = a * sign;
    int divisor = b * sign;
    int quotient = dividend / divisor;
    int rest = dividend - quotient * divisor;
    return quotient - (int(rest != 0) & int((rest ^ divisor) < 0));
}
"""
_INT_FLOOR_MOD = """\
// Python's %: the sign is the divisor's. GLSL's % is undefined for negative operands.
int floor_mod(int a, int b) {
    int divisor = b == -1 ? 1 : b;
    int rest = a - (a / divisor) * divisor;
    int other = rest + divisor;
    bool differ = (rest ^ divisor) < 0;
    int mended = differ ? other : rest;
    return rest == 0 ? rest : mended;
}
"""
_INT_TRUNC_MOD = """\
// C's %: the sign is the dividend's. GLSL's % is undefined for negative operands.
int trunc_mod(int a, int b) {
    int divisor = b == -1 ? 1 : b;
    return a - (a / divisor) * divisor;
}
"""
_MAGNITUDE = """\
// abs(x): this driver replaces abs(abs(x) >> n) by abs(x) >> n, which is negative for the lowest int.
int magnitude(int x) {
    return x < 0 ? -x : x;
}
"""
_INT_TRUNC_DIV = """\
// C's /: rounds towards zero. -2^31 / -1 wraps.
int trunc_div(int a, int b) {
    int sign = b == -1 ? -1 : 1;
    return a * sign / (b * sign);
}
"""
_FLOAT_FLOOR_MOD = """\
// Python's %: the sign is the divisor's.
float floor_mod(float x, float y) {
    precise float rest = fmod_c(x, y);
    if (rest == 0.0) {
        return (floatBitsToUint(y) & 0x80000000u) != 0u ? -0.0 : 0.0;
    }
    return (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}
"""
_FLOAT_FLOOR_DIV = """\
// Python's //: the quotient that matches the remainder of %.
float floor_div(float x, float y) {
    uint sign = (floatBitsToUint(x) ^ floatBitsToUint(y)) & 0x80000000u;
    if (y == 0.0) {
        // x / 0: infinity or NaN. Some drivers replace a constant zero over y by 0.0.
        return uintBitsToFloat(x < 0.0 || x > 0.0 ? sign | 0x7f800000u : 0x7fc00000u);
    }
    precise float rest = fmod_c(x, y);
    precise float quotient = (x - rest) / y;
    if (abs(quotient) < 16777216.0) {
        // An integer, but GPUs divide with small errors.
        quotient = round(quotient);
        precise float missing = x - rest - quotient * y;
        if (abs(missing) > 0.0) {
            quotient += round(missing / y);
        }
    }
    if (rest != 0.0 && (rest < 0.0) != (y < 0.0)) {
        quotient -= 1.0;
    }
    precise float whole = floor(quotient);
    if (quotient - whole > 0.5) {
        return whole + 1.0;
    }
    // A zero gets the quotient's sign, which the difference may have lost, and which some drivers drop.
    return whole == 0.0 ? uintBitsToFloat(sign) : whole;
}
"""
_DOUBLE_FLOOR_MOD = """\
// Python's %: the sign is the divisor's.
double floor_mod(double x, double y) {
    precise double rest = precise_fmod(x, y);
    if (rest == 0.0lf) {
        return (unpackDouble2x32(y).y & 0x80000000u) != 0u ? -0.0lf : 0.0lf;
    }
    return (rest < 0.0lf) != (y < 0.0lf) ? rest + y : rest;
}
"""
_DOUBLE_FLOOR_DIV = """\
// Python's //: the quotient that matches the remainder of %.
double floor_div(double x, double y) {
    if (y == 0.0lf) {
        return x / y;
    }
    precise double rest = precise_fmod(x, y);
    precise double quotient = (x - rest) / y;
    if (rest != 0.0lf && (rest < 0.0lf) != (y < 0.0lf)) {
        quotient -= 1.0lf;
    }
    precise double whole = floor(quotient);
    if (quotient - whole > 0.5lf) {
        return whole + 1.0lf;
    }
    // Some drivers lose the sign of a zero: it is set from the operands.
    uint sign = (unpackDouble2x32(x).y ^ unpackDouble2x32(y).y) & 0x80000000u;
    return whole == 0.0lf ? packDouble2x32(uvec2(0u, sign)) : whole;
}
"""
_INT_RANGE_NEXT = """\
// The next value of a range, or its end where the sum would pass the end and could wrap.
int range_next(int i, int stop, int step) {
    int sign = step > 0 ? 1 : -1;
    uint left = (uint(stop) - uint(i)) * uint(sign);
    uint size = uint(step) * uint(sign);
    int next = i + step;
    return left > size ? next : stop;
}
"""
_UINT_RANGE_NEXT = """\
// The next value of a range, or its end where the sum would pass the end and could wrap.
uint range_next(uint i, uint stop, uint step) {
    uint next = i + step;
    return stop - i > step ? next : stop;
}
"""
_EXACT = """\
// "precise" keeps the compiler from contracting the product with the next operation.
{kind} exact_{name}({kind} x, {kind} y) {{
    precise {kind} result = x {operator} y;
    return result;
}}
"""

_ZERO = """\
// A zero hidden from this driver's compiler, which replaces x * 0.0 by 0.0, x + 0.0 by x and 0.0 - x by -x.
{kind} {name}() {{
    return {value};
}}
"""
_ZERO_NAMES = {"float32": "zero", "float64": "double_zero", "float16": "half_zero"}
_ZERO_VALUES = {
    "float32": "uintBitsToFloat(gl_NumWorkGroups.x >> 31)",
    "float64": "packDouble2x32(uvec2(gl_NumWorkGroups.x >> 31))",
    "float16": "float16_t(uintBitsToFloat(gl_NumWorkGroups.x >> 31))",
}

# Where numpy packs short vectors and std430 would not, memory holds arrays of their components.
_TO_VECTOR = """\
{vector} to_{vector}({scalar} v[{count}]) {{
    return {vector}({parts});
}}
"""
_FROM_VECTOR = """\
{scalar}[{count}] from_{vector}({vector} v) {{
    return {scalar}[{count}]({parts});
}}
"""

_PARTS = """\
{vector} {name}({vector} a, {vector} b) {{
    return {vector}({parts});
}}
"""

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def _vector_texts() -> dict[str, str]:
    """The helpers for short vectors: one of each kind for each type that needs it."""
    texts: dict[str, str] = {}
    for name, vector in VECTORS.items():
        if isinstance(vector, Complex):
            continue  # They are vectors of two components in GLSL.
        names = {"vector": GLSL_TYPES[name], "scalar": GLSL_TYPES[vector.element.name], "count": str(vector.count)}
        texts[f"to {name}"] = _TO_VECTOR.format(parts=", ".join(f"v[{k}]" for k in range(vector.count)), **names)
        texts[f"from {name}"] = _FROM_VECTOR.format(parts=", ".join(f"v.{n}" for n in vector.letters), **names)
        if vector.element.kind == "int":
            for helper in ("trunc_div", "trunc_mod"):
                parts = ", ".join(f"{helper}(a.{n}, b.{n})" for n in vector.letters)
                texts[f"{helper} {name}"] = _PARTS.format(name=helper, parts=parts, **names)
        if vector.element.kind == "float":
            for operation, sign in _OPERATORS.items():
                texts[f"exact_{operation} {name}"] = _EXACT.format(name=operation, operator=sign, kind=names["vector"])
    return texts


def _long(text: str) -> str:
    """The 64-bit form of a helper for int32 or uint32."""
    return re.sub(r"\b(u?int)\b", r"\g<1>64_t", text).replace("2^31", "2^63")


#: Texts by key, in the order in which a shader lists them; helpers come after those that they call.
_TEXTS = {
    "floor_div int32": _INT_FLOOR_DIV,
    "floor_mod int32": _INT_FLOOR_MOD,
    "range_next int32": _INT_RANGE_NEXT,
    "range_next uint32": _UINT_RANGE_NEXT,
    "trunc_div int32": _INT_TRUNC_DIV,
    "trunc_mod int32": _INT_TRUNC_MOD,
    "magnitude int32": _MAGNITUDE,
    "magnitude int64": _long(_MAGNITUDE),
    **{row.name: row.helper for row in NARROW_ROWS if row.helper},
    **{row.name: row.helper for row in BUILTINS.values() if row.helper},
    "floor_div int64": _long(_INT_FLOOR_DIV),
    "floor_mod int64": _long(_INT_FLOOR_MOD),
    "range_next int64": _long(_INT_RANGE_NEXT),
    "range_next uint64": _long(_UINT_RANGE_NEXT),
    "trunc_div int64": _long(_INT_TRUNC_DIV),
    "trunc_mod int64": _long(_INT_TRUNC_MOD),
    "floor_div float64": _DOUBLE_FLOOR_DIV,
    "floor_mod float64": _DOUBLE_FLOOR_MOD,
    **{f"exact_{n} float64": _EXACT.format(name=n, operator=o, kind="double") for n, o in _OPERATORS.items()},
    **{f"exact_{n} float16": _EXACT.format(name=n, operator=o, kind="float16_t") for n, o in _OPERATORS.items()},
    "floor_div float32": _FLOAT_FLOOR_DIV,
    "floor_mod float32": _FLOAT_FLOOR_MOD,
    **{f"exact_{n}": _EXACT.format(name=n, operator=o, kind="float") for n, o in _OPERATORS.items()},
    **{
        f"zero {kind}": _ZERO.format(kind=GLSL_TYPES[kind], name=name, value=_ZERO_VALUES[kind])
        for kind, name in _ZERO_NAMES.items()
    },
    **_vector_texts(),
    **CONVERSION_TEXTS,
}

_NUMBER_OF_ARG = re.compile(r"\{(\d)\}")


def _function_names(text: str) -> list[str]:
    return re.findall(r"^[\w\[\]]+ (\w+)\(", text, re.MULTILINE)


def _wrapper_name(row: BuiltinRow, type_name: str) -> str:
    """``min`` and ``max`` of floats are C's fmin and fmax, unlike GLSL's functions of those names."""
    return f"f{row.name}" if row.name in ("min", "max") and type_name.startswith("float") else row.name


#: A placeholder of a row's template next to an operator, and a text that needs no parentheses there.
_OPERAND = re.compile(r"\{\d\} [-+*/]|[-+*/] \{\d\}")
_ATOM = re.compile(r"[\w.]+(\[[^][]*\])?|\w+\([^()]*\)")


def _closed(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def _repeats(template: str) -> bool:
    """Whether a template evaluates an argument more than once."""
    numbers = _NUMBER_OF_ARG.findall(template)
    return len(numbers) != len(set(numbers))


def _templates() -> list[tuple[BuiltinRow, str, str]]:
    """Every row with its operand types and GLSL templates."""
    out = []
    for row in BUILTINS.values():
        table = row.glsl if isinstance(row.glsl, dict) else {"float32": row.glsl}
        out += [(row, type_name, text) for type_name, text in table.items()]
        if row.double is not None:
            out.append((row, "float64", row.double.glsl))
    return out


#: The function that gives the number of a tile's subgroups.
COUNT_NAME = "subgroup_count"

#: The reductions and scans of subgroups that are formed by shuffles on some devices.
BY_SHUFFLES = (
    *("add", "min", "max", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("inclusive_min", "inclusive_max", "exclusive_min", "exclusive_max"),
)

#: Every name that a helper may have: nothing else in a shader gets one of them.
HELPER_NAMES = frozenset(
    [name for text in _TEXTS.values() for name in _function_names(text)]
    + [*function_names()]
    + [_wrapper_name(row, t) for row, t, text in _templates() if _repeats(text)]
    + [COUNT_NAME, *(row.name for row in SUBGROUPS.values() if row.helper)]
    + [f"shuffled_{name}" for name in BY_SHUFFLES]
)


class Helpers:
    """The helpers that one shader uses."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._library: set[str] = set()
        self._doubles: set[str] = set()
        self._wrappers: dict[tuple[str, str], str] = {}

    def use(self, name: str, kind: Scalar | Vector | None = None) -> str:
        """Notes the use of a helper (for operands of type ``kind``) and returns its name."""
        if isinstance(kind, Complex):
            kind = Vector(kind.element, kind.count)
        key = f"{name} {kind.name}" if kind is not None else name
        self._used.add(key)
        if isinstance(kind, Vector) and name.startswith("trunc"):
            self._used.add(f"{name} {kind.element.name}")
        if key in ("floor_div float32", "floor_mod float32"):
            self._used.add("fmod")
        elif key in ("floor_div float64", "floor_mod float64"):
            self._doubles |= needed_by("precise_fmod()", "doubles")
        return name

    def pack(self, kind: PackedVector) -> str:
        """The function that makes the array of a vector's components."""
        self._used.add(f"from {kind.name}")
        return f"from_{GLSL_TYPES[kind.name]}"

    def unpack(self, kind: PackedVector) -> str:
        """The function that makes a vector of the array of its components."""
        self._used.add(f"to {kind.name}")
        return f"to_{GLSL_TYPES[kind.name]}"

    def conversion(self, quirks: Collection[Quirk], source: Scalar | Vector, target: Scalar | Vector) -> str:
        """The function for a conversion that a driver with these faults gets wrong; empty for the others."""
        name, keys = conversion(quirks, source, target)
        self._used |= set(keys)
        return name

    def zero(self, type_name: str) -> str:
        """The zero of a float type that the driver's compiler does not know; empty for other types."""
        key = f"zero {type_name}"
        if key not in _TEXTS:
            return ""
        self._used.add(key)
        return f"{_ZERO_NAMES[type_name]}()"

    def add(self, name: str, text: str) -> None:
        """Adds a function that only this shader has."""
        self._wrappers[name, ""] = text

    def call(self, row: BuiltinRow, kind: Scalar, args: list[str]) -> str:
        """The text of a builtin's value; a row that uses an argument twice becomes a function."""
        template = row.glsl_for(kind.name)
        if kind.name == "float64" and row.double is not None:
            self._doubles |= needed_by(template, "doubles")
        else:
            self._library |= needed_by(template)
            if row.helper:
                self._used |= {row.name, *CALLED.get(row.name, ())}
        if not _repeats(template):
            return template.format(*(map(_closed, args) if _OPERAND.search(template) else args))
        name = _wrapper_name(row, kind.name)
        self._wrappers[name, kind.name] = self._wrapper(row, name, kind.name, template)
        return f"{name}({', '.join(args)})"

    @staticmethod
    def _wrapper(row: BuiltinRow, name: str, type_name: str, template: str) -> str:
        names = ["x", "y", "z"][: len(row.params)]
        body = template.format(*names)
        if body.startswith("(") and body.endswith(")"):
            body = body[1:-1]
        result = GLSL_TYPES[row.result_name(dict.fromkeys(row.params, type_name))]
        params = ", ".join(f"{GLSL_TYPES[type_name]} {n}" for n in names)
        return f"// {row.doc}\n{result} {name}({params}) {{\n    return {body};\n}}\n"

    def texts(self) -> list[str]:
        """The functions to print, in an order that does not depend on where they are used."""
        library = [text for name, text in functions().items() if name in self._library]
        library += [text for name, text in functions("doubles").items() if name in self._doubles]
        fixed = [text for key, text in _TEXTS.items() if key in self._used]
        return library + fixed + [self._wrappers[key] for key in sorted(self._wrappers)]
