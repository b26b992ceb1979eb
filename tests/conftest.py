"""The devices that the suite runs on.

A test that takes the fixture `accelerator` (or `accelerator_view`) runs once on each of them. A
device that was asked for and isn't there ends the session before the first test: a missing device
must never look like a passed test.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import vkamp as amp

DEFAULT_ACCELERATORS = ("swiftshader", "llvmpipe", "reference")
MARKER = "accelerators"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vkamp-accelerators",
        default=",".join(DEFAULT_ACCELERATORS),
        metavar="A,B|all",
        help="the accelerators to run on, each named as VKAMP_ACCELERATOR names one, with the engine behind an @ "
        "(swiftshader@vulkan) unless it is that of VKAMP_ENGINE; "
        "'all': the default ones and every further device of this machine (default: %(default)s)",
    )
    parser.addoption(
        "--vkamp-accept",
        dest="vkamp_accept",
        action="store_true",
        help="rewrite the golden files with what the tests find; review the difference",
    )

    parser.addoption("--vkamp-devices-only", action="store_true", help="leave out the tests that reach no driver")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*names): of the session's accelerators, run on these only; 'drivers' are all but the reference",
    )
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A script's background job is started with Ctrl-C ignored, and so would be the programs that tests interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "VKAMP_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="vkamp-tests-")
        os.environ["VKAMP_CACHE_DIR"] = folder.name
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(lambda: os.environ.pop("VKAMP_CACHE_DIR", None))


def selected_accelerators(config: pytest.Config) -> tuple[str, ...]:
    """The names asked for on the command line, without repetition, in their order."""
    names = [name.strip() for name in config.getoption("--vkamp-accelerators").split(",")]
    if names == ["all"]:
        names = [*DEFAULT_ACCELERATORS, *_further_devices()]
    if not all(names):
        raise pytest.UsageError("--vkamp-accelerators: a name is empty")
    return tuple(dict.fromkeys(names))


def _further_devices() -> list[str]:
    """Descriptions of the devices that none of the default names stands for."""
    import vkamp as amp

    found = [each.description for each in amp.accelerator.get_all() if not each.is_emulated]
    known = DEFAULT_ACCELERATORS
    return [text for text in found if not any(name in text.lower() for name in known)]


def _names_for(marker: pytest.Mark | None, config: pytest.Config) -> list[str]:
    selected = selected_accelerators(config)
    if marker is None:
        return list(selected)
    if "drivers" in marker.args:
        return [name for name in selected if name != "reference"]
    # The engine behind an @ does not change which device it is.
    return [name for name in selected if name.partition("@")[0] in marker.args]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "accelerator" in metafunc.fixturenames:
        names = _names_for(metafunc.definition.get_closest_marker(MARKER), metafunc.config)
        metafunc.parametrize("accelerator", names, indirect=True, scope="session")


def _runs_on_a_device(item: pytest.Item) -> bool:
    return "accelerator" in getattr(item, "fixturenames", ())


def _uses_a_driver(item: pytest.Item) -> bool:
    """Whether a test reaches a driver: through an accelerator, or through the engine alone."""
    return _runs_on_a_device(item) or "info" in getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # A test for devices that nobody asked for is left out, not skipped: a skip means trouble.
    left_out = [item for item in items if not _names_for(item.get_closest_marker(MARKER), config)]
    if config.getoption("--vkamp-devices-only"):
        left_out += [item for item in items if not _uses_a_driver(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(_runs_on_a_device(item) for item in session.items):
        _require_accelerators(session.config)


def _require_accelerators(config: pytest.Config) -> None:
    import vkamp as amp

    absent = []
    for name in selected_accelerators(config):
        try:
            amp.accelerator(name)
        except amp.AmpError as error:
            absent.append(f"- {name}: {error}")
    if absent:
        raise pytest.UsageError(
            "\n".join(
                [
                    "the suite is to run on devices that are not here:",
                    *absent,
                    "Run it as 'tools/env pytest', or name others with --vkamp-accelerators.",
                ]
            )
        )


@pytest.fixture(scope="session")
def accelerator(request: pytest.FixtureRequest) -> amp.accelerator:
    """Each accelerator of the session in turn."""
    import vkamp as amp

    return amp.accelerator(request.param)


@pytest.fixture
def accelerator_view(accelerator: amp.accelerator) -> Iterator[amp.accelerator_view]:
    """The default view of `accelerator`; what a test left pending on it is ended after the test."""
    view = accelerator.default_view
    yield view
    view.wait()
