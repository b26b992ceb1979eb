"""The traceback of an error in a program ends at the program's line, and contains no frames of vkamp."""

from __future__ import annotations

import dis
import inspect
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms
from vkamp.lang.kernel import BoundKernel, DeviceFunction, KernelFunction

PACKAGE = Path(amp.__file__).parent
#: Python 3.10 cannot re-raise without the frame that does.
MIN = 1 if sys.version_info < (3, 11) else 0


@amp.kernel
def wrong(idx, values):
    values[idx] = missing  # noqa: F821


@amp.kernel
def right(idx, values):
    values[idx] = 1.0


@amp.kernel
def racing(t_idx, values):
    values[t_idx.local] = amp.float32(t_idx.tile[0])


@amp.kernel
def outside(idx, values):
    values[idx[0] + 1] = 1.0


@amp.kernel
def in_double(idx, values):
    values[idx] = amp.float64(1.0)


@amp.func
def divided(x):
    return 1 // x


@amp.func
def component(i):
    return amp.index(1, 2)[i]


def view() -> amp.array_view:
    return amp.array_view(np.zeros(8, np.float32))


def launched(kernel: Any, domain: Any = None, *args: Any) -> None:
    amp.parallel_for_each(domain or amp.extent(8), kernel, *(args or (view(),)))


def in_a_capture() -> None:
    with amp.capture():
        launched(wrong)


def nested_captures() -> None:
    with amp.capture(), amp.capture():
        pass


def followed_nothing() -> None:
    with amp.follow(99):
        pass


def profile_too_early() -> None:
    with amp.profile() as p:
        print(p.launches)


def read_only() -> None:
    amp.array_view(np.zeros(8, np.float32), readonly=True)[0] = 1.0


def argument_of_wrong_type() -> None:
    amp.array_view(np.zeros(8, np.float32)).synchronize(1, 2, 3)


def no_field() -> None:
    @amp.struct
    class Empty:
        pass


def closure() -> None:
    values = view()

    @amp.parallel_for_each(values.extent)
    def also_wrong(idx):
        values[idx] = missing  # noqa: F821


MISTAKES: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "compile error": (amp.CompileError, lambda: launched(wrong)),
    "compile error, closure": (amp.CompileError, closure),
    "compile error, check": (amp.CompileError, lambda: amp.check(amp.extent(8), wrong, view())),
    "compile error, inspect": (amp.CompileError, lambda: wrong.inspect(amp.extent(8), view())),
    "compile error, in a capture": (amp.CompileError, in_a_capture),
    "race": (amp.RaceError, lambda: launched(racing, amp.extent(8).tile(4))),
    "out of bounds": (amp.CheckError, lambda: launched(outside)),
    "domain": (amp.InvalidComputeDomainError, lambda: launched(right, amp.extent(8).tile(3))),
    "no domain": (TypeError, lambda: amp.parallel_for_each()),
    "wrong domain": (TypeError, lambda: launched(right, "eight")),
    "wrong argument": (amp.CompileError, lambda: launched(right, None, [1, 2])),
    "missing argument": (TypeError, lambda: amp.parallel_for_each(amp.extent(8), right)),
    "kernel called": (amp.AmpError, lambda: right(view())),
    "kernel in CUDA's way": (TypeError, lambda: right[1, 8](view())),
    "kernel decorated twice": (TypeError, lambda: amp.kernel(right)),
    "lowering": (ValueError, lambda: amp.kernel(lowering="fast")),
    "atomic on the host": (amp.AmpError, lambda: amp.atomic_fetch_add(view(), 1)),
    "no accelerator": (amp.AmpError, lambda: amp.accelerator("abacus")),
    "element type": (amp.AmpError, lambda: amp.array_view(np.zeros(8, bool))),
    "list": (TypeError, lambda: amp.array_view([1.0, 2.0])),
    "no elements": (amp.AmpError, lambda: amp.extent(0).tile(2) and amp.array(amp.extent(0), amp.float32)),
    "arguments that do not fit": (TypeError, argument_of_wrong_type),
    "subscript": (IndexError, lambda: view()[9]),
    "read-only view": (TypeError, read_only),
    "section": ((amp.AmpError, TypeError, ValueError, IndexError), lambda: view().section(5, 9)),  # type: ignore[dict-item]
    "attribute": (AttributeError, lambda: view().sum()),
    "attribute of the module": (AttributeError, lambda: amp.Extent),
    "refused name": (amp.UnsupportedFeatureError, lambda: amp.norm),
    "copy": (amp.AmpError, lambda: amp.copy(np.zeros(4, np.float32), amp.array(amp.extent(5), amp.float32))),
    "component": (IndexError, lambda: amp.index(1, 2)[7]),
    "rank": ((TypeError, ValueError, amp.AmpError), lambda: amp.index(1, 2) + amp.index(1)),  # type: ignore[dict-item]
    "component, in a function": (IndexError, lambda: component(7)),
    "own mistake in a function": (ZeroDivisionError, lambda: divided(0)),
    "function without its argument": (TypeError, lambda: divided()),
    "short vector": (TypeError, lambda: amp.short_vector(np.float32, 9)),
    "swizzle": (AttributeError, lambda: amp.float2(1, 2).z),
    "nested captures": (amp.AmpError, nested_captures),
    "followed thread": (amp.AmpError, followed_nothing),
    "profile too early": (amp.AmpError, profile_too_early),
    "struct": (TypeError, no_field),
    "schedule": (ValueError, lambda: amp.reference_schedule("random-ish").__enter__()),
    "folder": (FileNotFoundError, lambda: amp.use_shaders("/no/such/folder")),
}


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def files(error: BaseException) -> list[str]:
    """The files of a traceback, those of the errors behind it too."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)] + (files(behind) if behind else [])


def own(error: BaseException) -> list[str]:
    return [name for name in files(error) if Path(name).is_relative_to(PACKAGE) or "contextlib" in name]


def raised(mistake: Callable[[], Any], kind: type[Exception]) -> Exception:
    with pytest.raises(kind) as caught:
        mistake()
    return caught.value


@pytest.fixture(autouse=True)
def on_the_reference_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_ACCELERATOR", "reference")


@pytest.mark.parametrize(("kind", "mistake"), MISTAKES.values(), ids=MISTAKES)
def test_only_the_program_is_shown(
    kind: type[Exception], mistake: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = raised(mistake, kind)
    assert len(own(error)) <= MIN, shown(error)
    # The last frame is the program's line.
    assert files(error)[-1 - MIN] == __file__, shown(error)
    monkeypatch.setenv("VKAMP_TRACEBACK", "1")
    assert own(raised(mistake, kind)), "VKAMP_TRACEBACK=1 keeps all frames"


@pytest.mark.parametrize("name", ["race", "compile error", "no accelerator", "subscript"])
def test_in_a_thread(name: str) -> None:
    kind, mistake = MISTAKES[name]
    seen: list[BaseException] = []

    def run() -> None:
        try:
            mistake()
        except kind as error:
            seen.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(own(seen[0])) <= MIN


def test_an_unexpected_failure_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> None:
        return len(None)  # type: ignore[arg-type]

    monkeypatch.setattr("vkamp.dispatch.launch.prepare", fails)
    monkeypatch.setitem(fails.__globals__, "__name__", "vkamp.dispatch.launch")
    error = raised(lambda: launched(right), TypeError)
    assert own(error)


def test_an_internal_error_keeps_the_frames_of_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> None:
        from vkamp.front import advice

        try:
            advice.with_article("")
        except Exception as cause:
            raise amp.InternalCompilerError("the pass failed", kernel="right") from cause

    monkeypatch.setattr("vkamp.dispatch.launch.prepare", fails)
    error = raised(lambda: launched(right), amp.InternalCompilerError)
    assert own(error) == [name for name in own(error) if "advice" in name] != []


def test_the_users_own_chain_stays() -> None:
    try:
        {}["key"]
    except KeyError:
        error = raised(lambda: launched(wrong), amp.CompileError)
    assert isinstance(error.__context__, KeyError) and "During handling" in shown(error)


def test_what_a_library_has_caught_is_not_shown() -> None:
    """The standard library's search for the parameters of a function, which fails."""
    values = view()
    error = raised(lambda: algorithms.reduce(values, lambda x: x), amp.CompileError)
    assert error.__context__ is None
    try:
        {}["key"]
    except KeyError:
        error = raised(lambda: algorithms.reduce(values, lambda x: x), amp.CompileError)
    assert isinstance(error.__context__, KeyError)


