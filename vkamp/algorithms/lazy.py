"""Inputs that are computed where an algorithm reads them, and need no memory.

A lazy input has an ``extent`` and a device method ``value(i)``. Every algorithm accepts one in place of a container.
Lazy inputs replace the fancy iterators of Thrust and CUB (``transform_iterator``, ``counting_iterator``,
``permutation_iterator``).
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Iterator
from types import FunctionType
from types import MemberDescriptorType as _Slot
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar
from vkamp.dispatch.call_cache import uncounted
from vkamp.lang.strided import is_aligned
from vkamp.tracebacks import entry_point

__all__ = ["Lazy", "arange", "constant", "discard", "flip", "map", "take", "zip"]


class Lazy:
    """An input of an algorithm: ``extent`` elements; ``value(i)`` computes one of them in a kernel.

    To write your own, derive from this class and define ``__slots__`` (or members that a kernel can use: numbers,
    containers, functions, other lazy inputs) and an ``@amp.func`` method ``value``.
    """

    __slots__ = ("extent",)
    value: Any
    #: Whether ``value(i)`` depends on the elements of its inputs at ``i`` only.  Then the target of an algorithm may be
    #: one of them.
    is_elementwise = False

    def __init__(self, extent: Any) -> None:
        # Not through the constructor, which takes three times as long for a copy.
        self.extent = extent._same() if type(extent) is amp.extent else amp.extent(extent)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("a lazy input has no memory: np.asarray(alg.copy(a)) computes its elements")

    def containers(self) -> list[Any]:
        """The containers that the input reads. They determine where an algorithm runs."""
        found = []
        for member in self._members():
            if isinstance(member, Lazy):
                found += member.containers()
            elif isinstance(member, (amp.array, amp.array_view)):
                found.append(member)
        return found

    def read_elsewhere(self) -> list[Any]:
        """The containers whose elements may be read to compute an element at another position."""
        if not self.is_elementwise:
            return self.containers()
        return [each for member in self._members() if isinstance(member, Lazy) for each in member.read_elsewhere()]

    def _members(self) -> Iterator[Any]:
        slots = (name for cls in type(self).__mro__ for name, each in vars(cls).items() if type(each) is _Slot)
        for name in (*slots, *getattr(self, "__dict__", ())):
            yield getattr(self, name, None)

    def moved(self) -> Lazy | None:
        """The input whose elements these are, at other positions; ``None`` if they are computed."""
        return None

    def row(self) -> Lazy | None:
        """The same elements with one row-major index if this needs no divisions; else ``None``."""
        return self if self.extent.rank == 1 else None

    def flat(self) -> Lazy:
        """The same elements with one row-major index."""
        return self.row() or _Flat(self)

    @amp.func
    def four(self, k: Any) -> Any:
        """The elements ``4 * k`` to ``4 * k + 3`` of an input with one index."""
        return self.value(4 * k), self.value(4 * k + 1), self.value(4 * k + 2), self.value(4 * k + 3)


#: The vector of four elements.
_VECTORS = {np.dtype(np.float32): amp.float4, np.dtype(np.int32): amp.int4, np.dtype(np.uint32): amp.uint4}


def vector_of(dtype: np.dtype[Any]) -> Any:
    """The vector of four elements of a type; None if there is none."""
    return _VECTORS.get(dtype)


class Elements(Lazy):
    """The elements of a container."""

    __slots__ = ("values",)
    is_elementwise = True

    def __init__(self, values: Any) -> None:
        self.extent = values.extent  # a copy
        self.values = values

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index."""
        return self.values[i]

    def row(self) -> Lazy | None:
        try:
            row = self.values if self.extent.rank == 1 else self.values.reshape(-1)
        except amp.AmpError:
            return None
        quads = quads_of(row)
        return Elements(row) if quads is None else _InQuads(row, quads)


