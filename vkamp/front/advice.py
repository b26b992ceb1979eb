"""What to write instead: the second half of an error, with the names of the user's program."""

from __future__ import annotations

import ast
import builtins
import difflib
import enum
import sys
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from vkamp.errors import AmpError, Span, diagnostic
from vkamp.front import habits
from vkamp.front.values import (
    BarrierRef,
    BufferRef,
    Closure,
    FieldMethod,
    Memory,
    Object,
    ThreadRef,
    TupleValue,
    Value,
)
from vkamp.ir.types import LARGEST, NUMBERS, Scalar
from vkamp.lang import device
from vkamp.lang.container import Container
from vkamp.lang.device_elements import element_of
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.lang.sources import has_memory
from vkamp.lang.subgroups import HABITS, SubgroupFunction, SubgroupNamespace
from vkamp.lang.target import TargetFeature, TargetTraits
from vkamp.lang.vectors import ShortVector

if TYPE_CHECKING:
    from vkamp.front.context import Context


#: What a keyword-only parameter of a kernel may be.
CONSTANTS = "a constant is a number, a string, None, a type, a dtype, a function, or a tuple of these"


def near(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """The known name that is most similar to a misspelt one."""
    found = difflib.get_close_matches(name, list(known), 1, cutoff)
    return found[0] if found else None


def with_article(word: object) -> str:
    """``a float32``, ``an int32``."""
    text = str(word)
    return f"an {text}" if text[0] in "aeioAEIO" else f"a {text}"


def fields(value: TupleValue, text: str) -> str:
    """For an object of a dataclass that is taken for a tuple."""
    owner = as_owner(text)
    return f"it has fields only: write `({', '.join(f'{owner}.{name}' for name in value.names)})`"


def as_owner(text: str) -> str:
    """An expression as it is written before a dot or a bracket."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({text})"


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


# -- names and attributes ------------------------------------------------------------------------------------------


def language_module(ctx: Context) -> ModuleType | None:
    """vkamp itself, if the module of the current function has a name for it."""
    alias = language_alias(ctx)
    return ctx.module.stack[-1][0].__globals__.get(alias) if ctx.module.stack else None


def language_alias(ctx: Context) -> str:
    """The name that the module of the current function has for vkamp."""
    names = ctx.module.stack[-1][0].__globals__ if ctx.module.stack else {}
    return next((n for n, v in names.items() if isinstance(v, ModuleType) and v.__name__ == "vkamp"), "amp")


def _language(ctx: Context) -> list[str]:
    """The public names of vkamp, and those of its functions of numbers as they are written."""
    module = language_module(ctx) or sys.modules["vkamp"]
    return list(module.__all__)


#: What a kernel can use of Python's own names.
_BUILTINS = ("range", "len", "min", "max", "abs", "round", "pow", "int", "float", "bool", "print", "True", "False")


def undefined(ctx: Context, name: str) -> str:
    """For a name that is not defined anywhere."""
    alias = language_alias(ctx)
    if name in _language(ctx):
        return f"write `{alias}.{name}`"
    if name in vars(device.fast_math):
        return f"write `{alias}.fast_math.{name}(...)`"
    known = habits.elsewhere(name)
    if known is not None:
        return known.format(index=ctx.module.index_name, amp=alias, text="a")
    function = ctx.module.stack[-1][0] if ctx.module.stack else None
    names = (*function.__globals__, *function.__code__.co_freevars) if function is not None else ()
    outside = [n for n in names if not n.startswith("_")]
    close = near(name, ctx.slots) or near(name, ctx.local_names) or near(name, outside) or near(name, _BUILTINS)
    if close is not None:
        return f"did you mean `{close}`?"
    written = habits.of_vectors(name)
    if written is not None:
        return written
    close = near(name, _language(ctx))
    return f"did you mean `{alias}.{close}`?" if close else "define it before the kernel is launched, or pass it"


def attribute(owner: str, name: str, known: Iterable[str], habits: Mapping[str, str] | None = None) -> str:
    """For an attribute that ``owner`` lacks: ``habits`` are the spellings of other libraries."""
    known = list(known)
    if habits and name in habits:
        return f"write `{owner}{habits[name]}`"
    close = near(name, known)
    if close is not None:
        return f"did you mean `{owner}.{close}`?"
    return f"it has {_list(known)}" if 0 < len(known) <= 24 else "see the index of names in the documentation"


def attribute_of_module(ctx: Context, target: Any, text: str, name: str) -> str:
    """For a name that a module, a class or a namespace lacks."""
    known = getattr(target, "__all__", None) or [n for n in dir(target) if not n.startswith("_")]
    is_vkamp = getattr(target, "__name__", "") == "vkamp"
    if is_vkamp or isinstance(target, device.MathNamespace):
        group = next((g for g in ("fast_math", "precise_math", "direct3d") if name in vars(getattr(device, g))), None)
        if group is not None:
            return f"write `{text if is_vkamp else language_alias(ctx)}.{group}.{name}`"
    if is_vkamp:
        found = habits.elsewhere(name) if near(name, known, 0.88) is None else None
        if found is not None:
            return found.format(index=ctx.module.index_name, amp=text, text="a")
        found = habits.of_vectors(name)
        found = found or habits.of_function(getattr(np, name, None) or getattr(builtins, name, None))
        if found is not None:
            return found
    others = habits.TILE if getattr(target, "__name__", "") == "vkamp.tile" else None
    return attribute(text, name, known, HABITS if isinstance(target, SubgroupNamespace) else others)


def attribute_of_container(ctx: Context, owner: Memory, text: str, name: str) -> str:
    """For an attribute that a container or array lacks."""
    if name in habits.ARRAY:
        return habits.ARRAY[name].format(text=text, amp=language_alias(ctx), element=subscript(ctx, text, owner))
    return attribute(text, name, ("extent", "rank", "dtype"))


# -- things in the wrong place -------------------------------------------------------------------------------------


def subscript(ctx: Context, text: str, value: Memory) -> str:
    """An element of a container or array: by the kernel's index where that fits, else by i, j, ..."""
    index, rank = ctx.module.index_name, value.rank
    if isinstance(value, BufferRef) and not value.prefix and ctx.is_kernel and rank <= ctx.module.rank:
        parts = (f"{index}[{k}]" for k in range(rank))
        return f"{text}[{index if rank == ctx.module.rank else ', '.join(parts)}]"
    names = [n for n in "ijklmnpqrs" if n not in ctx.slots][:rank]
    return f"{text}[{', '.join(names) if len(names) == rank else '...'}]"


def as_number(ctx: Context, value: Value, text: str) -> str:
    """How to get a number from a value that is not one."""
    if isinstance(value, Memory):
        return f"take an element: `{subscript(ctx, text, value)}`"
    if text.startswith("("):
        return "use one of its items"
    if isinstance(value, TupleValue) and not value.has_items:
        return f"take a field: `{as_owner(text)}.{value.names[0]}`" if value.names else "use a number"
    if isinstance(value, (TupleValue, ThreadRef)):
        return f"take one of its components: `{as_owner(text)}[0]`"
    if isinstance(value, FieldMethod):
        return f"call it: `{text}({'...' if value.name == 'contains' else ''})`"
    if isinstance(value, BarrierRef):
        return f"wait at it: `{text}.wait()`"
    if isinstance(value, Object) and value.value is None:
        return "test it first, `is not None`, or use a number that means the same, such as -1"
    if isinstance(value, Object) and isinstance(value.value, str):
        return "a kernel can only compare strings, which are constants, with == and !="
    if isinstance(value, Object) and isinstance(value.value, (device.MathNamespace, SubgroupNamespace)):
        return f"call one of its functions: `{text}.name(...)`"
    if isinstance(value, Object):
        return f"call it: `{text}(...)`"
    if isinstance(value, Closure):
        return "call it; to choose between functions, choose between their calls: `f(x) if condition else g(x)`"
    if ctx.vector_of(value) is not None:
        return f"take a component: `{as_owner(text)}.x`"
    fields = ctx.fields_of(value)
    return f"take a field: `{as_owner(text)}.{fields[0]}`" if fields else "use a number"


def is_host_object(value: Any) -> bool:
    """Whether a Python object means nothing in a kernel: no function, type, module or string."""
    known = (str, type, ModuleType, DeviceFunction, KernelFunction, device.MathFunction, device.MathNamespace)
    known_too = (
        SubgroupFunction,
        SubgroupNamespace,
        TargetTraits,
        TargetFeature,
        np.dtype,
        FunctionType,
        BuiltinFunctionType,
        np.ufunc,
    )
    return not isinstance(value, (*known, *known_too)) and not callable(value)


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "None"),
    (str, "a string"),
    (bytes, "a bytes object"),
    (np.ndarray, "a numpy array"),
    (np.dtype, "a dtype"),
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


