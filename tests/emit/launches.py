"""Launches of shaders by an engine's queue, without containers."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp import spirv
from vkamp.artifacts import Domain, Executable, PushWord, Shader, Target
from vkamp.ir.nodes import Kernel
from vkamp.pipeline.passes import shader_of
from vkamp.run.engine import Dispatch, Queue

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """A launch of a program; arrays may be views of common memory."""

    program: str
    domain: tuple[int, ...]
    arrays: Arrays
    scalars: Mapping[str, Any]
    tolerance: float = 0.0


def _root(array: NDArray[Any]) -> NDArray[Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def cloned(arrays: Arrays) -> Arrays:
    """The same views of a copy of the memory."""
    copies = {id(_root(a)): _root(a).copy() for a in arrays.values()}
    return {
        name: np.ndarray(
            a.shape, a.dtype, copies[id(_root(a))].view(np.uint8).reshape(-1).data,
            _address(a) - _address(_root(a)), a.strides,
        )
        for name, a in arrays.items()
    }  # fmt: skip


class Launch:
    """One launch of a shader through an engine's queue."""

    def __init__(self, kernel: Kernel, case: Case, target: Target) -> None:
        self.kernel = kernel
        self.case = case
        self.target = target
        self.shader: Shader = shader_of(kernel, target)

    def word(self, word: PushWord) -> int | float:
        """The value of a launch word."""
        if word.kind == "scalar":
            value = self.case.scalars[word.name]
            return float(value) if word.type == "float32" else int(value)
        if word.kind == "domain":
            return self.case.domain[word.dim]
        if word.kind == "tiles":
            kernel = self.kernel
            return self.target.tile_counts(Domain(self.case.domain, kernel.tile))[word.dim]
        array = self.case.arrays[word.name]
        if word.kind == "extent":
            return int(array.shape[word.dim])
        if word.kind == "stride":
            return int(array.strides[word.dim]) // array.itemsize
        return (_address(array) - _address(_root(array))) // array.itemsize

    def run(self, queue: Queue, max_groups: tuple[int, int, int]) -> Arrays:
        """The arrays after the launch."""
        shader, arrays = self.shader, self.case.arrays
        memory = {id(_root(a)): self._upload(queue, _root(a)) for a in arrays.values()}
        buffers = [memory[id(_root(arrays[b.params[0]]))] for b in shader.bindings]
        writes = [b.writes for b in shader.bindings]
        formats = {"int32": "i", "uint32": "I", "float32": "f"}
        words = struct.pack("=" + "".join(formats[w.type] for w in shader.push), *map(self.word, shader.push))
        if shader.push_binding is not None:
            buffers.append(self._upload(queue, np.frombuffer(words, np.uint8)))
            writes.append(False)
            words = b""
        executable = Executable(lambda: shader, lambda: self.kernel, spirv.compile)
        groups = self.target.grid(Domain(self.case.domain, self.kernel.tile), max_groups)
        program = queue.program(executable)
        queue.enqueue(Dispatch(program, tuple(buffers), words, groups, tuple(writes)))
        results = cloned(arrays)
        for name, array in arrays.items():
            root = _root(results[name])
            data = memory[id(_root(array))].download(0, root.nbytes)
            root.view(np.uint8).reshape(-1)[:] = data
        return results

    @staticmethod
    def _upload(queue: Queue, array: NDArray[Any]) -> Any:
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        buffer = queue.allocate(data.nbytes)
        buffer.upload(0, data)
        return buffer