def test_calls_in_the_library_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the calls that lead to a mistake, a message has those of the program."""
    values = view()

    def mistaken(x: Any) -> Any:
        return x.missing

    def launch() -> None:
        algorithms.transform(lambda x: mistaken(x) + 1, values)

    monkeypatch.delenv("VKAMP_TRACEBACK", raising=False)
    text = str(raised(launch, amp.CompileError))
    assert text.count("called from here") == 1 and str(PACKAGE) not in text, text
    assert "lambda x: mistaken(x) + 1" in text
    monkeypatch.setenv("VKAMP_TRACEBACK", "1")
    assert str(PACKAGE) in str(raised(launch, amp.CompileError))


SCRIPT = """\
import numpy as np
import vkamp as amp

@amp.kernel
def k(idx, values):
    values[idx] = missing

def main():
    values = amp.array_view(np.zeros(8, np.float32))
    amp.parallel_for_each(values.extent, k, values)

main()
"""


def test_in_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    text = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120).stderr
    assert text.count('  File "') == 2 + MIN and "in main" in text and "did you mean" not in text
    assert "vkamp.errors.CompileError: VKA201: the name `missing` is not defined" in text


def test_at_the_prompt() -> None:
    lines = "import vkamp as amp\namp.accelerator('abacus')\nprint(6 * 7)\n"
    done = subprocess.run([sys.executable, "-i", "-q"], input=lines, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith("42")
    assert done.stderr.count('  File "') == 1 + MIN and 'File "<stdin>", line 1' in done.stderr


def entry_points() -> dict[str, FunctionType]:
    """Every function and method that a user can call, by name."""
    found: dict[str, FunctionType] = {}
    objects = {name: getattr(amp, name) for name in amp.__all__}
    objects |= {kind.__name__: kind for kind in (KernelFunction, BoundKernel, DeviceFunction)}
    for name, each in objects.items():
        if isinstance(each, FunctionType):
            found[name] = each
        kind = each if isinstance(each, type) else type(each)
        for base in kind.__mro__:
            if base.__module__.startswith("vkamp.") and not issubclass(base, (BaseException, Warning)):
                for member, value in vars(base).items():
                    function = getattr(value, "__func__", getattr(value, "fget", value))
                    public = not member.startswith("_") or member.startswith("__")
                    if public and isinstance(function, FunctionType):
                        found[f"{base.__name__}.{member}"] = function
    return found


def raises(function: FunctionType) -> bool:
    """Whether the function, if the package's source has it, has a ``raise`` statement."""
    inner = inspect.unwrap(function)
    ours = Path(inner.__code__.co_filename).is_relative_to(PACKAGE)
    return ours and any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(inner))


def test_every_entry_point_is_trimmed() -> None:
    points = entry_points()
    assert len(points) > 300
    bare = [n for n, f in points.items() if raises(f) and not hasattr(f, "__vkamp_entry_point__")]
    assert not bare
