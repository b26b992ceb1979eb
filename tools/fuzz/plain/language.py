"""The substitute for ``vkamp`` with which a program runs as plain Python."""

from __future__ import annotations

import builtins
import inspect
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.fuzz.plain.functions import FLOATS, FUNCTIONS, Scalar, VectorType, enumerated
from tools.fuzz.plain.memory import CLASSES, Memory, Record, at_place, set_place
from tools.fuzz.plain.overloads import function_of
from tools.fuzz.plain.threads import Turns
from tools.fuzz.plain.values import (
    INTEGERS,
    STATE,
    Idx,
    Num,
    UndefinedError,
    UnknownError,
    Vec,
    as_items,
    cast,
    common,
    convert,
    integers,
    kind_of,
    raw_of,
    strong,
    truth,
)
from vkamp.ir.builtins import ATOMICS
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.lang.dtypes import aligned

__all__ = ["Language", "Thread"]

#: lavapipe ends loops after 65,535 iterations of a thread.
_MAX_ITERATIONS, _MAX_COPIES = 60_000, 4_000
#: Iterations of a loop that is evaluated only for its type.
_MAX_TRIED = 100


def _space(prefix: str) -> types.SimpleNamespace:
    return types.SimpleNamespace(
        **{n[len(prefix) + 1 :]: f for n, f in FUNCTIONS.items() if n.startswith(f"{prefix}.")}
    )


# -- threads -------------------------------------------------------------------------------------------------------


class Barrier:
    """``t.barrier``."""

    def __init__(self, language: Language) -> None:
        def wait() -> None:
            language.wait("barrier")

        self.wait = self.wait_with_all_memory_fence = self.wait_with_global_memory_fence = wait
        self.wait_with_tile_static_memory_fence = wait


