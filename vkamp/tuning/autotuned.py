"""``amp.autotune``: a function with parameters that a search has chosen for the device.

A call never searches. It uses the stored result of a search on this device, else the table that comes with vkamp for
the kind of device, else the default.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.errors import AmpError
from vkamp.lang.container import Container
from vkamp.lang.kernel import KernelFunction
from vkamp.run.accelerators import info_of
from vkamp.tracebacks import entry_point, forwards
from vkamp.tuning import tables
from vkamp.tuning.identity import identity_of, key_text, name_of
from vkamp.tuning.space import Parameters, Space, shape_of, size_class, values_of
from vkamp.tuning.store import Store

_MODES = ("off", "cached", "on")
#: The number of keys of a function whose parameters are cached.
_MAX_CHOSEN = 1024

#: All tuned functions by name, in the order in which they were made.
registry: dict[str, Autotuned] = {}
#: For a thread or task: the candidate that a search forces, and the calls that it records.
_forced: ContextVar[tuple[Autotuned, Parameters] | None] = ContextVar("vkamp_forced_parameters", default=None)
_noted: ContextVar[list[TunedCall] | None] = ContextVar("vkamp_tuned_calls", default=None)


class TuningWarning(UserWarning):
    """A stored result or a table that cannot be used."""


class _ResultCount:
    """A counter that changes with every result that this process stores: chosen parameters are then looked up again."""

    generation = 0


class TunedCall:
    """A call of a tuned function, which a search repeats."""

    def __init__(self, tuned: Autotuned, view: amp.accelerator_view, args: tuple[Any, ...], named: dict[str, Any]):
        self.tuned, self.view, self.args, self.named = tuned, view, args, named
        self.key = key_text(tuned.key(*args, **named))


@entry_point
class Autotuned:
    """A function whose parameters are chosen for the device; made by ``amp.autotune``.

    If a call passes one of the parameters, nothing is looked up: those that it leaves out come from ``default``.
    """

    def __init__(self, function: Any, space: Space, key: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.function = function
        self.space = space
        self.key = key
        self.options = options
        self.is_kernel = isinstance(function, KernelFunction)
        self._chosen: dict[Any, tuple[int, Parameters]] = {}
        self._identity: str | None = None
        self._warned: set[str] = set()
        functools.update_wrapper(self, function)
        self.name = name_of(function)
        registry[self.name] = self

    @property
    def identity(self) -> str:
        """The identity of the function in the store."""
        if self._identity is None:
            self._identity = identity_of(self.function, self.space.description)
        return self._identity

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not self.space.values.keys().isdisjoint(named):
            return self.run(self._given(args, named), args, self._rest(named))
        return self.run(self.chosen(*args, **named), args, named)

    def _given(self, args: Sequence[Any], named: dict[str, Any]) -> Parameters:
        rest = self._rest(named)
        return Parameters(
            {**values_of(self.default(*args, **rest)), **{n: v for n, v in named.items() if n not in rest}}
        )

    def _rest(self, named: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in named.items() if name not in self.space.values}

    def run(self, parameters: Parameters, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Runs one call with given parameters."""
        given = {name: parameters[name] for name in self.space.values}
        if not self.is_kernel:
            return _call(self.function, args, {**named, **given})
        view, domain, rest = _launch_of(self.__name__, args)
        if "tile" in given:
            tile = given.pop("tile")
            sizes = tile if isinstance(tile, tuple) else (tile,)
            domain = amp.extent(*domain).tile(*sizes).pad()
        return amp.parallel_for_each(view, domain, self.function, *rest, **named, **given)

    def default(self, *args: Any, **named: Any) -> Parameters:
        """The parameters of a call without a search: ``default``, which may be a function of the call."""
        made = self.options["default"]
        if not callable(made):
            return self.space.default
        return self.space.checked(made(*args, **named), "default")

    def view_of(self, args: Sequence[Any], named: Mapping[str, Any]) -> amp.accelerator_view:
        """Where a call runs: on the accelerator_view among its arguments, else on that of a container, else on the
        default one.
        """
        values = (*args, *named.values())
        for each in values:
            if isinstance(each, amp.accelerator_view):
                return each
            if isinstance(each, amp.accelerator):
                return each.default_view
        for each in values:
            if isinstance(each, amp.array):
                return located(each)
        return amp.accelerator().default_view

    def chosen(self, *args: Any, **named: Any) -> Parameters:
        """The parameters that a call with these arguments runs with."""
        forced = _forced.get()
        if forced is not None and forced[0] is self:
            return forced[1]
        view = self.view_of(args, named)
        noted = _noted.get()
        if noted is not None:
            noted.append(TunedCall(self, view, args, named))
            return self.default(*args, **named)
        mode = _mode()
        if mode == "off":
            return self.default(*args, **named)
        key = view, self.key(*args, **named)
        known = self._chosen.get(key)
        if known is None or known[0] != _ResultCount.generation:
            if len(self._chosen) >= _MAX_CHOSEN:
                self._chosen.clear()
            found = self._look_up(TunedCall(self, view, args, named), mode)
            self._chosen[key] = known = _ResultCount.generation, found or self.default(*args, **named)
        return known[1]

    def _look_up(self, call: TunedCall, mode: str) -> Parameters | None:
        """The parameters that the store or a table has; with ``VKAMP_TUNE=on``, those that a search finds."""
        info = info_of(call.view)
        limits = call.view.accelerator.limits
        store = Store(info)
        entry = store.read(self.identity, call.key)
        if entry is not None and entry.get("parameters") is not None:
            found = self._read(entry.get("parameters"), limits, store.where(self.identity, call.key))
            if found is not None:
                return found
        listed = self._listed(info, call.key)
        if listed is not None:
            found = self._read(listed[1].get("parameters"), limits, listed[0])
            if found is not None:
                return found
        if mode == "on" and _searcher:
            _searcher[0](call)
            entry = store.read(self.identity, call.key) or {}
            return self._read(entry.get("parameters"), limits, store.where(self.identity, call.key)) if entry else None
        return None

    def _read(self, stored: Any, limits: Any, where: str) -> Parameters | None:
        """Stored parameters. If this function or this device cannot use them, ``None``, with one warning."""
        try:
            found = self.space.read(stored)
            if self.space.is_allowed(found, limits):
                return found
            reason = "`where` refuses them on this device"
        except ValueError as error:
            reason = str(error)
        self._warn(where, f"{where} is not used: {reason}")
        return None

    def _listed(self, info: Any, key: str) -> tuple[str, dict[str, Any]] | None:
        """The entry of a table and its file. ``None``, with one warning, if a file is not a table."""
        folder = self.options["tables"] or tables.FOLDER
        try:
            return tables.find(info, self.name, key, folder)
        except AmpError as error:
            self._warn(str(folder), str(error))
            return None

    def _warn(self, where: str, message: str) -> None:
        if where not in self._warned:
            self._warned.add(where)
            warnings.warn(f"{self.name}: {message}", TuningWarning, stacklevel=2)

    def __repr__(self) -> str:
        return f"<amp.autotune {self.__name__}: {self.space.size} candidates>"

    __name__: str


