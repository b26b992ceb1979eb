"""What the project's tests need in addition to its pytest plugin (docs/testing.md)."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_vkamp import accelerator_names
from vkamp.edit import active
from vkamp.pipeline import own_kernels

# An environment that was installed before the plugin was announced does not load it by itself.
pytest_plugins = ["pytester", *(name for name in ("pytest_vkamp",) if name not in sys.modules)]

#: The folders with the longest tests. They run first, so that no worker ends long after the others.
LONGEST = ("outputs", "tools", "fuzz")

#: What the project calls the mark.
MARKER = "accelerators"
#: The mark of tests that a part of the suite's accelerators run, to save time.
SAMPLE = "sample"
#: The mark of tests whose cases are spread over the suite's accelerators, and the variable that runs each on all.
SPREAD = "spread"
ALL = "VKAMP_TEST_ALL"
#: The folders of the libraries, most of whose time lavapipe takes, which compiles longest. Of the cases that it shares
#: with others, it runs one of so many.
LIBRARIES, THINNED = ("algorithms", "blas", "fft", "linalg", "rng", "tile"), 3


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vkamp-devices-only", action="store_true", help="leave out the tests that reach no driver")
    parser.addoption(
        "--vkamp-validated-rooms",
        default="",
        metavar="ROOMS",
        help="leave out the tests of tests/ROOM,... that reach lavapipe, which tools.validate runs",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Order(), "vkamp-tests-order")
    config.addinivalue_line("markers", f"{MARKER}(*names): short for vkamp_accelerators")
    config.addinivalue_line(
        "markers",
        f"{SAMPLE}(*names): of the accelerators in pyproject.toml only these run the test, which saves time; "
        "every other accelerator of the session runs it",
    )
    config.addinivalue_line(
        "markers",
        f"{SPREAD}(n): each accelerator in pyproject.toml for which the test is runs one of n of its cases, and each "
        f"case runs on some accelerator; every other accelerator of the session runs all ({ALL}=1: all run all)",
    )
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A script's background job is started with Ctrl-C ignored, and so would be the programs that tests interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "VKAMP_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="vkamp-tests-")
        os.environ["VKAMP_CACHE_DIR"] = folder.name
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(lambda: os.environ.pop("VKAMP_CACHE_DIR", None))


@pytest.fixture(autouse=True, scope="session")
def _own_kernels_are_checked() -> Iterator[None]:
    """The compiler makes all checks of vkamp's own kernels, which programs leave out."""
    own_kernels.are_checked = True
    yield
    own_kernels.are_checked = False


@pytest.fixture(autouse=True, scope="session")
def _no_edited_shaders() -> None:
    """No folder of shaders is in force until a test chooses one.

    Those of the project are 186 files, at which launches would look up to ten times a second, for a millisecond each.
    """
    active.use_folder(None)


def _mark(node: pytest.Item) -> None:
    mark = node.get_closest_marker(MARKER)
    if mark is not None:
        node.add_marker(pytest.mark.vkamp_accelerators(*mark.args))
    sample = node.get_closest_marker(SAMPLE)
    if sample is not None:
        usual = node.config.getini("vkamp_accelerators")
        others = [name for name in accelerator_names(node.config) if name.partition("@")[0] not in usual]
        node.add_marker(pytest.mark.vkamp_accelerators(*sample.args, *others))


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    _mark(metafunc.definition)
    yield
    if metafunc.definition.get_closest_marker(SPREAD) is not None:
        name = metafunc.definition.originalname
        # In the order of a hash, since every second case may have the same value of its last parameter.
        hashes = {case: zlib.crc32(f"{name} {case}".encode()) for case in map(_case, metafunc._calls)}
        cases = sorted(hashes, key=hashes.__getitem__)
        _cases[metafunc.definition.path, name] = {case: number for number, case in enumerate(cases)}


#: The numbers of the cases of each test whose cases are spread.
_cases: dict[tuple[Path, str], dict[str, int]] = {}


def _case(callspec: Any) -> str:
    """A case of a test, whichever accelerator runs it."""
    where = _place(callspec)
    return "-".join(part for part in callspec.id.split("-") if part != where)


def _place(callspec: Any) -> Any:
    return callspec.params.get("accelerator", callspec.params.get("driver"))


