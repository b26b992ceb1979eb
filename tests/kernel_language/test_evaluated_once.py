"""Operators, properties and methods with effects are evaluated as often as in Python, wherever they stand."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32


@amp.struct
class Counting:
    """Counts what is evaluated in ``n``."""

    x: amp.float32
    n: amp.int32

    @amp.func
    def __sub__(self, other):
        self.n += 1
        return Counting(self.x - other.x, 0)

    @amp.func
    def __neg__(self):
        self.n += 10
        return Counting(-self.x, 0)

    @amp.func
    def __lt__(self, other):
        self.n += 100
        return self.x < other.x

    @property
    def same(self):
        self.n += 1000
        return self

    @amp.func
    def next(self):
        self.n += 10000
        return self.x + self.n

    @amp.func
    def range(self):
        return self.x

    @amp.func
    def plus(self, value):
        return Counting(self.x + value, self.n)


#: Statements over the objects ``p`` and ``q``, the numbers ``y`` and ``k``, and the array ``v``.
STATEMENTS = (
    "y = (p - q).range()",
    "y = p.same.range()",
    "y = p.same.same.range() + (-p).range()",
    "y = (p - q).x",
    "y = p.same.x",
    "y = (p - (p - q)).plus(1.0).x",
    "y, k = (p - q).x, (-p).n",
    "y += (p - q).range()",
    "p.same.x += 2.0",
    "p.same.x = (p - q).x",
    "v[int(p.next()) % 4] += 1.0",
    "v[int(p.next()) % 4], y = p.next(), p.same.x",
    "y = 1.0 if p < q else p.next()",
    "y = p.next() if p.same.x < q.next() < 3.0 else q.next()",
    "y = p.next() and q.next()",
    "y = float(p < q or q < p or -p < q)",
    "y = float(not p.same < q.same)",
    "y = min(p.next(), (p - q).range())",
    "y = max((-p).x, p.same.x, q.next())",
    "y = abs(p.next() - q.next())",
    "y = (z := p.next()) + z",
    "y = -p.next()",
    "y = (p.next(), q.next())[k]",
    "y = (p.same.x, q.same.x)[1]",
    "for i in range(int((p - q).range()) % 5 + 1):\n    y += p.same.x",
    "for i in range(int(p.next()) % 3, int(q.next()) % 7):\n    y += 1.0",
    "for e in (p.next(), q.next()):\n    y += e",
    "for i, e in enumerate((p.same.x, (p - q).x)):\n    y += e * i",
    "y = sum(e for e in (p.next(), (-q).x))",
    "while p.next() < 30000.0:\n    y += 1.0",
    "if (p - q).range() < (q - p).range():\n    y = p.next()\nelif p.same.x < 0.0:\n    y = q.next()",
    "match int(p.next()) % 3:\n    case 0:\n        y = 1.0\n    case _:\n        y = q.next()",
    "y = (lambda a: a.x + a.x)(p - q)",
    "y = twice((p - q).range())",
    "y = twice(p.same.x)",
    "r = (p if p < q else q).copy()\ny = r.next()",
    "r = p.same\nr.x = r.next()",
    "r = (p - q).plus((-p).x)\ny = r.x",
    "y = math.fmod(p.next(), (p - q).x + 9.0)",
    "y = p.next() ** 2",
    "y = float(int(p.next()) // 3 % 2)",
    "k = int(p.next()) << 1\nk |= int(q.next())",
    "y = p.same.plus(p.next()).plus((p - q).x).x",
    "assert p.same.x < 100.0\ny = 1.0",
)

PROGRAM = """\
import math


def twice(value):
    return value + value


def program(ps, qs, v, out, at):
    p, q = ps[at], qs[at]
    y, k = 0.5, 1
    {body}
    out[at] = y + 7.0 * k


@amp.kernel
def run(idx, ps, qs, vs, out):
    p, q = ps[idx], qs[idx]
    v = vs[idx]
    y, k = 0.5, 1
    {body}
    out[idx] = y + 7.0 * k
"""


def compiled(statement: str) -> dict[str, object]:
    """The kernel and the plain function of a statement."""
    text = PROGRAM.format(body=statement.replace("\n", "\n    "))
    name = f"<evaluated once {STATEMENTS.index(statement)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, object] = {"amp": amp}
    exec(compile(text, name, "exec"), names)
    return names


@pytest.mark.spread(3)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_as_often_as_in_python(accelerator_view, statement):
    names = compiled(statement)
    raw_p = np.array([(1.5, 0), (-2.0, 3), (4.0, 1)], Counting)
    raw_q = np.array([(2.5, 0), (-3.0, 1), (4.0, 2)], Counting)
    raw_v = np.arange(12, dtype=F32).reshape(3, 4)

    p, q, v, expected = raw_p.copy(), raw_q.copy(), raw_v.copy(), np.zeros(3, F32)
    for i in range(3):
        names["program"](p, q, v[i], expected, i)

    ps, qs, vs = (amp.array(a, accelerator_view=accelerator_view) for a in (raw_p, raw_q, raw_v))
    out = amp.array(3, F32, accelerator_view)
    amp.parallel_for_each(out.extent, names["run"], ps, qs, vs, out)
    assert np.asarray(ps)["n"].tolist() == p["n"].tolist()
    assert np.asarray(qs)["n"].tolist() == q["n"].tolist()
    np.testing.assert_allclose(np.asarray(ps)["x"], p["x"], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(qs)["x"], q["x"], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(vs), v, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-5)
