"""Random work of vkamp and of a library of CUDA on the same memory, compared with numpy; and what sharing costs.

Needs an NVIDIA device, cuda-bindings, and PyTorch or CuPy:

    python -m tools.sharing --count 1000 --seed 1
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import argparse
import gc
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

#: Elements of each array: small ones expose the order of short work, large ones that of long work.
SIZES = (1_003, 300_007, 4_000_037)


@amp.kernel
def mix(idx, a, b, times):
    x = a[idx]
    for _ in range(times):
        x = x * 3 + b[idx]
    a[idx] = x


def mixed(a: NDArray[Any], b: NDArray[Any], times: int) -> None:
    for _ in range(times):
        a *= 3
        a += b


class Torch:
    """PyTorch's half of the work."""

    name = "torch"

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.streams = [self.torch.cuda.Stream() for _ in range(2)]

    def take(self, array: Any) -> Any:
        return self.torch.from_dlpack(array)

    def mix(self, a: Any, b: Any, times: int) -> None:
        for _ in range(times):
            a.mul_(3).add_(b)

    def mix_elsewhere(self, array: Any, other: Any, times: int, number: int) -> None:
        """The same on another stream, for which the arrays are exported again."""
        main, stream = self.torch.cuda.current_stream(), self.streams[number]
        stream.wait_stream(main)
        with self.torch.cuda.stream(stream):
            self.mix(self.take(array), self.take(other), times)
        main.wait_stream(stream)

    def by_interface(self, array: Any) -> Any:
        return self.torch.as_tensor(array, device="cuda")

    def read(self, a: Any) -> NDArray[Any]:
        return np.asarray(a.cpu().numpy())

    def write(self, a: Any, values: NDArray[Any]) -> None:
        a.copy_(self.torch.from_numpy(values.copy()))

    def make(self, values: NDArray[Any]) -> Any:
        return self.torch.from_numpy(values).cuda()

    def address(self, a: Any) -> int:
        return int(a.data_ptr())

    def wait(self) -> None:
        self.torch.cuda.synchronize()


class CuPy:
    """CuPy's half of the work."""

    name = "cupy"

    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")
        self.streams = [self.cupy.cuda.Stream(non_blocking=True) for _ in range(2)]

    def take(self, array: Any) -> Any:
        return self.cupy.from_dlpack(array)

    def mix(self, a: Any, b: Any, times: int) -> None:
        for _ in range(times):
            a *= 3
            a += b

    def mix_elsewhere(self, array: Any, other: Any, times: int, number: int) -> None:
        """The same on another stream, for which the arrays are exported again."""
        main, stream = self.cupy.cuda.get_current_stream(), self.streams[number]
        before = main.record()
        stream.wait_event(before)
        with stream:
            self.mix(self.take(array), self.take(other), times)
        main.wait_event(stream.record())

    def by_interface(self, array: Any) -> Any:
        return self.cupy.asarray(array)

    def read(self, a: Any) -> NDArray[Any]:
        return np.asarray(self.cupy.asnumpy(a))

    def write(self, a: Any, values: NDArray[Any]) -> None:
        a[...] = self.cupy.asarray(values)

    def make(self, values: NDArray[Any]) -> Any:
        return self.cupy.asarray(values)

    def address(self, a: Any) -> int:
        return int(a.data.ptr)

    def wait(self) -> None:
        self.cupy.cuda.Device().synchronize()


class Pair:
    """An array with the library's tensor of its memory, and what it should contain."""

    def __init__(self, library: Any, size: int, seed: int) -> None:
        self.library = library
        self.expected = np.random.default_rng(seed).integers(-9, 9, size, np.int32)
        self.array = amp.array(self.expected)
        self.tensor = library.take(self.array)

    def check(self, found: NDArray[Any], what: str) -> None:
        wrong = np.flatnonzero(found != self.expected)
        if wrong.size:
            raise AssertionError(f"{what}: {wrong.size} of {found.size} elements are wrong, the first at {wrong[0]}")


def _launch(rng: Any, one: Pair, other: Pair) -> None:
    times = int(rng.integers(1, 9))
    amp.parallel_for_each(one.array.extent, mix, one.array, other.array, times)
    mixed(one.expected, other.expected, times)


def _launch_on_the_tensor(rng: Any, one: Pair, other: Pair) -> None:
    times = int(rng.integers(1, 3))
    view = amp.from_dlpack(one.tensor)
    amp.parallel_for_each(view.extent, mix, view, other.array, times)
    mixed(one.expected, other.expected, times)


def _work(rng: Any, one: Pair, other: Pair) -> None:
    times = int(rng.integers(1, 9))
    one.library.mix(one.tensor, other.tensor, times)
    mixed(one.expected, other.expected, times)


def _work_elsewhere(rng: Any, one: Pair, other: Pair) -> None:
    times = int(rng.integers(1, 9))
    one.library.mix_elsewhere(one.array, other.array, times, int(rng.integers(2)))
    mixed(one.expected, other.expected, times)


def _work_by_interface(rng: Any, one: Pair, other: Pair) -> None:
    one.library.mix(one.library.by_interface(one.array), other.tensor, 1)
    mixed(one.expected, other.expected, 1)


def _take_again(rng: Any, one: Pair, other: Pair) -> None:
    one.tensor = one.library.take(one.array if rng.integers(2) else amp.array_view(one.array))


def _read(rng: Any, one: Pair, other: Pair) -> None:
    one.check(np.asarray(one.array), "np.asarray(array)")


def _read_a_view(rng: Any, one: Pair, other: Pair) -> None:
    one.check(np.asarray(amp.array_view(one.array)), "np.asarray(array_view)")


def _read_the_tensor(rng: Any, one: Pair, other: Pair) -> None:
    one.check(one.library.read(one.tensor), "the tensor")