#: The function that searches for a call. The package registers it, because it uses this module.
_searcher: list[Callable[[TunedCall], Any]] = []


def set_searcher(search: Callable[[TunedCall], Any]) -> None:
    """Registers the function that ``VKAMP_TUNE=on`` calls."""
    _searcher[:] = [search]


@forwards
def _call(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    return function(*args, **named)


def _launch_of(name: str, args: Sequence[Any]) -> tuple[amp.accelerator_view, Any, Sequence[Any]]:
    if args and isinstance(args[0], (amp.accelerator_view, amp.accelerator)):
        view = args[0].default_view if isinstance(args[0], amp.accelerator) else args[0]
        args = args[1:]
    else:
        held = [located(each) for each in args if isinstance(each, amp.array)]
        view = held[0] if held else amp.accelerator().default_view
    if not args or not isinstance(args[0], amp.extent):
        raise TypeError(f"{name} is a tuned kernel: call it as {name}([accelerator_view,] amp.extent(...), ...)")
    return view, args[0], args[1:]


def located(a: amp.array) -> amp.accelerator_view:
    """The accelerator_view of an array."""
    found = a.accelerator_view
    assert isinstance(found, amp.accelerator_view)
    return found


def _mode() -> str:
    mode = os.environ.get("VKAMP_TUNE", "") or "cached"
    if mode not in _MODES:
        raise AmpError(f"VKAMP_TUNE is {mode!r}: it must be one of {', '.join(_MODES)}")
    return mode


def changed() -> None:
    """Makes calls look up their parameters again, because a result was stored."""
    _ResultCount.generation += 1


def settings() -> Any:
    """Values outside of the arguments on which calls of tuned functions depend; part of the keys of repeated calls."""
    forced, noting = _forced.get(), _noted.get()
    if forced is None and noting is None:
        return _ResultCount.generation
    return _ResultCount.generation, None if forced is None else (forced[0].name, str(forced[1])), id(noting)


@contextmanager
def forcing(tuned: Autotuned, parameters: Parameters) -> Iterator[None]:
    """Makes calls of this thread (or task) use a candidate."""
    token = _forced.set((tuned, parameters))
    try:
        yield
    finally:
        _forced.reset(token)


@contextmanager
def noting() -> Iterator[list[TunedCall]]:
    """Records the calls of tuned functions of this thread (or task), which use their defaults."""
    calls: list[TunedCall] = []
    token = _noted.set(calls)
    try:
        yield calls
    finally:
        _noted.reset(token)


def _key_by_containers(*args: Any, **named: Any) -> tuple[Any, ...]:
    """The types and the sizes of the containers, within a factor of two."""
    found = [each for each in (*args, *named.values()) if isinstance(each, (Container, np.ndarray))]
    return tuple((np.dtype(each.dtype), len(shape_of(each)), size_class(each)) for each in found)


@entry_point
def autotune(
    parameters: Mapping[str, Sequence[Any]], *,
    key: Callable[..., Any] | None = None, where: Callable[[Parameters, Any], bool] | None = None,
    default: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    reference: Callable[..., Any] | None = None, cases: Callable[..., Any] | None = None,
    tolerance: float | None = None, restore: Sequence[str] = (), tables: Any = None,
) -> Callable[[Any], Autotuned]:  # fmt: skip
    """Decorates a function, or a kernel, whose keyword parameters a search may choose.

    ``parameters``: names and the values to choose from; compile-time constants, tiles, kernels.  A kernel with a
    parameter ``tile`` is launched in tiles of that size; a tuned kernel is called, ``f([view,] extent, *args)``.
    ``key(*args, **named)``: calls with equal keys share a result; by default the containers' types and their sizes
    within a factor of two.  ``where(p, limits)``: whether a candidate may run on a device with these limits
    (``accelerator.limits``).  ``default``: the parameters without a search, or a function of the call that gives them;
    else the first values.

    For the search: ``reference(*args, **named)`` computes the right results (else the default's count as right);
    ``cases(*args, **named)`` gives further tuples of arguments to compare with (else they are made from the sizes of
    the containers); ``tolerance`` is the allowed difference of floats, as a part of the largest result; ``restore``
    names the parameters whose containers get their first contents back before each call that is timed, as a sort in
    place needs it.  ``tables``: a folder of tables in place of vkamp's.

    A call searches nothing: ``amp.tune`` and ``vkamp tune`` do.  ``VKAMP_TUNE=off`` takes defaults alone, ``on``
    searches at the first call for which nothing is known.
    """
    made = None if callable(default) else default
    space = Space(parameters, where, made)
    options = {
        "default": default, "reference": reference, "cases": cases, "tolerance": tolerance,
        "restore": tuple(restore), "tables": tables,
    }  # fmt: skip

    def decorate(function: Any) -> Autotuned:
        if not callable(function):
            raise TypeError(f"autotune decorates a function or a kernel, not {type(function).__name__}")
        return Autotuned(function, space, key or _key_by_containers, options)

    return decorate


#: Guards the searches of this process: they force parameters and measure time.
searching = threading.RLock()
