"""The second oracle: kernels as plain Python, without vkamp's compiler."""

from __future__ import annotations

import base64
import textwrap
from unittest import mock

import numpy as np
import pytest

from tools.fuzz.plain.run import launch
from tools.fuzz.plain.values import UndefinedError
from tools.fuzz.programs import program
from tools.fuzz.run import Failure, compare, forget, load, run
from tools.fuzz.tree import Container, Program
from vkamp.front import expressions

I32, U32, F32 = np.int32, np.uint32, np.float32


def ran(body: str, *args, extent=(1,), tile=None, **constants):
    """The last argument after a launch of ``k`` with this text."""
    return launch(textwrap.dedent(body), "k", extent, tile, list(args), constants)[-1]


def lines(count, *statements):
    """A kernel of one thread that stores one value for each statement."""
    body = "\n".join(f"    out[{n}] = {s}" for n, s in enumerate(statements))
    assert len(statements) == count
    return f"import vkamp as amp\ndef k(i, a, out):\n{body}\n"


def test_integers_wrap_and_divide_as_documented():
    text = lines(
        9, "a[0] * 65536", "-a[1]", "a[1] // -1", "a[2] // 3", "a[2] % 3", "amp.tdiv(a[2], 3)", "amp.trem(a[2], 3)",
        "amp.int32(amp.uint32(a[2]) >> 28)", "abs(a[1])",
    )  # fmt: skip
    a = np.array([65537, -(2**31), -7], I32)
    low = -(2**31)
    assert ran(text, a, np.zeros(9, I32)).tolist() == [65536, low, low, -3, 2, -2, -1, 15, low]


def test_literals_are_weak_and_variables_are_not():
    text = """
    def k(i, a, out):
        x = 0
        x = a[0]
        out[0] = x // 2
        y = 1
        out[1] = (a[0] + y) * 0.5
        out[2] = amp.uint8(300)
        half = 0.0
        half = 3
        out[3] = half / 2
    """
    assert ran(text, np.array([-5], I32), np.zeros(4, F32)).tolist() == [-3.0, -2.0, 44.0, 1.5]


def test_a_variable_has_the_type_of_its_first_assignment_in_the_source():
    text = """
    def k(i, a, out):
        if i[0] > 0:
            x = 0.5
        else:
            x = 1
        out[i] = x / 2 + (7 if i[0] == 0 else 0.5)
    """
    assert ran(text, np.zeros(1, I32), np.zeros(2, F32), extent=(2,)).tolist() == [7.5, 0.75]


def test_values_of_floats_are_rounded_at_each_step():
    text = "def k(i, a, out):\n    out[0] = a[0] * a[0] + a[1]\n    out[1] = a[0] / 3\n"
    a = np.array([1.1, 2.3], F32)
    assert ran(text, a, np.zeros(2, F32)).tolist() == [a[0] * a[0] + a[1], a[0] / F32(3)]


def test_vectors_are_copied_and_elements_are_not():
    text = """
    def k(i, v, out):
        w = v[0]
        w.x = 9
        v[1].yx = w.xy
        out[0] = w.x
        out[1] = v[0].x
        out[2] = v[1].x * 10 + v[1].y
        out[3] = (w / 2).x
    """
    from vkamp import int2

    v = np.zeros(2, int2.dtype)
    v["x"], v["y"] = [3, 4], [5, 6]
    assert ran(text, v, np.zeros(4, I32)).tolist() == [9, 3, 59, 4]


def test_threads_take_turns_at_barriers():
    text = """
    def k(t, a, out):
        s = amp.tile_static(t.tile_extent, amp.int32)
        for n in range(3):
            s[t.local] = a[t] + n
            t.barrier.wait()
            out[t] += s[t.tile_dim0 - 1 - t.local[0]]
            t.barrier.wait()
    """
    out = ran(text, np.arange(6, dtype=I32), np.zeros(6, I32), extent=(6,), tile=(3,))
    assert out.tolist() == [9, 6, 3, 18, 15, 12]


def test_atomics_store_and_give_the_old_value():
    text = """
    def k(i, a, out):
        out[1 + i[0]] = amp.atomic_fetch_add(out[0], a[i])
        expected = 7
        done = amp.atomic_compare_exchange(out[4], expected, 70 + i[0])
        out[5 + i[0]] = expected if done else -expected
    """
    start = np.array([0, 0, 0, 0, 7, 0, 0, 0], I32)
    out = ran(text, np.array([5, 6, 7], I32), start, extent=(3,))
    assert out.tolist() == [18, 0, 5, 11, 70, 7, -70, -70]


