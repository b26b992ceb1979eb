"""``parallel_for_each``: from a launch to work on a device.

The compiler behind it is loaded by the first launch, or while the first device opens; not by ``import vkamp``.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from vkamp.dispatch.capturing import Graph as Graph
from vkamp.dispatch.capturing import capture as capture
from vkamp.dispatch.reference import ReferenceEngine as ReferenceEngine
from vkamp.dispatch.reference_controls import follow as follow
from vkamp.dispatch.reference_controls import reference_schedule as reference_schedule
from vkamp.dispatch.reference_controls import reference_subgroups as reference_subgroups
from vkamp.errors import AmpError
from vkamp.run.lifetime import before_open
from vkamp.tracebacks import entry_point

if TYPE_CHECKING:
    import numpy as np

    from vkamp.dispatch.inspection import Inspection
    from vkamp.findings import Report
    from vkamp.lang.kernel import KernelFunction


@overload
def parallel_for_each(domain: Any, /) -> Callable[[Callable[..., Any]], None]: ...
@overload
def parallel_for_each(first: Any, second: Any, /, *args: Any, **constants: Any) -> Any: ...
@entry_point
def parallel_for_each(*args: Any, **constants: Any) -> Any:
    """Runs a kernel once for every index of a domain (AMP: ``parallel_for_each``).

    ``parallel_for_each([accelerator_view,] domain, kernel, *args, **constants)``; the domain is an ``extent``, a
    ``tiled_extent`` or an ``indirect``.  Without a kernel it is a decorator whose function captures containers by
    reference and numbers by value and runs at once.  The launch is asynchronous: host accesses to what it writes wait
    for it.

    Raises ``InvalidComputeDomainError`` for a domain that cannot run, then ``CompileError`` for a wrong kernel and
    ``UnsupportedFeatureError`` for what the device lacks, before any effect; ``AmpError`` for containers of several
    accelerator_views; ``OutOfMemoryError``.
    """
    return (_launching or _launches().parallel_for_each)(args, constants)


_launching: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None


def _launches() -> Any:
    """:mod:`vkamp.dispatch.launch`, loaded by the first launch; noted, since an import statement takes time, too."""
    global _launching
    from vkamp.dispatch import launch

    _launching = launch.parallel_for_each
    return launch


_loading: threading.Thread | None = None


def _begin_loading() -> None:
    """Has a thread load what the first launch needs, while a driver opens the first device, for which it needs no
    Python.
    """
    global _loading
    if _loading is None:
        _loading = threading.Thread(target=_load, name="vkamp loads", daemon=True)
        with contextlib.suppress(RuntimeError):  # The interpreter starts no threads while it shuts down.
            _loading.start()


def _load() -> None:
    with contextlib.suppress(AmpError):  # The first launch raises it.
        _launches().load_early()


def _finish_loading() -> None:
    """Waits for that thread before a fork: no thread of the child would finish the modules that it loads."""
    if _loading is not None and _loading.is_alive() and _loading is not threading.current_thread():
        _loading.join()


before_open.append(_begin_loading)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_loading)


@overload
def check(domain: Any, /) -> Callable[[Callable[..., Any]], Report]: ...
@overload
def check(first: Any, second: Any, /, *args: Any, **constants: Any) -> Report: ...
@entry_point
def check(*args: Any, **constants: Any) -> Any:
    """Runs a launch once, checked, and reports what is wrong in it; the arguments are ``parallel_for_each``'s.

    ``check([accelerator_view,] domain, kernel, *args, **constants)``, or as a decorator of a plain function, whose name
    then stands for the report.  The launch has its effects on the containers, except that a store out of bounds is left
    out and a load there gives 0; it has ended when the call returns.

    The report has ``ok``, ``findings`` (each once, with the first threads that did it) and ``not_covered``.  Found are
    indices out of bounds, data races in a tile and between tiles, reads of tile_static and private memory that nothing
    wrote, integer divisions by zero, shifts and conversions out of range, failed assertions, and wrong assertions of
    ``amp.uniform``.  Raises what the launch would raise, nothing for what it finds.
    """
    return _launches().on_demand().check(args, constants)


@entry_point
def inspect_kernel(domain: Any, kernel: KernelFunction, *args: Any, **constants: Any) -> Inspection:
    """Implements ``kernel.inspect(domain, *args, **constants)``."""
    made: Inspection = _launches().on_demand().inspect_kernel(kernel, (domain, *args), constants)
    return made


def block_uses(kernel: KernelFunction, args: tuple[Any, ...], constants: dict[str, Any], rows: dict[str, int]) -> Any:
    """What a launch by blocks of rows does with its containers: ``vkamp.dispatch.inspection.BlockUses``."""
    return _launches().on_demand().block_uses(kernel, args, constants, rows)


@entry_point
def result_type(function: Any, *arguments: Any) -> np.dtype[Any]:
    """The dtype of what a device function returns for arguments like these; nothing runs.

    ``function`` is an ``@amp.func`` function.  There are up to four arguments: those of a launch (numbers, containers,
    objects), or dtypes, each for a value of that type.  A small integer is int32, as kernels compute.

    Raises ``CompileError`` where a kernel could not call the function with these arguments, or where it does not return
    one number, vector or struct.
    """
    found: np.dtype[Any] = _launches().result_type(function, arguments)
    return found


@entry_point
def use_shaders(path: str | os.PathLike[str] | None) -> None:
    """From the next launch on, the hand-edited shaders of the folder ``path`` run in place of the generated ones.

    ``None``: none do.  Without a call it is the folder that the environment variable ``VKAMP_SHADERS`` names
    (``0``: none), else ``shaders/`` of the project in which the process runs.  Launches use a changed file a tenth of a
    second later; a call of this function makes the next launch use it.

    Raises ``FileNotFoundError`` if there is no such folder; launches raise ``ShaderEditError`` for an edited shader
    that does not compile or does not fit its kernel.
    """
    use_folder = _launches().use_folder
    if path is None:
        use_folder(None)
        return
    folder = Path(path).absolute()
    if not folder.is_dir():
        raise FileNotFoundError(f"use_shaders: {folder} is not a folder")
    use_folder(folder)