class Thread:
    """``t`` of a tiled kernel."""

    def __init__(self, where: tuple[int, ...], tile: tuple[int, ...], barrier: Barrier) -> None:
        self.global_ = Idx(list(where))
        self.local = Idx([w % n for w, n in zip(where, tile, strict=True)])
        self.tile = Idx([w // n for w, n in zip(where, tile, strict=True)])
        self.tile_origin = Idx([w // n * n for w, n in zip(where, tile, strict=True)])
        self.tile_extent = Idx(list(tile), "extent", constant=True)
        self.barrier = barrier
        for n, size in enumerate(tile):
            setattr(self, f"tile_dim{n}", size)

    def __getitem__(self, n: Any) -> Any:
        return self.global_[n]

    def __len__(self) -> int:
        return len(self.global_)

    def __eq__(self, other: object) -> Any:
        return self.global_ == other

    def __ne__(self, other: object) -> Any:
        return self.global_ != other

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return self.global_ + other

    def __radd__(self, other: Any) -> Any:
        return other + self.global_

    def __sub__(self, other: Any) -> Any:
        return self.global_ - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.global_

    def __mul__(self, other: Any) -> Any:
        return self.global_ * other

    def __truediv__(self, other: Any) -> Any:
        return self.global_ / other

    def __mod__(self, other: Any) -> Any:
        return self.global_ % other


# -- the language --------------------------------------------------------------------------------------------------


class _Types(dict[Any, Any]):
    """The types of a function's variables: by name, the number of the assignment that determined the type, and the
    type."""


class Language:
    """The ``amp``, ``math``, ``np`` and builtin names of a program, and the state of a launch."""

    def __init__(self) -> None:
        self.types: dict[Any, _Types] = {}
        #: Whether an assignment ran after a later assignment in the source had been used.
        self.late = False
        self.turns: Turns | None = None
        self.statics: dict[Any, Memory] = {}
        #: Iterations of the launch so far, and those that are copies in a shader.
        self.iterations = 0
        self.copies = 0
        #: The iterations at which a trial ends.
        self.trial_end = 0
        self.names = self._names()

    # -- threads

    def wait(self, why: str) -> None:
        """Lets the other threads of the tile run."""
        if self.turns is None:
            raise UnknownError("a barrier of a kernel without tiles")
        if STATE.trial:
            return
        self.turns.current.wait(why)

    def _place(self, what: str) -> Num:
        """Where the running thread is among the subgroups of its tile."""
        assert self.turns is not None
        groups, me = self.turns.groups, self.turns.current
        number = next(n for n, group in enumerate(groups) if me in group)
        found = {"size": self.turns.subgroup, "count": len(groups), "id": number, "lane": groups[number].index(me)}
        return Num("int32", found[what])

    def _subgroup(self, row: Any) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            assert self.turns is not None
            me = self.turns.current
            group = [me] if STATE.trial else next(g for g in self.turns.groups if me in g)
            size = self.turns.subgroup
            me.given = given
            self.wait("subgroup")
            everyone = [t.given for t in group]
            self.wait("subgroup")
            lane = group.index(me)
            if row.source is not None:
                at = 0 if STATE.trial else row.source(lane, int(raw_of(given[1])), size)
                if not 0 <= at < len(group):
                    raise UndefinedError("a lane without a thread")
                return strong(everyone[at][0])
            k = kind_of(given[0]) if given and "value" in row.params else ""
            if "ballot" in row.params:
                values = [(g[0].v,) for g in everyone]
            elif k in FLOATS:
                values = [(np.dtype(k).type(convert(g[0], k)),) for g in everyone]
            else:
                values = [tuple(raw_of(x) for x in g) for g in everyone]
            result = row.reference(values, k, size)[lane]
            kind = k if row.result == "value" else row.result
            if kind == "uint4":
                return Vec("uint32", [int(x) for x in result])
            return Num(kind, cast(kind, result.item() if isinstance(result, np.generic) else result, kind))

        return call

    def tick(self, unrolled: bool) -> None:
        """Ends a launch that runs too long, or whose unrolled loops make the shader too long."""
        self.iterations += 1
        self.copies += unrolled
        if STATE.trial and self.iterations > self.trial_end:
            raise UndefinedError("a long loop")
        if self.iterations > _MAX_ITERATIONS or self.copies > _MAX_COPIES:
            raise UndefinedError("too many iterations")

    # -- functions and variables

    def enter(self, name: str, *given: Any) -> _Types:
        """The types of the variables of a function for arguments of these types."""
        key = (name, *(_signature(g) for g in given))
        return self.types.setdefault(key, _Types())

    def param(self, types: _Types, name: str, value: Any) -> Any:
        """An argument in its parameter: vectors by value, structs as they are."""
        if isinstance(value, (Num, bool, int, float)):
            value = strong(value)
            types[name] = (0, value.k)
            return value
        return value.copy() if isinstance(value, Vec) else value

    def set(self, types: _Types, name: str, number: int, value: Any) -> Any:
        """A value in a variable, whose type is that of its first assignment in the source."""
        if isinstance(value, (Num, bool, int, float)):
            first = types.get(name)
            k = kind_of(value)
            if first is None or number < first[0]:
                self.late = self.late or (first is not None and first[1] != k)
                types[name] = (number, k)
            else:
                k = first[1]
            return Num(k, convert(strong(value), k) if k != kind_of(value) else convert(value, k))
        if isinstance(value, Vec):
            return value.copy()
        if isinstance(value, Idx):
            return Idx(list(value.items), value.what, value.constant)
        return value

    def sets(self, types: _Types, names: tuple[str | None, ...], number: int, several: bool, value: Any) -> Any:
        """The values of an assignment to several places."""
        values = [value] * len(names) if several else list(value)
        starred = next((n for n, name in enumerate(names) if name is not None and name.startswith("*")), None)
        if starred is not None and len(values) >= len(names) - 1:
            # `first, *rest = t`: the rest is a tuple.
            end = len(values) - (len(names) - 1 - starred)
            values[starred:end] = [tuple(values[starred:end])]
        if len(values) != len(names):
            raise UnknownError("an assignment of another number of values")
        out = []
        for name, each in zip(names, values, strict=True):
            if name is not None:
                out.append(self.set(types, name, number, each))
            else:
                out.append(each.copy() if isinstance(each, Vec) else each)
        return tuple(out)

    def result(self, value: Any) -> Any:
        """The result of a function."""
        if isinstance(value, tuple):
            return tuple(self.result(v) for v in value)
        if isinstance(value, (Num, bool, int, float)):
            return strong(value)
        return value.copy() if isinstance(value, Vec) else value

    def choose(self, types: _Types, number: int, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """``then if test else orelse``: both sides in one type."""
        chosen = bool(test)
        value = then() if chosen else orelse()
        if isinstance(test, (bool, int, float)):
            return value
        if not isinstance(value, (Num, bool, int, float)):
            return value.copy() if isinstance(value, Vec) else value
        other = self.like(types, ("choice", number, not chosen), orelse if chosen else then)
        if other is None:
            return value
        if kind_of(value) == kind_of(other) == "bool":
            return strong(value)
        k = common(value, other)
        weak = not isinstance(value, bool) and not isinstance(other, bool)
        weak = weak and all(getattr(x, "weak", False) for x in (value, other))
        return Num(k, convert(value, k), weak)

    def like(self, types: _Types, key: Any, part: Callable[[], Any]) -> Any:
        """A number of the type of an expression that is not evaluated; ``None`` if it has none that is known."""
        if key not in types:
            before = self.iterations, self.copies, self.trial_end
            self.trial_end = self.iterations + _MAX_TRIED
            try:
                with STATE.trying():
                    found = part()
            except Exception:
                found = None
            self.iterations, self.copies, self.trial_end = before
            if isinstance(found, Num):
                found = Num(found.k, found.v, found.weak)
            types[key] = found if isinstance(found, (Num, bool, int, float)) else None
        return types[key]

    @staticmethod
    def both(*parts: Callable[[], Any]) -> Any:
        """``and``."""
        return _joined(parts, False)

    @staticmethod
    def either(*parts: Callable[[], Any]) -> Any:
        """``or``."""
        return _joined(parts, True)

    # -- memory

    def static(self, shape: Any, dtype: Any, __site__: Any = None) -> Memory:
        """The tile's array of a place in the source."""
        frame = inspect.currentframe()
        assert frame is not None and frame.f_back is not None
        key = (frame.f_back.f_code, __site__)
        if key not in self.statics:
            self.statics[key] = private(shape, dtype)
        return self.statics[key]

    def exchange(self, place: Any, expected: Any, value: Any) -> Any:
        """``atomic_compare_exchange``: whether it succeeded, and the old value. ``expected`` is a place, or returns the
        value of a variable after the evaluation of all arguments.
        """
        if place.place is None:
            raise UnknownError("an atomic on a value")
        old, k = strong(at_place(place.place)), place.k
        if not isinstance(expected, Num) and callable(expected):
            expected = expected()
        elif isinstance(expected, Num) and expected.place is not None:
            expected = at_place(expected.place)
        done = convert(expected, k) == old.v
        if done:
            set_place(place.place, Num(k, convert(value, k)))
        if isinstance(expected, Num) and expected.place is not None:
            set_place(expected.place, old)
            return truth(done)
        return truth(done), old

    # -- names

    def _names(self) -> dict[str, Any]:
        scalars = {n: Scalar(n) for n in (*INTEGERS, *FLOATS)}
        scalars["bool_"] = Scalar("bool")
        vectors = {f"{k}{n}": VectorType(f"{k}{n}") for k in ("int", "uint", "float", "double") for n in (2, 3, 4)}
        vectors |= {f"{k}_{n}": vectors[f"{k}{n}"] for k in ("int", "uint", "float", "double") for n in (2, 3, 4)}
        amp = types.SimpleNamespace(
            **scalars, **vectors, kernel=_decorator, func=function_of, struct=_struct, constant=None,
            private=private, tile_static=self.static, static_range=_static_range, uniform=_uniform,
            tdiv=lambda a, b: _c_division("tdiv", a, b), trem=lambda a, b: _c_division("trem", a, b),
            index=lambda *given: _index("index", *given), extent=lambda *given: _index("extent", *given),
            all_memory_fence=_nothing, global_memory_fence=_nothing, tile_static_memory_fence=_nothing,
            fast_math=_space("fast_math"), precise_math=_space("precise_math"), direct3d=_space("direct3d"),
            array_view=Memory, array=Memory,
            subgroup=types.SimpleNamespace(
                **{n: self._subgroup(row) for n, row in SUBGROUPS.items()}, size=lambda: self._place("size"),
                count=lambda: self._place("count"), id=lambda: self._place("id"), lane=lambda: self._place("lane")),
        )  # fmt: skip
        for name, row in ATOMICS.items():
            if row.result == "old":
                setattr(amp, name, _atomic(row))
        space = _space("math")
        for name in ("pi", "e", "inf", "nan", "tau"):
            setattr(space, name, getattr(math, name))
        for name, function in FUNCTIONS.items():
            if name.startswith("amp."):
                setattr(amp, name[4:], function)
        names: dict[str, Any] = {n: f for n, f in FUNCTIONS.items() if "." not in n}
        for name in ("amp", "vkamp", "vk"):
            names[name] = amp
        scalar = {"int": Scalar("int32"), "float": Scalar("float32"), "bool": Scalar("bool")}

        def of_python(name: str) -> Any:
            own = getattr(builtins, name)

            def call(x: Any = 0) -> Any:
                return scalar[name](x) if isinstance(x, Num) else own(x)

            call.dtype = np.dtype({"int": "int32", "float": "float32", "bool": "bool"}[name])  # type: ignore[attr-defined]
            return call

        names |= {n: of_python(n) for n in scalar}
        names |= {
            "math": space, "np": _Numpy(scalars), "numpy": _Numpy(scalars), "range": _range, "print": _nothing,
            "enumerate": enumerated,
            "any": lambda values: truth(any(values)), "all": lambda values: truth(all(values)),
            "__enter__": self.enter, "__param__": self.param, "__set__": self.set, "__sets__": self.sets,
            "__ret__": self.result, "__choose__": self.choose, "__and__": self.both, "__or__": self.either,
            "__not__": lambda x: (not x) if isinstance(x, (bool, int, float)) else truth(not x),
            "__bool__": lambda x: x if isinstance(x, Num) else truth(x),
            "__annotated__": _annotated, "__tick__": self.tick, "__shl__": _shifted,
            "__exchange__": self.exchange, "__unknown__": _unknown,
        }  # fmt: skip
        return names


def _nothing(*given: Any, **named: Any) -> None:
    del given, named


def _shifted(a: Any, b: Any) -> Any:
    """``a << b``; of two literals only where the result is no giant."""
    if not isinstance(a, Num) and isinstance(b, int) and not 0 <= b <= 64:
        raise UndefinedError("a shift by too much")
    return a << b


def _unknown() -> Any:
    raise UnknownError("an assignment inside a condition")


def _signature(x: Any) -> Any:
    if isinstance(x, (Num, bool, int, float)):
        return kind_of(x)
    if isinstance(x, Vec):
        return (x.k, len(x.v))
    if isinstance(x, Record):
        return str(x.cell.dtype)
    if isinstance(x, Memory):
        return (str(x.array.dtype), x.array.ndim)
    return type(x).__name__ if not callable(x) else id(x)


def _joined(parts: tuple[Callable[[], Any], ...], stop: bool) -> Any:
    """The operand that decides; a literal takes the type of the other operand."""
    seen: Any = None
    for part in parts:
        value = part()
        if isinstance(value, Num) and seen is None:
            seen = value
        if bool(value) == stop or part is parts[-1]:
            if seen is not None and not isinstance(value, Num) and isinstance(value, (bool, int, float)):
                k = common(seen, value)
                return truth(bool(value)) if k == "bool" or kind_of(seen) == "bool" else Num(k, convert(value, k))
            return value
    raise AssertionError


def _annotated(kind: Any, value: Any) -> Any:
    if isinstance(kind, Scalar):
        return Num(kind.name, convert(value, kind.name))
    return value


def _uniform(x: Any) -> Any:
    return x


def _c_division(op: str, a: Any, b: Any) -> Any:
    if not isinstance(a, Num) and not isinstance(b, Num):
        return integers(op, "int32", a, b)
    k = common(a, b)
    return Num(k, integers(op, k, convert(a, k), convert(b, k)))


def _range(*given: Any) -> Any:
    found = given[0]
    for other in given[1:]:
        found = Num(common(found, other), 0)
    k = "int32" if kind_of(found) == "bool" else kind_of(found)
    bounds = [convert(g, k) for g in given]
    if len(bounds) == 3 and bounds[2] == 0:
        return ()
    return _Range(k, builtins.range(*bounds))


class _Range:
    """The numbers of a ``range``, all of one type."""

    def __init__(self, k: str, numbers: Any) -> None:
        self.k, self.numbers = k, numbers

    def __iter__(self) -> Any:
        return (Num(self.k, v) for v in self.numbers)

    def __reversed__(self) -> Any:
        return (Num(self.k, v) for v in builtins.reversed(self.numbers))

    def __len__(self) -> int:
        return len(self.numbers)


def _static_range(*given: Any) -> Any:
    return builtins.range(*(int(raw_of(g)) for g in given))


def _index(what: str, *given: Any) -> Idx:
    return Idx(as_items(given[0] if len(given) == 1 else tuple(given)), what)


def private(shape: Any, dtype: Any) -> Memory:
    """An array of a thread."""
    kind = np.dtype(getattr(dtype, "dtype", dtype))
    items = as_items(shape)
    made = np.zeros(tuple(items), kind)
    made.reshape(-1).view(np.uint8)[...] = 0xA5
    return Memory(made)


def _atomic(row: Any) -> Callable[..., Any]:
    def call(place: Any, *given: Any) -> Any:
        if place.place is None:
            raise UnknownError("an atomic on a value")
        # Changes by the arguments are visible.
        old, k = at_place(place.place).v, place.k
        args = [convert(g, k) for g in given]
        if k in FLOATS:
            new = float(np.float32(row.apply(np.float32(old), *map(np.float32, args))))
        else:
            new = cast(k, int(row.apply(old, *args)), "int64")
        set_place(place.place, Num(k, new))
        return Num(k, old)

    return call


def _decorator(function: Any = None, **options: Any) -> Any:
    del options
    return function if function is not None else lambda f: f


class _Struct:
    """A class under ``@amp.struct``."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.fields = list(cls.__annotations__.items())
        self.dtype = aligned((n, _field(kind)) for n, kind in self.fields)
        self.defaults = {n: vars(cls)[n] for n, _ in self.fields if n in vars(cls)}
        for name in self.defaults:
            delattr(cls, name)
        CLASSES[self.dtype] = cls

    def __call__(self, *given: Any, **named: Any) -> Record:
        named |= {n: g for (n, _), g in zip(self.fields, given, strict=False)}
        made = Record(np.zeros((), self.dtype))
        for name, _ in self.fields:
            if name in named:
                setattr(made, name, named[name])
            elif name in self.defaults:
                setattr(made, name, self.defaults[name])
        return made


def _field(kind: Any) -> Any:
    base, shape = kind if isinstance(kind, tuple) else (kind, ())
    return np.dtype((np.dtype(getattr(base, "dtype", base)), shape))


def _struct(cls: type) -> Any:
    return _Struct(cls)


class _Numpy:
    """numpy, whose scalar types are casts."""

    def __init__(self, scalars: dict[str, Scalar]) -> None:
        self.scalars = scalars

    def __getattr__(self, name: str) -> Any:
        return self.scalars[name] if name in self.scalars else getattr(np, name)