def test_an_atomic_sees_what_its_arguments_did():
    text = """
    def k(i, a, out):
        out[4] = amp.atomic_exchange(out[0], amp.atomic_exchange(out[0], 8) + 1)
        out[5] = amp.atomic_fetch_add(out[1], amp.atomic_fetch_add(out[1], 5))
        amp.atomic_fetch_max(out[2], amp.atomic_fetch_sub(out[2], 9))
        seen = 7
        done = amp.atomic_compare_exchange(out[3], seen, amp.atomic_exchange(out[3], 7))
        out[6] = seen
        out[7] = done
    """
    start = np.array([5, 30, 20, 40, 0, 0, 0, 0], I32)
    found = ran(text, np.zeros(1, I32), start.copy())
    assert found.tolist() == [6, 65, 20, 40, 8, 35, 7, 1]
    loaded = wrapped(text, start)
    assert compare(loaded.program, {"out": found}, run(loaded, "reference"), "reference") is None
    forget(loaded)


def wrapped(text, out, extent=(1,), tile=None):
    """A kernel with a container ``a`` of one zero, and one that it writes."""
    source = "import vkamp as amp\n\n@amp.kernel\n" + textwrap.dedent(text).strip() + "\n"
    data = base64.b64encode(out.tobytes()).decode()
    containers = [
        Container("a", "np.int32", (1,), "data AAAAAA=="),
        Container("out", f"np.{out.dtype.name}", out.shape, f"data {data}", written=True),
    ]
    source = source.replace("import vkamp", "import numpy as np\nimport vkamp", 1)
    return load(Program(0, False, extent, tile, [], [], containers, {}, {}, [], text=source))


def test_the_side_of_a_choice_that_is_not_evaluated_has_a_type():
    text = """
    def k(i, a, out):
        never = a[0] == 1234
        out[0] = -(1.5 if never == False else out[1]) * 1.7
        out[2] = (3 if never == False else a[a[0]] * 0.5) // 2
        out[3] = (a[0] - 7 if never == False else amp.uint32(a[0])) // 2
        out[4] = (7 if never == False else amp.atomic_fetch_add(out[5], 0.5)) / 2
    """
    found = ran(text, np.zeros(1, I32), np.ones(6, F32))
    start = np.ones(6, F32)
    loaded = wrapped(text, start)
    assert compare(loaded.program, run(loaded, "reference"), {"out": found}, "python") is None
    assert found.tolist() == [F32(-1.5) * F32(1.7), 1, 1, 2147483648, 3.5, 1]
    forget(loaded)


def test_what_is_undefined_is_said():
    with pytest.raises(UndefinedError, match="out of bounds"):
        ran(lines(1, "a[1]"), np.zeros(1, I32), np.zeros(1, I32))
    with pytest.raises(UndefinedError, match="division"):
        ran(lines(1, "1 // a[0]"), np.zeros(1, I32), np.zeros(1, I32))
    text = "def k(t, a, out):\n    if t.local[0] == 0:\n        t.barrier.wait()\n"
    with pytest.raises(UndefinedError, match="barrier"):
        ran(text, np.zeros(1, I32), np.zeros(1, I32), extent=(2,), tile=(2,))


def test_random_kernels_give_what_the_reference_accelerator_gives():
    for seed in range(700_000, 700_006):
        loaded = load(program(seed))
        wanted, found = run(loaded, "reference"), run(loaded, "python")
        assert not isinstance(wanted, Failure) and not isinstance(found, Failure), found
        assert compare(loaded.program, wanted, found, "python") is None
        forget(loaded)


def test_a_fault_of_the_front_end_is_seen():
    """The reference accelerator runs what the front end made, and so shares its faults."""
    wrong = {**expressions.OPERATION, __import__("ast").Mod: "trem"}
    seen = False
    with mock.patch.object(expressions, "OPERATION", wrong):
        for seed in range(710_000, 710_030):
            loaded = load(program(seed))
            wanted, found = run(loaded, "reference"), run(loaded, "python")
            failed = isinstance(wanted, Failure) or isinstance(found, Failure)
            seen = failed or compare(loaded.program, wanted, found, "python") is not None
            forget(loaded)
            if seen:
                break
    assert seen