#: The results of :func:`quads_of`: a second launch with the same view is a repeated launch.
_quads: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def quads_of(row: Any) -> Any:
    """The elements of a container with one index as groups of four, without the incomplete last group; ``None`` if
    it has gaps, or begins in the middle of a group: each launch would work on a copy.
    """
    vector = _VECTORS.get(row.dtype)
    if vector is None or row.extent[0] < 4:
        return None
    known = _quads.get(row)
    if known is not None:
        return known
    if not is_aligned(row, 4):
        return None
    try:
        whole = row if row.extent[0] % 4 == 0 else amp.array_view(row, readonly=row.readonly)[: row.extent[0] // 4 * 4]
        found = _quads[row] = uncounted(whole.reinterpret_as(vector))
        return found
    except amp.AmpError:
        return None


def has_quads(source: Lazy) -> bool:
    """Whether a source loads four elements at a time."""
    return isinstance(source, _InQuads)


class _InQuads(Elements):
    """The elements of a container without gaps, which are loaded four at a time."""

    __slots__ = ("quads",)

    def __init__(self, values: Any, quads: Any) -> None:
        super().__init__(values)
        self.quads = quads

    def containers(self) -> list[Any]:
        return [self.values]

    def row(self) -> Lazy:
        return self

    @amp.func
    def four(self, k: Any) -> Any:
        """The elements ``4 * k`` to ``4 * k + 3``."""
        v = self.quads[k]
        return v.x, v.y, v.z, v.w


class _Flat(Lazy):
    """The elements of an input of several dimensions, with one index."""

    __slots__ = ("inner", "shape")
    is_elementwise = True

    def __init__(self, inner: Lazy) -> None:
        super().__init__(int(inner.extent.size()))
        self.inner = inner
        self.shape = amp.extent(inner.extent)

    def moved(self) -> Lazy:
        return self.inner

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at a row-major position."""
        at = self.shape * 0
        rest = i
        for k in amp.static_range(self.shape.rank):
            at[self.shape.rank - 1 - k] = rest % self.shape[self.shape.rank - 1 - k]
            rest = rest // self.shape[self.shape.rank - 1 - k]
        return self.inner.value(amp.index(at))


class _Map1(Lazy):
    __slots__ = ("a", "f")
    is_elementwise = True

    def __init__(self, f: Any, a: Lazy) -> None:
        super().__init__(a.extent)
        self.f, self.a = f, a

    @amp.func
    def value(self, i: Any) -> Any:
        """The function's value at an index."""
        return self.f(self.a.value(i))

    @amp.func
    def four(self, k: Any) -> Any:
        """The function's values of four elements."""
        x, y, z, w = self.a.four(k)
        return self.f(x), self.f(y), self.f(z), self.f(w)

    def row(self) -> Lazy | None:
        a = self.a.row()
        return None if a is None else _Map1(self.f, a)

    def flat(self) -> Lazy:
        return _Map1(self.f, self.a.flat())


class Conditions(Lazy):
    """Conditions as the numbers 0 and 1, in the type in which arrays have them."""

    __slots__ = ("inner",)
    is_elementwise = True

    def __init__(self, inner: Lazy) -> None:
        super().__init__(inner.extent)
        self.inner = inner

    @amp.func
    def value(self, i: Any) -> Any:
        """The number at an index."""
        return 1 if self.inner.value(i) else 0

    def row(self) -> Lazy | None:
        inner = self.inner.row()
        return None if inner is None else Conditions(inner)

    def flat(self) -> Lazy:
        return Conditions(self.inner.flat())


def numbered(a: Any) -> Any:
    """An input; one of conditions as numbers."""
    is_one = isinstance(a, Lazy) and not isinstance(a, Elements) and dtype_of(a) == np.bool_
    return Conditions(a) if is_one else a


def has_conditions(a: Any) -> bool:
    """Whether the elements of an input are conditions: those of an array of bool are stored as uint8."""
    return isinstance(a, Conditions) or (isinstance(a, np.ndarray) and a.dtype == np.bool_)


def parts(source: Lazy) -> tuple[Lazy, Any]:
    """A source and the function of its elements that gives those of ``source``, for kernels that load several elements
    before they compute anything."""
    return (source.a, source.f) if isinstance(source, _Map1) else (source, functional.identity)


class _Map2(Lazy):
    __slots__ = ("a", "b", "f")
    is_elementwise = True

    def __init__(self, f: Any, a: Lazy, b: Lazy) -> None:
        super().__init__(a.extent)
        self.f, self.a, self.b = f, a, b

    @amp.func
    def value(self, i: Any) -> Any:
        """The function's value at an index."""
        return self.f(self.a.value(i), self.b.value(i))

    @amp.func
    def four(self, k: Any) -> Any:
        """The function's values of four pairs of elements."""
        x, y, z, w = self.a.four(k)
        p, q, r, s = self.b.four(k)
        return self.f(x, p), self.f(y, q), self.f(z, r), self.f(w, s)

    def row(self) -> Lazy | None:
        a, b = self.a.row(), self.b.row()
        return None if a is None or b is None else _Map2(self.f, a, b)

    def flat(self) -> Lazy:
        return _Map2(self.f, self.a.flat(), self.b.flat())


class _Map3(Lazy):
    __slots__ = ("a", "b", "c", "f")
    is_elementwise = True

    def __init__(self, f: Any, a: Lazy, b: Lazy, c: Lazy) -> None:
        super().__init__(a.extent)
        self.f, self.a, self.b, self.c = f, a, b, c

    @amp.func
    def value(self, i: Any) -> Any:
        """The function's value at an index."""
        return self.f(self.a.value(i), self.b.value(i), self.c.value(i))

    def flat(self) -> Lazy:
        return _Map3(self.f, self.a.flat(), self.b.flat(), self.c.flat())


_MAPS = {1: _Map1, 2: _Map2, 3: _Map3}


class At(Lazy):
    """``f(values, i)`` of an input: for functions of several elements, or of the index."""

    __slots__ = ("f", "values")

    def __init__(self, f: Any, values: Lazy, extent: Any = None) -> None:
        super().__init__(values.extent if extent is None else extent)
        self.f, self.values = f, values

    @amp.func
    def value(self, i: Any) -> Any:
        """The function's value at an index."""
        return self.f(self.values, i)


class _Arange(Lazy):
    __slots__ = ("start", "step")

    def __init__(self, n: int, start: Any, step: Any) -> None:
        super().__init__(n)
        self.start, self.step = start, step

    @amp.func
    def value(self, i: Any) -> Any:
        """A number of the progression."""
        return self.start + self.step * i


class _Constant(Lazy):
    __slots__ = ("number",)

    def __init__(self, number: Any, extent: Any) -> None:
        super().__init__(extent)
        self.number = number

    @amp.func
    def value(self, i: Any) -> Any:
        """The number."""
        return self.number

    def flat(self) -> Lazy:
        return type(self)(self.number, int(self.extent.size()))


class _Everywhere(_Constant):
    """An input that repeats one number, which is on the device."""

    __slots__ = ()

    def moved(self) -> Lazy:
        return Elements(self.number)

    @amp.func
    def value(self, i: Any) -> Any:
        """The number."""
        return self.number[0]


class _Take(Lazy):
    __slots__ = ("at", "values")

    def __init__(self, values: Lazy, at: Lazy) -> None:
        super().__init__(at.extent)
        self.values, self.at = values, at

    def moved(self) -> Lazy:
        return self.values

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at the position that the input has here."""
        return self.values.value(self.at.value(i))

    def flat(self) -> Lazy:
        return _Take(self.values, self.at.flat())


class _Flip(Lazy):
    __slots__ = ("last", "values")

    def __init__(self, values: Lazy) -> None:
        super().__init__(values.extent)
        self.values, self.last = values, values.extent[0] - 1

    def moved(self) -> Lazy:
        return self.values

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at the mirrored position."""
        return self.values.value(self.last - i)


@amp.func
def value_of(source: Any, i: Any) -> Any:
    """The element at an index."""
    return source.value(i)


def dtype_of(source: Lazy) -> np.dtype[Any]:
    """The type of a source's elements; for a computed source, the type of its results."""
    while (inner := source.moved()) is not None:
        source = inner
    if isinstance(source, Conditions):
        return np.dtype(np.uint8)
    if isinstance(source, Elements):
        stored: np.dtype[Any] = source.values.dtype
        return stored
    if isinstance(source, (_Zip2, _Zip3)):
        # `result_type` would load the compiler for a struct.
        return np.dtype(source.pair)
    at = np.int32(0) if source.extent.rank == 1 else amp.index(*[0] * source.extent.rank)
    found: np.dtype[Any] = amp.result_type(value_of, source, at)
    return found


def computed_type(source: Lazy) -> np.dtype[Any]:
    """The type in which a kernel computes with an element: int32 for small integers."""
    return computed_as(dtype_of(source))


def computed_as(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which a kernel computes with an element of a type in memory."""
    if is_float_of_memory(dtype):
        return np.dtype(np.float32)
    return np.dtype(np.int32) if dtype.kind in "iub" and dtype.itemsize < 4 else dtype


def reads_as(number: device_scalar, dtype: np.dtype[Any]) -> bool:
    """Whether a kernel that reads the number gets a value of this type."""
    return number.dtype == number.view.dtype and dtype in (number.dtype, computed_as(number.dtype))


def is_float_of_memory(dtype: np.dtype[Any]) -> bool:
    """Whether a type is a float that numpy lacks; kernels compute with it in float32."""
    return dtype.isbuiltin == 2


@functools.cache
def pair_of(first: np.dtype[Any], second: np.dtype[Any], third: np.dtype[Any] | None = None) -> Any:
    """The struct of two or three elements, with the members ``first``, ``second`` and ``third``."""
    members = {"first": first, "second": second} | ({} if third is None else {"third": third})
    name = "pair" if third is None else "triple"
    return amp.struct(type(name, (), {"__annotations__": members, "__doc__": "Elements of several inputs."}))


class _Zip2(Lazy):
    __slots__ = ("a", "b", "pair")
    is_elementwise = True

    def __init__(self, pair: Any, a: Lazy, b: Lazy) -> None:
        super().__init__(a.extent)
        self.pair, self.a, self.b = pair, a, b

    @amp.func
    def value(self, i: Any) -> Any:
        """The elements of both inputs."""
        return self.pair(self.a.value(i), self.b.value(i))

    def flat(self) -> Lazy:
        return _Zip2(self.pair, self.a.flat(), self.b.flat())


class _Zip3(Lazy):
    __slots__ = ("a", "b", "c", "pair")
    is_elementwise = True

    def __init__(self, pair: Any, a: Lazy, b: Lazy, c: Lazy) -> None:
        super().__init__(a.extent)
        self.pair, self.a, self.b, self.c = pair, a, b, c

    @amp.func
    def value(self, i: Any) -> Any:
        """The elements of the three inputs."""
        return self.pair(self.a.value(i), self.b.value(i), self.c.value(i))

    def flat(self) -> Lazy:
        return _Zip3(self.pair, self.a.flat(), self.b.flat(), self.c.flat())


class _Discard:
    """Marks results that are not needed."""

    __slots__ = ()
    _vkamp_members = ()

    def __repr__(self) -> str:
        return "lazy.discard"


#: As ``out=``, or as one of several targets: the elements are not needed.  Selections then compute only their counts.
#: Other functions, which cannot leave a result out, store it in memory that they release.
discard = _Discard()


def of(a: Any) -> Lazy:
    """An input as a lazy one: a container, an object that exports its memory by a protocol (numpy, DLPack), or a
    lazy input.

    TypeError for anything else; AmpError for an empty input.
    """
    if isinstance(a, Lazy):
        if 0 in tuple(a.extent):
            raise amp.AmpError(f"a lazy input of {a.extent!r} has no elements")
        return a
    if isinstance(a, (amp.array, amp.array_view)):
        return Elements(a)
    if isinstance(a, (list, tuple, int, float, complex, str)) or a is None:
        advice = ": write np.array(..., dtype)" if isinstance(a, (list, tuple)) else ""
        if isinstance(a, (int, float, complex)):
            advice = ": use the number in the function, or lazy.constant(number, extent)"
        raise TypeError(f"an algorithm takes containers, numpy arrays and lazy inputs, not {type(a).__name__}{advice}")
    if isinstance(a, np.ndarray) and a.dtype == np.bool_:
        a = a.view(np.uint8)
    # Of an object with DLPack alone, numpy would make an array of objects.
    is_number = (hasattr(a, "ndim") or hasattr(a, "__array__")) and np.ndim(a) == 0
    return Elements(amp.array_view(np.ascontiguousarray(a) if is_number else a, readonly=True))


def _input(a: Any) -> Lazy:
    """An input of a lazy input, which may have no elements. For a ``counted``, this waits for the count."""
    if isinstance(a, Lazy):
        return a
    if isinstance(a, counted):
        return of(a.trim()) if len(a) else _Take(of(a.values), _Arange(0, 0, 1))
    if isinstance(a, np.ndarray) and a.size == 0:
        # Containers have at least one element, so this repeats one, which nothing reads.
        return _Take(of(np.zeros(1, a.dtype)), _Constant(0, a.shape))
    return of(a)


def function_of(f: Any) -> Any:
    """A function for kernels: of an object whose class has a plain method ``__call__``, this method."""
    if type(f) is FunctionType:
        return f
    method = inspect.getattr_static(type(f), "__call__", None)
    is_plain = isinstance(method, FunctionType) and not type(f).__module__.startswith("vkamp.")
    return f.__call__ if is_plain else f


def map(f: Any, *inputs: Any) -> Lazy:
    """``f`` of the elements of one to three inputs of the same extent."""
    if len(inputs) == 1:
        return _Map1(function_of(f), _input(inputs[0]))
    if len(inputs) not in _MAPS:
        raise TypeError(f"map takes one to three inputs, not {len(inputs)}")
    sources = _alike(inputs)
    made: Lazy = _MAPS[len(sources)](function_of(f), *sources)
    return made


def _alike(inputs: tuple[Any, ...]) -> list[Lazy]:
    sources = [_input(a) for a in inputs]
    for other in sources[1:]:
        if other.extent != sources[0].extent:
            raise amp.AmpError(f"the inputs have different extents: {sources[0].extent!r} and {other.extent!r}")
    return sources


def zip(*inputs: Any) -> Lazy:
    """Structs of the elements of two or three inputs of the same extent: ``first``, ``second``, and ``third``."""
    if len(inputs) not in (2, 3):
        raise TypeError(f"zip takes two or three inputs, not {len(inputs)}")
    sources = _alike(inputs)
    pair = pair_of(*(computed_type(each) for each in sources))
    return (_Zip2 if len(inputs) == 2 else _Zip3)(pair, *sources)


def arange(n: int, start: Any = 0, step: Any = 1) -> Lazy:
    """``start + step * i`` for ``n`` elements."""
    return _Arange(n, start, step)


def constant(number: Any, extent: Any) -> Lazy:
    """An input that repeats one number, also that of a ``device_scalar``, for which nothing waits."""
    return _Everywhere(number.view, extent) if isinstance(number, device_scalar) else _Constant(number, extent)


def take(values: Any, at: Any) -> Lazy:
    """``values[at[i]]``; ``values`` has one dimension, and negative positions count from its end."""
    source = _input(values)
    if source.extent.rank != 1:
        raise TypeError(f"take needs values of rank 1, not {source.extent!r}: the function take has axis=")
    places = positions(at)
    if source.extent[0] == 0 and 0 not in tuple(places.extent):
        raise IndexError("positions of an empty input do not exist")
    return _Take(source, from_start(places, source.extent[0]))


def positions(at: Any) -> Lazy:
    """Positions as a lazy input; TypeError unless they are integers."""
    source = _input(at)
    dtype = np.dtype(np.bool_) if has_conditions(at) else dtype_of(source)
    if dtype.kind not in "iu":
        advice = ": select(a, flags=...) takes conditions" if dtype.kind == "b" else ""
        raise TypeError(f"positions are integers, not {dtype}{advice}")
    return source


class _FromStart:
    """A position of ``n``; a negative one counts from the end."""

    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n

    @amp.func
    def __call__(self, at: Any) -> Any:
        return at if at >= 0 else at + self.n


def from_start(at: Lazy, n: int) -> Lazy:
    """Positions in a row of ``n`` elements, of which negative ones count from its end, counted from its start."""
    return map(_FromStart(n), at)


def flip(values: Any) -> Lazy:
    """The elements of an input of one dimension in reverse order."""
    source = _input(values)
    if source.extent.rank != 1:
        raise TypeError(f"flip needs rank 1, not {source.extent!r}")
    return _Flip(source)


for _name in __all__:
    if isinstance(globals()[_name], FunctionType):
        globals()[_name] = entry_point(globals()[_name])
