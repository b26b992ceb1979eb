"""What to write instead: the second half of an error, in the names of the program at hand."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from vkamp.errors import AmpError, Span, diagnostic
from vkamp.front.values import (
    ArrayRef,
    BarrierRef,
    BufferRef,
    FieldMethod,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    ViewRef,
)
from vkamp.ir.types import SCALARS, SMALL, Scalar
from vkamp.lang import device
from vkamp.lang.container import Container
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.lang.subgroups import SubgroupFunction, SubgroupNamespace

if TYPE_CHECKING:
    from vkamp.front.context import Context

__all__ = [
    "CONSTANTS",
    "as_number",
    "attribute",
    "host_advice",
    "host_object",
    "is_host_object",
    "language_alias",
    "near",
    "phrase",
    "plain_call",
    "refused_dtype",
    "subscript",
    "undefined",
    "with_article",
]


#: What a keyword-only parameter of a kernel may be.
CONSTANTS = "a constant is a number, a type, a dtype or an @amp.func"


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one most likely stands for."""
    found = difflib.get_close_matches(name, list(known), 1, 0.7)
    return found[0] if found else None


def with_article(word: object) -> str:
    """``a float32``, ``an int32``."""
    text = str(word)
    return f"an {text}" if text[0] in "aeio" else f"a {text}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


# -- names and attributes ------------------------------------------------------------------------------------------


def language_alias(ctx: Context) -> str:
    """The name that the module of the function at hand has for vkamp."""
    names = ctx.module.stack[-1][0].__globals__ if ctx.module.stack else {}
    return next((n for n, v in names.items() if isinstance(v, ModuleType) and v.__name__ == "vkamp"), "amp")


_LANGUAGE = (*device.__all__, "index", "extent", "float32", "int32", "uint32")


def undefined(ctx: Context, name: str) -> str:
    """For a name that nothing has."""
    alias = language_alias(ctx)
    if name in _LANGUAGE:
        return f"write `{alias}.{name}`"
    names = ctx.module.stack[-1][0].__globals__ if ctx.module.stack else {}
    outside = [n for n in (*names, *dir(builtins)) if not n.startswith("_")]
    close = near(name, ctx.slots) or near(name, ctx.local_names) or near(name, outside)
    if close is not None:
        return f"did you mean `{close}`?"
    close = near(name, _LANGUAGE)
    return f"did you mean `{alias}.{close}`?" if close else "define it before the kernel is launched"


def attribute(owner: str, name: str, known: Iterable[str], habits: Mapping[str, str] | None = None) -> str:
    """For an attribute that ``owner`` hasn't: ``habits`` are the spellings of other libraries."""
    known = list(known)
    if habits and name in habits:
        return f"write `{owner}{habits[name]}`"
    close = near(name, known)
    if close is not None:
        return f"did you mean `{owner}.{close}`?"
    return f"it has {_list(known)}" if 0 < len(known) <= 12 else "see the index of names in the documentation"


def habits_of_module(target: Any, name: str) -> dict[str, str]:
    """Where vkamp has a function that is looked for in the wrong place."""
    if getattr(target, "__name__", "") != "vkamp":
        return {}
    group = next((g for g in ("fast_math", "precise_math") if name in vars(getattr(device, g))), None)
    return {name: f".{group}.{name}"} if group else {}


# -- things in the wrong place -------------------------------------------------------------------------------------


def subscript(ctx: Context, text: str, value: BufferRef | ArrayRef | ViewRef) -> str:
    """An element of a container or array: by the kernel's index where that fits, else by i, j, ..."""
    index, rank = ctx.module.index_name, value.rank
    if isinstance(value, BufferRef) and not value.prefix and ctx.is_kernel and rank <= ctx.module.rank:
        parts = (f"{index}[{k}]" for k in range(rank))
        return f"{text}[{index if rank == ctx.module.rank else ', '.join(parts)}]"
    names = [n for n in "ijklmnpqrs" if n not in ctx.slots][:rank]
    return f"{text}[{', '.join(names) if len(names) == rank else '...'}]"