def _write(rng: Any, one: Pair, other: Pair) -> None:
    one.expected[:] = rng.integers(-9, 9, one.expected.size, np.int32)
    amp.copy(one.expected, one.array)


def _write_the_tensor(rng: Any, one: Pair, other: Pair) -> None:
    one.expected[:] = rng.integers(-9, 9, one.expected.size, np.int32)
    one.library.write(one.tensor, one.expected)


STEPS: tuple[tuple[Callable[[Any, Pair, Pair], None], int], ...] = (
    (_launch, 8), (_launch_on_the_tensor, 3), (_work, 8), (_work_elsewhere, 3), (_work_by_interface, 2),
    (_take_again, 2), (_read, 1), (_read_a_view, 1), (_read_the_tensor, 1), (_write, 1), (_write_the_tensor, 1),
)  # fmt: skip


def interleave(library: Any, count: int, seed: int) -> None:
    """``count`` random steps on the arrays of each size, compared with numpy at the end and in between."""
    rng = np.random.default_rng(seed)
    weights = np.array([weight for _, weight in STEPS], float)
    done: dict[str, int] = {}
    pairs = [[Pair(library, size, seed + k) for k in range(3)] for size in SIZES]
    for _ in range(count):
        step = STEPS[rng.choice(len(STEPS), p=weights / weights.sum())][0]
        group = pairs[rng.integers(len(pairs))]
        one, other = (group[k] for k in rng.choice(len(group), 2, replace=False))
        step(rng, one, other)
        done[step.__name__] = done.get(step.__name__, 0) + 1
        if rng.integers(50) == 0:  # the memory of arrays goes to others while CUDA's work runs
            position = rng.integers(len(group))
            group[position] = Pair(library, one.expected.size, int(rng.integers(1 << 30)))
    for group in pairs:
        for pair in group:
            pair.check(np.asarray(pair.array), "at the end")
            pair.check(library.read(pair.tensor), "the tensor at the end")
    print(f"{library.name}: {count} steps are right, seed {seed}: {done}")


def moved_bytes(library: Any) -> None:
    """Fails if an export, an import or work of either side moves bytes."""
    values = np.arange(1 << 22, dtype=np.float32)
    array = amp.array(values)
    place = amp.accelerator().default_view
    place.wait()
    before = place.statistics
    tensor = library.take(array)
    library.mix(tensor, tensor, 1)
    back = amp.from_dlpack(tensor)
    amp.parallel_for_each(back.extent, mix, back, array, 1)
    library.mix(tensor, tensor, 1)
    place.wait()
    library.wait()
    after = place.statistics
    counters = ("uploaded_bytes", "downloaded_bytes", "synced_bytes")
    found = {name: getattr(after, name) - getattr(before, name) for name in counters}
    if any(found.values()) or not back.has_elements_of(array):
        raise AssertionError(f"{library.name}: bytes were moved: {found}")
    print(f"{library.name}: bytes moved by an export, an import and work of both sides: {found}")
    print(array_text(back))
    np.testing.assert_allclose(np.asarray(array), values * (6 * 4 * 6))
    foreign = library.make(values)
    copied = amp.from_dlpack(foreign)
    print(array_text(copied))
    np.testing.assert_array_equal(np.asarray(copied), values)
    try:
        amp.from_dlpack(foreign, copy=False)
    except BufferError as error:
        print(f"  copy=False: {error}")
    else:
        raise AssertionError("memory of CUDA was imported without a copy")


def array_text(view: Any) -> str:
    """What ``explain()`` says, indented."""
    return "\n".join(f"  {line}" for line in view.explain().splitlines())


def costs(library: Any) -> None:
    """Prints the times of an export, of a launch alone, and of a launch that alternates with the library's work."""
    array, other = (amp.array(np.ones(1 << 10, np.int32)) for _ in range(2))
    plain, own = (amp.array(np.ones(1 << 10, np.int32)) for _ in range(2))
    tensor = library.take(array)

    def run(work: Callable[[], None], count: int = 200) -> float:
        best = float("inf")
        for _ in range(5):
            started = time.perf_counter()
            for _ in range(count):
                work()
            amp.accelerator().default_view.wait()
            library.wait()
            best = min(best, (time.perf_counter() - started) / count)
        return 1e6 * best

    def launch(target: Any, values: Any) -> None:
        amp.parallel_for_each(target.extent, mix, target, values, 1)

    def both() -> None:
        launch(array, other)
        library.mix(tensor, tensor, 1)

    def both_waiting() -> None:
        launch(plain, own)
        amp.accelerator().default_view.wait()
        library.mix(private, private, 1)
        library.wait()

    private = library.make(np.ones(1 << 10, np.int32))
    rows = {
        "export (from_dlpack)": run(lambda: library.take(array)),
        "launch on plain arrays": run(lambda: launch(plain, own)),
        "launch on an exported array": run(lambda: launch(array, other)),
        "the library's work alone": run(lambda: library.mix(private, private, 1)),
        "launch and the library's work, in turn": run(both),
        "the same with waits of the host, not shared": run(both_waiting),
    }
    for name, value in rows.items():
        print(f"{library.name}: {name}: {value:.1f} us")


def main() -> None:
    """Runs everything for each library that is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--libraries", default="torch,cupy")
    given = parser.parse_args()
    print(amp.accelerator(), amp.accelerator().default_view)
    for name in given.libraries.split(","):
        library = {"torch": Torch, "cupy": CuPy}[name]()
        moved_bytes(library)
        started = time.perf_counter()
        interleave(library, given.count, given.seed)
        print(f"{name}: {time.perf_counter() - started:.1f} s")
        costs(library)
        gc.collect()


if __name__ == "__main__":
    main()
