"""How kernels travel to workers.

A kernel of a module that workers can import travels by its name. A kernel of ``__main__``, of a notebook cell or of a
function travels by value, as cloudpickle sends functions: its code, the values of the globals that it uses, and its
captures, with the text of its file, which the compiler reads. A worker makes one kernel from equal bytes, so that it
compiles it once. It stores compiled kernels on disk under the text's hash.
"""

from __future__ import annotations

import functools
import hashlib
import io
import linecache
import os
import pickle
import re
import sys
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import cloudpickle

import vkamp as amp
from vkamp.front.identity import hash_of_code
from vkamp.front.source import adopt, text_of_file
from vkamp.lang.kernel import BoundKernel, DeviceFunction, KernelFunction

_PROTOCOL = 5
#: The number of received kernels that a process keeps, for bytes that it receives again.
_MOST_KERNELS = 256
_KINDS = (KernelFunction, DeviceFunction)

#: How cloudpickle represents a function's code.
_reduce_plain_code: Callable[[CodeType], tuple[Any, ...]] = cloudpickle.CloudPickler.dispatch_table[CodeType]


def register() -> None:
    """Registers with cloudpickle how kernels and the code of functions travel."""
    table = cloudpickle.CloudPickler.dispatch_table
    table[KernelFunction] = table[DeviceFunction] = _reduce
    table[CodeType] = _reduce_code_of_main


# -- kernels -------------------------------------------------------------------------------------------------------


def _goes_by_name(kernel: Any) -> bool:
    """Whether another process can find a kernel or device function in its module."""
    name = str(kernel.__module__)
    module = sys.modules.get(name)
    by_value = cloudpickle.list_registry_pickle_by_value()
    if module is None or name == "__main__" or any(name == each or name.startswith(f"{each}.") for each in by_value):
        return False
    found: Any = module
    for part in kernel.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kernel


def _reduce(kernel: Any) -> Any:
    """The form for pickle's reducers."""
    if _goes_by_name(kernel):
        return kernel.__qualname__
    return _load, _sent(kernel)


#: The bytes of the kernels that were received by value.
_came_as: weakref.WeakKeyDictionary[Any, tuple[str, bytes]] = weakref.WeakKeyDictionary()
#: The kernels made from bytes, by their hash.
_kernels: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def _sent(kernel: Any) -> tuple[str, bytes, list[Any]]:
    """A kernel as bytes, their hash, and the elements of the containers that it captures."""
    known = _came_as.get(kernel)
    if known is not None:
        return (*known, [])
    buffers: list[pickle.PickleBuffer] = []
    out = io.BytesIO()
    try:
        _Pickler(out, _PROTOCOL, buffer_callback=buffers.append).dump(kernel)
    except Exception as error:
        raise _refusal(kernel, error) from None
    data = out.getvalue()
    return hashlib.sha256(data).hexdigest(), data, buffers


def _load(digest: str, data: bytes, buffers: list[Any]) -> Any:
    """The kernel that was sent. Equal bytes give the same kernel, unless it captures containers."""
    if buffers:
        return pickle.loads(data, buffers=buffers)
    with _lock:
        found = _kernels.get(digest)
        if found is None:
            found = _kernels[digest] = pickle.loads(data)
            _came_as[found] = digest, data
            while len(_kernels) > _MOST_KERNELS:
                _kernels.popitem(last=False)
        _kernels.move_to_end(digest)
    return found


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    """Pickles one kernel with everything that it uses."""

    def reducer_override(self, obj: Any) -> Any:
        """As pickle's."""
        if isinstance(obj, _KINDS):
            if _goes_by_name(obj):
                return obj.__qualname__
            state = (obj.function, obj.options) if isinstance(obj, KernelFunction) else obj.state()
            return _new, (type(obj),), (*state, _names_of_annotations(obj.function)), None, None, _restore
        if isinstance(obj, CodeType):
            return _reduce_code(obj)
        return super().reducer_override(obj)


def _new(kind: Any) -> Any:
    return kind.__new__(kind)


def _restore(made: Any, state: tuple[Any, Any, dict[str, Any]]) -> None:
    what, options, names = state
    function = what if isinstance(made, KernelFunction) else what[0][0]
    for name, value in names.items():
        function.__globals__.setdefault(name, value)
    if isinstance(made, KernelFunction):
        KernelFunction.__init__(made, function, **options)
    else:
        made.restore(what, options)


def _names_of_annotations(function: Any) -> dict[str, Any]:
    """The globals that string annotations use: cloudpickle sends only those that the code uses."""
    texts = [each for each in function.__annotations__.values() if isinstance(each, str)]
    words = {word for text in texts for word in re.findall(r"[^\W\d]\w*", text)}
    return {word: function.__globals__[word] for word in sorted(words) if word in function.__globals__}


def token_of(kernel: Any) -> tuple[Any, ...]:
    """A kernel's token, from which Dask makes names of tasks; AmpError if it cannot be sent."""
    if isinstance(kernel, BoundKernel):
        return "bound kernel", token_of(kernel.kernel), kernel.owner
    function = kernel.function
    if _goes_by_name(kernel) and isinstance(function, FunctionType):
        return kernel.__module__, kernel.__qualname__, hash_of_code(function.__code__)
    digest, _, buffers = _sent(kernel)
    return digest, [hashlib.sha256(buffer).hexdigest() for buffer in buffers]


# -- what cannot be sent -------------------------------------------------------------------------------------------


def _refusal(kernel: Any, error: Exception) -> amp.AmpError:
    """The error for a kernel that cannot be pickled; it names what the kernel uses."""
    function = kernel.function
    where = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
    for name, value in _used(function):
        try:
            _Pickler(io.BytesIO(), _PROTOCOL, buffer_callback=lambda _: None).dump(value)
        except Exception as cause:
            return amp.AmpError(
                f"{kernel.__name__} ({where}) cannot be sent to workers, because {name}, which it uses, cannot be: "
                f"{cause}. Pass what it needs of {name} as an argument"
            )
    return amp.AmpError(f"{kernel.__name__} ({where}) cannot be sent to workers: {error}")


def _used(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals and captures of a function, by their names."""
    code = function.__code__
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


# -- source --------------------------------------------------------------------------------------------------------


def _reduce_code(code: CodeType) -> tuple[Any, ...]:
    """A function's code with the text of its file."""
    reduced = _reduce_plain_code(code)
    text = text_of_file(code)
    return reduced if text is None else (_load_code, (*reduced[:2], _packed(text), code.co_filename))


def _reduce_code_of_main(code: CodeType) -> tuple[Any, ...]:
    """A function's code with its text, if workers lack it: for the program itself, and for cells of notebooks.

    A function that is sent may define kernels, and pass functions to algorithms.
    """
    file = code.co_filename
    main = getattr(sys.modules["__main__"], "__file__", None)
    known = file == main or (bool(linecache.getlines(file)) and not os.path.exists(file))
    return _reduce_code(code) if known else _reduce_plain_code(code)


def _load_code(make: Callable[..., CodeType], arguments: tuple[Any, ...], text: bytes, file: str) -> CodeType:
    # cloudpickle 3.1 drops the file's name, which error messages show.
    return _only(adopt(make(*arguments).replace(co_filename=file), _unpacked(text)), file)


@functools.lru_cache(maxsize=1024)
def _only(code: CodeType, file: str) -> CodeType:
    """One object for equal code of one file: the compiler identifies code by the object."""
    return code


@functools.lru_cache(maxsize=64)
def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


@functools.lru_cache(maxsize=64)
def _unpacked(text: bytes) -> str:
    return zlib.decompress(text).decode("utf-8", "surrogatepass")