def as_number(ctx: Context, value: Value, text: str) -> str:
    """How to get a number out of what is none."""
    if isinstance(value, (BufferRef, ArrayRef, ViewRef)):
        return f"take an element: `{subscript(ctx, text, value)}`"
    if text.startswith("("):
        return "use one of its items"
    if isinstance(value, (TupleValue, ThreadRef)):
        simple = all(part.isidentifier() for part in text.split("."))
        return f"take one of its components: `{text if simple else f'({text})'}[0]`"
    if isinstance(value, FieldMethod):
        return f"call it: `{text}({'...' if value.name == 'contains' else ''})`"
    if isinstance(value, BarrierRef):
        return f"wait at it: `{text}.wait()`"
    if isinstance(value, Object) and isinstance(value.value, str):
        return "a kernel has no strings"
    if isinstance(value, Object) and isinstance(value.value, (device.MathNamespace, SubgroupNamespace)):
        return f"call one of its functions: `{text}.name(...)`"
    if isinstance(value, Object):
        return f"call it: `{text}(...)`"
    if ctx.vector_of(value) is not None:
        return f"take a component: `{text}.x`"
    fields = ctx.fields_of(value)
    return f"take a field: `{text}.{fields[0]}`" if fields else "use a number"


def is_host_object(value: Any) -> bool:
    """Whether a Python object means nothing in a kernel: no function, type, module or string."""
    known = (str, type, ModuleType, DeviceFunction, KernelFunction, device.MathFunction, device.MathNamespace)
    known_too = (SubgroupFunction, SubgroupNamespace, np.dtype, FunctionType, BuiltinFunctionType, np.ufunc)
    return not isinstance(value, (*known, *known_too)) and not callable(value)


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "None"),
    (str, "a string"),
    ((bytes, bytearray, memoryview), "a bytes object"),
    (np.ndarray, "a numpy array"),
    (KernelFunction, "a kernel"),
    (FunctionType, "a function of plain Python"),
    (ModuleType, "a module"),
    (Container, "a container"),
)


def host_object(value: Any) -> str:
    """A Python object in a user's words."""
    for kinds, words in _KINDS:
        if isinstance(value, kinds):
            return words
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return with_article(type(value).__name__)


def host_advice(value: Any, name: str, *, captured: bool, attribute: str | None = None) -> str:
    """What to hand over instead of a Python object, of which ``attribute`` is wanted."""
    if isinstance(value, np.ndarray):
        return (
            f"make a view of it before the launch, `{name}_view = amp.array_view({name})`, and use that"
            if captured
            else "pass a view of it: `amp.array_view(...)`"
        )
    if isinstance(value, dict):
        return "use a variable for each of its values"
    if isinstance(value, (list, set, tuple)):
        tuples = "make it a tuple of numbers, which are compile-time constants, or " if captured else ""
        return f"{tuples}pass an amp.array_view over a numpy array of its values"
    if isinstance(value, FunctionType):
        known = value.__name__.isidentifier()
        return f"decorate `{value.__name__}` with @amp.func" if known else "define it with `def` and @amp.func"
    if value is None:
        return "leave the parameter out, or pass a bool as an amp.constant and test that"
    if isinstance(value, str):
        return "pass a number, or a bool or int as an amp.constant"
    if captured and attribute is not None:
        return f"take it before the kernel, `{attribute} = {name}.{attribute}`, and use that"
    return "pass numbers, indices, amp.array, amp.array_view or an @amp.func"


# -- functions of plain Python -------------------------------------------------------------------------------------

#: Loops over what Python's functions give.
LOOPS = {
    "enumerate": "write `for i in range(n):` and subscript with `i`",
    "zip": "write `for i in range(n):` and subscript each with `i`",
    "reversed": "write `for i in range(n - 1, -1, -1):`",
}
_LOOP = "write the loop: `for i in range(n):`"
_MEMORY = "declare `values = amp.private(shape, dtype)` and assign its elements"