def _uses_a_driver(item: pytest.Item) -> bool:
    """Whether a test reaches a driver: through an accelerator, or through the engine alone."""
    names = getattr(item, "fixturenames", ())
    return not {"accelerator", "info", "driver"}.isdisjoint(names)


def _is_validated(item: pytest.Item, rooms: set[str]) -> bool:
    """Whether ``tools.validate`` runs a test: one that reaches lavapipe, in one of these rooms."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    names = (str(parameters.get(each)).partition("@")[0] for each in ("accelerator", "info", "driver"))
    room = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    return room in rooms and _uses_a_driver(item) and "llvmpipe" in names


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        _mark(item)
    if not os.environ.get(ALL):
        _sample(config, items)
        _spread(config, items)
        _thin(config, items)
    rooms = set(filter(None, config.getoption("--vkamp-validated-rooms").split(",")))
    if rooms:
        _leave_out(config, items, {item for item in items if _is_validated(item, rooms)})
    if config.getoption("vkamp_accelerators") is not None:
        _only_named(config, items)
    if config.getoption("--vkamp-devices-only"):
        _leave_out(config, items, {item for item in items if not _uses_a_driver(item)})


def _leave_out(config: pytest.Config, items: list[pytest.Item], left_out: set[pytest.Item]) -> None:
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _only_named(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests that name accelerators themselves, of which the session has others."""
    here = {name.partition("@")[0] for name in accelerator_names(config)}
    others = set()
    for item in items:
        named = item.callspec.params.get("accelerator") if hasattr(item, "callspec") else None
        if isinstance(named, str) and named.partition("@")[0] not in here:
            others.add(item)
    _leave_out(config, items, others)


def _sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases whose own mark names other accelerators: pytest does not know it when it makes the cases."""
    usual = config.getini("vkamp_accelerators")
    left_out = set()
    for item in items:
        mark = item.get_closest_marker(SAMPLE)
        where = item.callspec.params.get("accelerator") if mark is not None and hasattr(item, "callspec") else None
        if isinstance(where, str) and (name := where.partition("@")[0]) in usual and name not in mark.args:
            left_out.add(item)
    _leave_out(config, items, left_out)


def _spread(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases of tests with the mark."""
    left_out = set()
    for item in items:
        mark = item.get_closest_marker(SPREAD)
        if mark is None:
            continue
        where = _place(item.callspec)
        assert where is not None, f"{item.nodeid}: {SPREAD} is for tests of accelerators"
        if not isinstance(where, str):  # None of the session's accelerators is for this test, which pytest skips.
            continue
        number = _cases[item.path, item.originalname][_case(item.callspec)]
        usual, name = _usual(config, item), where.partition("@")[0]
        if name in usual and (number + usual.index(name)) % mark.args[0]:
            left_out.add(item)
    _leave_out(config, items, left_out)


def _thin(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases of the libraries on lavapipe."""
    left_out = set()
    for item in items:
        if item.path.parent.name not in LIBRARIES or item.get_closest_marker(SPREAD) or not hasattr(item, "callspec"):
            continue
        if _place(item.callspec) != "llvmpipe" or len(_usual(config, item)) == 1:
            continue
        if zlib.crc32(f"{item.originalname} {_case(item.callspec)}".encode()) % THINNED:
            left_out.add(item)
    _leave_out(config, items, left_out)


def _usual(config: pytest.Config, item: pytest.Item) -> list[str]:
    """The accelerators in pyproject.toml for which a test is."""
    usual: list[str] = config.getini("vkamp_accelerators")
    for mark in filter(None, map(item.get_closest_marker, (MARKER, SAMPLE))):
        if not set(mark.args).isdisjoint(usual):
            usual = [name for name in usual if name in mark.args]
    return usual


class _Order:
    """Sorts the tests after pytest has grouped them by their fixtures."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: item.path.parent.name not in LONGEST)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    # What a file of tests leaves behind, such as compiled kernels, stays: later collections need not go through it.
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    # The tests live to the end: the garbage collections that some of them ask for need not go through all of them.
    gc.collect()
    gc.freeze()
    # Compilation makes many objects and few cycles.
    gc.set_threshold(200_000, 10, 10)
    # Tests change programs and run them again within the second by which Python tells old bytecode from new.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
