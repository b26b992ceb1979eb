"""Random plain kernels, whose threads process several elements each if vkamp finds this possible.

Containers of every small type with any offset, tests around the body, early returns, stores that are not certain,
neighbours, functions. The reference accelerator is the oracle.
"""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

import vkamp as amp

__all__ = ["cases", "check", "source"]

_TYPES = ("float32", "float32", "int32", "uint32", "uint8", "int8", "uint16", "int16", "float16")
_FUNCTION = """
@amp.func
def helper(v, w):
    if v > w:
        return v - w
    return w * 2 + v

"""


def cases() -> Iterator[int]:
    """The seeds of the kernels."""
    return itertools.count()


class _Maker:
    """A kernel and its containers."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        rank = r.choice([1, 1, 1, 2, 2, 3])
        last = r.choice([r.randint(1, 45), r.randint(60, 75)])
        self.shape = (*(r.randint(1, 4) for _ in range(rank - 1)), last)
        one = r.choice(_TYPES)
        self.types = {name: one if r.random() < 0.6 else r.choice(_TYPES) for name in "abyz"}
        self.most = r.choice([2, 4, 8, 16])
        self.own = r.choice(["idx", ", ".join(f"i{d}" for d in range(rank)), "idx"])
        self.last = f"i{rank - 1}"
        #: The last term: one that depends on the index keeps domains of more dimensions in rows.
        self.indices = r.random() < 0.5

    def value(self) -> str:
        r = self.random
        options = ["t", f"amp.int32(a[{self.own}])", f"amp.int32(b[{self.own}])", str(r.randint(-9, 9)), "n"]
        options += [f"i{r.randrange(len(self.shape))}"] * self.indices + [f"amp.int32(y[{self.own}])"]
        return r.choice(options)

    def expression(self) -> str:
        r = self.random
        return r.choice(
            [
                f"{self.value()} + {self.value()}",
                f"{self.value()} * {r.randint(2, 5)} - {self.value()}",
                f"helper({self.value()}, {self.value()})",
                f"({self.value()} if {self.value()} > {self.value()} else {self.value()})",
                f"min({self.value()}, {self.value()})",
            ]
        )

    def store(self, name: str) -> str:
        return f"{name}[{self.own}] = amp.{self.types[name]}(({self.expression()}) % 97)"

    def neighbour(self) -> list[str]:
        step = self.random.randint(1, 3)
        before = ", ".join([*(f"i{d}" for d in range(len(self.shape) - 1)), f"{self.last} - {step}"])
        return [f"if {self.last} >= {step}:", f"    t += amp.int32(a[{before}])"]

    def statement(self) -> list[str]:
        r = self.random
        kind = r.random()
        if kind < 0.35:
            return [f"t = {self.expression()}"]
        if kind < 0.5:
            return [f"if {self.value()} > {self.value()}:", f"    t = {self.expression()}"]
        if kind < 0.6:
            return self.neighbour()
        if kind < 0.8:
            return [self.store(r.choice("yz"))]
        if kind < 0.9:
            return [f"if {self.value()} > {r.randint(0, 9)}:", f"    {self.store(r.choice('yz'))}", "    return"]
        lines = [f"if {self.value()} > {r.randint(0, 9)}:", f"    {self.store('y')}"]
        return [*lines, "else:", f"    {self.store('y')}"] if r.random() < 0.5 else lines

    def test(self) -> str:
        """A condition of the index."""
        r = self.random
        upper = r.choice([f"{self.last} < n", f"{self.last} + {r.randint(1, 3)} <= n", f"n > {self.last}"])
        lower = r.choice([f"{self.last} >= {r.randint(0, 3)}", f"{self.last} > {r.randint(0, 2)}", "n > 3"])
        return r.choice([upper, lower, f"{upper} and {lower}", f"not ({upper}) or {lower}", f"{self.last} != n"])

    def body(self) -> list[str]:
        r = self.random
        lines = ["t = 1"]
        for _ in range(r.randint(1, 4)):
            lines += self.statement()
        lines.append(self.store("y"))
        if r.random() < 0.4:
            lines.append(self.store("z"))
        form = r.random()
        if form < 0.25:
            lines = [f"if {self.test()}:", *(f"    {line}" for line in lines)]
        elif form < 0.4:
            lines = [f"if {self.test()}:", "    return", *lines]
        names = ", ".join(f"i{d}" for d in range(len(self.shape)))
        return [f"{names} = idx" if len(self.shape) > 1 else "i0 = idx[0]", *lines]

    def text(self) -> str:
        body = "".join(f"    {line}\n" for line in self.body())
        return f"{_FUNCTION}@amp.kernel\ndef k(idx, n, a, b, y, z):\n{body}"

    def containers(self) -> list[tuple[Any, tuple[int, ...]]]:
        """Arrays, and where the elements of each begin in it."""
        r = self.random
        found = []
        origin, same = (0,) * len(self.shape), tuple(r.randint(0, 3) for _ in self.shape)
        is_dense = r.random() < 0.3
        for name in "abyz":
            start = r.choice([origin, same, tuple(r.randint(0, 4) for _ in self.shape)])
            more = tuple(r.choice([0, 0, 1, 3]) for _ in self.shape)
            if is_dense:
                start, more = origin, origin
            size = tuple(n + s + m for n, s, m in zip(self.shape, start, more, strict=True))
            values = np.array([r.randint(0, 60) for _ in range(int(np.prod(size)))]).reshape(size)
            found.append((values.astype(self.types[name]), start))
        return found


def source(seed: int) -> str:
    """The kernel of a seed."""
    return _Maker(seed).text()


def check(seed: int, view: amp.accelerator_view) -> list[str]:
    """The failure of a kernel on a device, if any."""
    maker = _Maker(seed)
    text = maker.text()
    file = f"<plain kernel {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "kernels", "amp": amp}
    exec(compile(text, file, "exec"), names)
    given = maker.containers()
    ends = [maker.random.choice([maker.shape[-1], maker.shape[-1] - 2, 5])]
    results = []
    for where in (amp.accelerator("reference").default_view, view):
        arrays = [values.copy() for values, _ in given]
        views = [
            amp.array_view(a).section(amp.index(*start), amp.extent(*maker.shape))
            for a, (_, start) in zip(arrays, given, strict=True)
        ]
        with mock.patch("vkamp.dispatch.targets.max_in_piece", return_value=maker.most):
            amp.parallel_for_each(where, amp.extent(*maker.shape), names["k"], *ends, *views)
        for each in views:
            each.synchronize()
        results.append(arrays)
    wrong = [name for name, a, b in zip("abyz", *results, strict=True) if not np.array_equal(a, b)]
    del linecache.cache[file]
    return [f"seed {seed}: {', '.join(wrong)} differ, {maker.shape}, {maker.types}\n{text}"] if wrong else []