_PLAIN: dict[str, str] = {
    "sum": _LOOP,
    "any": "write `a or b`, or the loop: `for i in range(n):`",
    "all": "write `a and b`, or the loop: `for i in range(n):`",
    "sorted": "sort on the host, or write the exchange of two elements",
    "isinstance": "types are known when the kernel is compiled; write a kernel for each",
    "type": "types are known when the kernel is compiled; write a kernel for each",
    "divmod": "write `x // y` and `x % y`",
    "complex": "use two numbers",
    "enumerate": LOOPS["enumerate"],
    "zip": LOOPS["zip"],
    "reversed": LOOPS["reversed"],
    "list": _MEMORY,
    "dict": "use a structured dtype, or variables of their own",
    "set": _MEMORY,
    "tuple": "write the items in parentheses",
    "str": "a kernel has no strings",
    "slice": _LOOP,
}
_NUMPY: dict[str, str] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "array", "zeros_like", "ones_like", "arange"), _MEMORY),
    **dict.fromkeys(("sum", "mean", "dot", "matmul", "prod", "any", "all", "cumsum", "argmax", "argmin"), _LOOP),
    "maximum": "write `max(x, y)`",
    "minimum": "write `min(x, y)`",
    "where": "write `x if condition else y`",
    "clip": "write `min(max(x, low), high)`",
    "power": "write `x ** y`",
}


def plain_call(target: Any, first: str) -> str:
    """For the call of a Python object that a device hasn't; ``first`` is the text of its first argument."""
    name = getattr(target, "__name__", "")
    module = (getattr(target, "__module__", "") or "").split(".")[0]
    if module == "builtins" and name in _PLAIN:
        return _PLAIN[name].format(first=first or "container")
    if module == "numpy" or isinstance(target, np.ufunc):
        if name in _NUMPY:
            return _NUMPY[name]
        if name in vars(device.fast_math):
            return f"write `amp.fast_math.{name}(...)`"
    if isinstance(target, type) and module != "builtins":
        return "use a structured numpy dtype for its data, and @amp.func functions"
    if isinstance(target, FunctionType) and module not in ("numpy", "builtins"):
        return f"decorate `{name}` with @amp.func" if name.isidentifier() else "define it with `def` and @amp.func"
    return "use the functions of amp.fast_math, or an @amp.func of your own"


def with_second_argument(name: str, row: str, first: str, second: str) -> str:
    """For a function of one argument that Python gives a second one."""
    if row == "log":
        return f"{name}({first}) / {name}({second})"
    return f"{name}(x * 10) / 10" if row == "round" else ""


def phrase(kind: Scalar | None) -> str:
    """The values of a scalar type, for messages about what does not fit."""
    if kind is None or kind.kind == "float":
        most = {"float16": "65504", "float64": "1.7976931348623157e308"}.get(kind.name if kind else "", "3.4028235e38")
        return f"numbers from -{most} to {most}"
    bits = kind.bits
    low, high = (0, (1 << bits) - 1) if kind.kind == "uint" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return f"whole numbers from {low} to {high}"


# -- types ---------------------------------------------------------------------------------------------------------


def refused_dtype(dtype: np.dtype[Any], span: Span, text: str) -> AmpError:
    """The error for a dtype that no kernel can use."""
    if dtype.subdtype is not None:
        return refused_dtype(dtype.subdtype[0], span, text)
    for name in dtype.names or ():
        if dtype[name].subdtype is not None or not _is_element(dtype[name]):
            return refused_dtype(dtype[name], span, text)
    return diagnostic("VKA305" if dtype.kind == "b" else "VKA110", span, text=text)


def _is_element(dtype: np.dtype[Any]) -> bool:
    return dtype.name in SMALL or (dtype.name in SCALARS and dtype.kind != "b")