def _is_short(value: Any) -> bool:
    """Whether a value is a numpy array that fits a tuple."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.size <= 64


def host_advice(value: Any, name: str, *, captured: bool, attribute: str | None = None) -> str:
    """What to pass instead of a Python object whose ``attribute`` is used."""
    if isinstance(value, ShortVector):
        return "pass it to the function as an argument"
    if isinstance(value, (Container, np.void)) or element_of(value) is not None:
        if name.endswith("]"):
            return f"give it a name of its own before the function, such as `item = {name}`, and use that there"
        return "pass it to the function as an argument"
    members = getattr(type(value), "_vkamp_members", ())
    for member in (each for each in members if isinstance(getattr(value, each), Container)):
        return f"{'use' if captured else 'pass'} its `.{member}`, a container"
    of_library = habits.of_object(value)
    if isinstance(value, np.ndarray) or (of_library is None and has_memory(value)):
        if not captured:
            return "pass a view of it: `amp.array_view(...)`"
        constant = f"; `tuple({name}.tolist())` has compile-time constants" if _is_short(value) else ""
        return f"make a view of it before the launch, `{name}_view = amp.array_view({name})`, and use that{constant}"
    if isinstance(value, dict):
        return "pass each of its values as an argument, or make it an @amp.struct"
    if captured and isinstance(value, list) and attribute in ("append", "extend", "insert"):
        return "a kernel cannot change a list: store to the elements of a container that the kernel takes"
    if isinstance(value, (list, tuple)) and any(isinstance(each, Container) for each in value):
        return "pass each of its containers as a separate argument"
    if isinstance(value, (list, set, tuple)):
        tuples = "make it a tuple of numbers, which are compile-time constants, or " if captured else ""
        if isinstance(value, tuple) and not captured:
            tuples = f"pass its items one by one, or as constants of the kernel, `*, {name}: amp.constant`, or "
        return f"{tuples}pass an amp.array_view over a numpy array of its values"
    if isinstance(value, FunctionType):
        known = value.__name__.isidentifier()
        return f"decorate `{value.__name__}` with @amp.func" if known else "define it with `def` and @amp.func"
    if isinstance(value, enum.Enum):
        return f"take its number: `{name}.value`"
    if value is None:
        return f"pass a bool beside it, `has_{name}: amp.constant`, and a container that is not read when it is False"
    if isinstance(value, str):
        return f"pass it as a constant: `*, {name}: amp.constant`"
    if of_library is not None:
        return of_library
    if captured and attribute is not None:
        return f"take it before the kernel, `{attribute} = {name}.{attribute}`, and use that"
    if type(value).__module__.split(".")[0] not in ("builtins", "numpy", "vkamp"):
        return f"pass its numbers and views one by one, or make {type(value).__name__} an @amp.struct"
    return "pass numbers, indices, structs, containers or an @amp.func"


# -- functions of plain Python -------------------------------------------------------------------------------------


def plain_call(target: Any, first: str) -> str:
    """For the call of a Python object that a kernel cannot call; ``first`` is the text of its first argument."""
    name = getattr(target, "__name__", "")
    known = habits.of_function(target)
    if known is not None:
        return known.format(first=first or "container")
    if name in vars(device.fast_math):
        return f"write `amp.fast_math.{name}(...)`"
    if name in vars(device.precise_math):
        return f"write `amp.precise_math.{name}(...)`"
    if isinstance(target, type) and target.__module__ != "builtins":
        return f"make `{name}` an @amp.struct, with @amp.func methods"
    if not habits.is_of_library(target):
        return f"decorate `{name}` with @amp.func" if name.isidentifier() else "define it with `def` and @amp.func"
    return (
        "call it on the host and pass the result, or write it as an @amp.func; "
        "a kernel can call most of `math`, and `amp.fast_math`"
    )


def with_second_argument(name: str, row: str, first: str, second: str) -> str:
    """Advice for a function of one argument that, in Python, has a second one."""
    if row == "log":
        return f"{name}({first}) / {name}({second})"
    if row == "round":
        factor = str(10 ** int(second)) if second.isdecimal() and int(second) < 9 else f"10**{second}"
        return f"{name}({first} * {factor}) / {factor}"
    return ""


def phrase(kind: Scalar | None) -> str:
    """The values of a scalar type, for messages about what does not fit."""
    if kind is None or kind.kind == "float":
        most = LARGEST[kind.name if kind else "float32"]
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
    return dtype.name in NUMBERS
