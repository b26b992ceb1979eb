"""The pytest plugin of vkamp: tests on every device, golden shaders, check mode. See docs/testing.md.

It is beside the package because pytest loads it in every session of an environment with vkamp: it imports neither vkamp
nor numpy before a test uses them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import vkamp as amp
    from vkamp.testing.golden import GoldenShaders

__all__ = ["accelerator_names"]

_OPTION = "--vkamp-accelerators"
_FIXTURE = "accelerator"
_CHECK_VARIABLE = "VKAMP_CHECK"
#: The number of lines of a list in the closing summary without -v.
_MAX_LINES = 10

_MARKERS = (
    "vkamp_accelerators(*names): run the test on these of the session's accelerators only; 'drivers' are all but "
    "the reference accelerator",
    "vkamp_requires(*abilities): skip the test on accelerators without these features ('float64', ...) or with the "
    "drivers' traps that take the ability away ('long_loops', ...)",
    "vkamp_check: run every launch of the test in check mode",
)


class _Name(str):
    """An accelerator's name that this plugin gave to a test."""

    __slots__ = ()


@dataclass
class _Session:
    """The state of a process of the test session."""

    names: tuple[str, ...] | None = None
    absent: list[str] | None = None
    #: Tests without a suitable accelerator in the session, with the names in their marks.
    left_out: dict[str, str] = field(default_factory=dict)
    #: Lines about the accelerators.
    devices: list[str] = field(default_factory=list)
    #: Test files with golden shaders: their tests' node ids, and the names of those whose files depend on the device.
    golden: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    #: Test files of which some tests were deselected.
    incomplete: set[str] = field(default_factory=set)
    # From the reports of the tests:
    not_run: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    rewritten: set[str] = field(default_factory=set)


@dataclass
class _Notes:
    """The part of a test's report for the closing summary."""

    not_run: str = ""
    used: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)


_SESSION = pytest.StashKey[_Session]()
_NOTES = pytest.StashKey[_Notes]()


def _session(config: pytest.Config) -> _Session:
    return config.stash.setdefault(_SESSION, _Session())


def _is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for another one, which shows the results (pytest-xdist)."""
    return hasattr(config, "workerinput")


# -- options -------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("vkamp")
    group.addoption(
        _OPTION,
        dest="vkamp_accelerators",
        default=None,
        metavar="A,B|all",
        help="the accelerators to run on, each named as VKAMP_ACCELERATOR names one, with the engine behind an @ "
        "(swiftshader@vulkan) unless it is that of VKAMP_ENGINE; one that is not here is an error; "
        "'all': those of the ini option and every further device of this machine "
        "(default: the ini option vkamp_accelerators, else every device of this machine and the reference accelerator)",
    )
    group.addoption(
        "--vkamp-accept",
        dest="vkamp_accept",
        action="store_true",
        help="rewrite the golden files with what the tests find; review the difference",
    )
    group.addoption(
        "--vkamp-check",
        dest="vkamp_check",
        action="store_true",
        help="run the launches of every test that takes an accelerator in check mode",
    )
    parser.addini("vkamp_accelerators", "the accelerators to run on, unless the command line names some", type="args")


def pytest_configure(config: pytest.Config) -> None:
    for text in _MARKERS:
        config.addinivalue_line("markers", text)
    if not _is_worker(config):
        config.pluginmanager.register(_Closing(config), "vkamp-closing")


def accelerator_names(config: pytest.Config) -> tuple[str, ...]:
    """The names of the session's accelerators, without repetition, in their order."""
    session = _session(config)
    if session.names is None:
        session.names = tuple(dict.fromkeys(_chosen(config)))
    return session.names


def _chosen(config: pytest.Config) -> list[str]:
    named = _split(config.getini("vkamp_accelerators"))
    option = config.getoption("vkamp_accelerators")
    if option is not None:
        asked = _split([option])
        if not all(asked):
            raise pytest.UsageError(f"{_OPTION}: a name is empty")
        if "all" not in asked:
            return asked
        named += [name for name in asked if name != "all"]
    elif named:
        return named
    from vkamp.testing import devices

    # Named accelerators come first, and must exist.
    found = [*named, *devices.further(named)]
    return found if "reference" in found else [*found, "reference"]


def _split(words: Iterable[str]) -> list[str]:
    return [name.strip() for word in words for name in word.rstrip(",").split(",")]


# -- which test runs where -----------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    _check_marks(metafunc)
    if not _takes_accelerator(metafunc):
        return
    config = metafunc.config
    if _is_worker(config) and _absent(config):
        # Another process shows it; it would not receive a usage error.
        raise pytest.Collector.CollectError(_absence(config))
    names = [_Name(name) for name in _names_for(metafunc.definition, config)]
    metafunc.parametrize(_FIXTURE, names, indirect=True, scope="session")


def _takes_accelerator(metafunc: pytest.Metafunc) -> bool:
    """Whether a test uses this plugin's fixture, and not a fixture of the same name or one that is already
    parametrised."""
    if _FIXTURE not in metafunc.fixturenames or _FIXTURE in _parametrised(metafunc.definition):
        return False
    definitions = metafunc._arg2fixturedefs.get(_FIXTURE, ())
    for definition in reversed(definitions):
        if definition.func.__module__ == __name__:
            return True
        if _FIXTURE not in definition.argnames:
            return False  # it replaces this plugin's
    return False


def _parametrised(node: pytest.Item) -> set[str]:
    found: set[str] = set()
    for mark in node.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
        found.update(n.strip() for n in (names.split(",") if isinstance(names, str) else names))
    return found


def _check_marks(metafunc: pytest.Metafunc) -> None:
    node = metafunc.definition
    for mark in node.iter_markers("vkamp_accelerators"):
        if not mark.args or not all(isinstance(name, str) for name in mark.args) or mark.kwargs:
            raise pytest.Collector.CollectError(f"{node.nodeid}: vkamp_accelerators takes names of accelerators")
    for mark in node.iter_markers("vkamp_requires"):
        from vkamp.testing.devices import ABILITIES

        unknown = [name for name in mark.args if name not in ABILITIES]
        if unknown or not mark.args or mark.kwargs:
            what = f"does not know {', '.join(map(str, unknown))}" if unknown else "takes names"
            raise pytest.Collector.CollectError(
                f"{node.nodeid}: vkamp_requires {what}; the names are {', '.join(sorted(ABILITIES))}"
            )
        if _FIXTURE not in metafunc.fixturenames:
            raise pytest.Collector.CollectError(
                f"{node.nodeid}: vkamp_requires is for tests that take the fixture accelerator"
            )


def _names_for(node: pytest.Item, config: pytest.Config) -> list[str]:
    """The session's accelerators on which a test runs."""
    names = list(accelerator_names(config))
    mark = node.get_closest_marker("vkamp_accelerators")
    if mark is None:
        return names
    wanted: set[str] = set()
    for word in mark.args:
        wanted.update(_standing_for(word, names))
    return [name for name in names if name in wanted]


def _standing_for(word: str, names: list[str]) -> list[str]:
    """The names that a word in a mark selects, by the name itself or by its device."""
    if word == "drivers":
        return [name for name in names if name != "reference"]
    # The engine after an @ does not change the device.
    same = [name for name in names if word.lower() in (name.lower(), name.lower().partition("@")[0])]
    if same:
        return same
    from vkamp.testing import devices

    return [name for name in names if devices.is_called(name, word)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = []
    for item in items:
        mark = item.get_closest_marker("vkamp_accelerators")
        if mark is not None and not _names_for(item, config):
            _session(config).left_out[_function(item.nodeid)] = ", ".join(mark.args)
            left_out.append(item)
        else:
            _skip_where_it_cannot_run(item)
    if left_out:
        # The test is deselected, not skipped: it follows from the choice of the session's accelerators.
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _skip_where_it_cannot_run(item: pytest.Item) -> None:
    name = _accelerator_of(item)
    wanted = [ability for mark in item.iter_markers("vkamp_requires") for ability in mark.args]
    if name is None or not wanted or _absent(item.config):
        return
    from vkamp.testing import devices

    reason = devices.lacking(name, dict.fromkeys(wanted))
    if reason:
        item.stash.setdefault(_NOTES, _Notes()).not_run = reason
        item.add_marker(pytest.mark.skip(reason=f"{devices.lookup(name).name} {reason}"))


def _accelerator_of(item: pytest.Item) -> str | None:
    """The name of the accelerator that a test runs on; ``None`` for tests without one."""
    callspec = getattr(item, "callspec", None)
    name = callspec.params.get(_FIXTURE) if callspec is not None else None
    return name if isinstance(name, _Name) else None


def _function(nodeid: str) -> str:
    """A test without its parameters."""
    return nodeid.partition("[")[0]


# -- the accelerators of the session -------------------------------------------------------------------------------


def _absent(config: pytest.Config) -> list[str]:
    session = _session(config)
    if session.absent is None:
        from vkamp.testing import devices

        session.absent = devices.absent(accelerator_names(config))
    return session.absent


def _absence(config: pytest.Config) -> str:
    return "\n".join(
        [
            "vkamp: some of the accelerators for the tests are missing:",
            *_absent(config),
            f"Install what is missing, or name others with {_OPTION} or the ini option vkamp_accelerators.",
        ]
    )


def pytest_deselected(items: Iterable[pytest.Item]) -> None:
    for item in items:
        _session(item.config).incomplete.add(str(item.path))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if any(_accelerator_of(item) is not None for item in session.items):
        if _absent(config):
            # Before the first test: a missing device must never look like a passed test.
            raise pytest.UsageError(_absence(config))
        _session(config).devices = _about_devices(config)
    if not any("::" in argument for argument in config.args):
        _note_golden(session)


def _about_devices(config: pytest.Config) -> list[str]:
    from vkamp.testing import devices

    names = accelerator_names(config)
    lines = [f"vkamp: {name}: {devices.described(name)}" for name in names]
    if names == ("reference",) and not _was_chosen(config):
        lines.append("vkamp: there is no Vulkan device here: all tests run on the reference accelerator")
    return lines


def _was_chosen(config: pytest.Config) -> bool:
    return config.getoption("vkamp_accelerators") not in (None, "all") or bool(config.getini("vkamp_accelerators"))


def _note_golden(session: pytest.Session) -> None:
    """Records the test files whose golden shaders can all be used."""
    known = _session(session.config)
    for item in session.items:
        if "golden_shader" not in getattr(item, "fixturenames", ()) or str(item.path) in known.incomplete:
            continue
        file = known.golden.setdefault(str(item.path), {"tests": [], "others": []})
        file["tests"].append(item.nodeid)
        if _accelerator_of(item) is not None:
            file["others"].append(_test_name(_function(item.nodeid)))


def _test_name(nodeid: str) -> str:
    """A test's name within its file."""
    return nodeid.partition("::")[2].replace("::", ".")


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    return _session(config).devices


# -- fixtures ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def accelerator(request: pytest.FixtureRequest) -> amp.accelerator:
    """Each accelerator of the session in turn: the test runs once on each."""
    import vkamp as amp

    if not hasattr(request, "param"):
        pytest.fail(
            "the fixture accelerator must be an argument of the test or of its fixtures: "
            "request.getfixturevalue comes too late to run the test on each accelerator\n"
            "(and pytest runs a method of a unittest.TestCase only once)",
            pytrace=False,
        )
    return amp.accelerator(request.param)


@pytest.fixture
def accelerator_view(accelerator: amp.accelerator) -> Iterator[amp.accelerator_view]:
    """The default view of `accelerator`; work that a test left pending is finished after the test."""
    view = accelerator.default_view
    yield view
    view.wait()


@pytest.fixture
def golden_shader(request: pytest.FixtureRequest) -> GoldenShaders:
    """Compares a shader with a file beside the test: `golden_shader(kernel.inspect(...), name="")`.

    The file is golden/TEST_FILE/TEST.comp, or TEST-name.comp; --vkamp-accept writes it.
    """
    from vkamp.testing.golden import GoldenShaders

    notes = request.node.stash.setdefault(_NOTES, _Notes())

    def tell(path: Path, is_rewritten: bool) -> None:
        notes.used.append(str(path))
        if is_rewritten:
            notes.rewritten.append(str(path))

    test = _test_name(request.node.nodeid)
    return GoldenShaders(request.path, test, request.config.getoption("vkamp_accept"), tell)


# -- running -------------------------------------------------------------------------------------------------------


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    is_asked = item.config.getoption("vkamp_check") and _accelerator_of(item) is not None
    if not is_asked and item.get_closest_marker("vkamp_check") is None:
        yield
        return
    before = os.environ.get(_CHECK_VARIABLE)
    os.environ[_CHECK_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_CHECK_VARIABLE, None)
        else:
            os.environ[_CHECK_VARIABLE] = before


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    name, notes = _accelerator_of(item), item.stash.get(_NOTES, None)
    if name is None and notes is None:
        return
    # Attributes of a report travel from the processes of pytest-xdist, if they are plain data.
    report.vkamp = {"accelerator": None if name is None else str(name), **vars(notes or _Notes())}
    if name is not None and report.failed and call.excinfo is not None:
        report.sections.append(("vkamp", "\n".join(_about_failure(name, call.excinfo.value))))


def _about_failure(name: str, error: BaseException) -> list[str]:
    """The accelerator on which a test failed, and the known faults of its driver."""
    from vkamp.errors import UnsupportedFeatureError
    from vkamp.testing import devices

    lines = [f"{name}: {devices.described(name)}"]
    if isinstance(error, AssertionError):
        lines += [f"known trap: it {trap}" for trap in devices.traps(name)]
        if len(lines) > 1:
            lines.append("mark a test that depends on this: @pytest.mark.vkamp_requires(...) (docs/testing.md)")
    elif isinstance(error, UnsupportedFeatureError):
        lines += [
            f"features: {', '.join(devices.features(name)) or 'none'}",
            "mark a test that needs others: @pytest.mark.vkamp_requires(...)",
        ]
    return lines


class _Closing:
    """Collects the reports of the tests and prints a summary at the end, in the process that shows the results."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.session = _session(config)
        self.has_workers = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told, session = getattr(report, "vkamp", None), self.session
        if told is None:
            return
        test = _function(report.nodeid)
        if report.when == "setup" and told["not_run"]:
            tests = session.not_run.setdefault((told["accelerator"], told["not_run"]), [])
            if test not in tests:
                tests.append(test)
        if report.when == "call":
            session.ran.add(test)
            if report.passed:
                session.passed.add(report.nodeid)
            session.used.update(told["used"])
            session.rewritten.update(told["rewritten"])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        told = getattr(node, "workeroutput", {}).get("vkamp")
        if told is not None:
            # All workers collect the same tests.
            self.has_workers = True
            self.session.left_out.update(told["left_out"])
            self.session.devices, self.session.golden = told["devices"], told["golden"]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write, session = terminalreporter.write_line, self.session
        most = None if self.config.getoption("verbose") > 0 else _MAX_LINES
        not_run = _lines_of_not_run(session, most)
        golden = self._lines_of_golden(most)
        if self.has_workers:
            for line in session.devices:
                write(line)
        for title, lines in (("not run", not_run), ("golden shaders", golden)):
            if lines:
                terminalreporter.write_sep("=", f"vkamp: {title}")
                for line in lines:
                    write(line)

    def _lines_of_golden(self, most: int | None) -> list[str]:
        session = self.session
        lines = _listed("rewritten; review the difference:", map(self._relative, sorted(session.rewritten)), most)
        unused: list[str] = []
        for file, found in session.golden.items():
            if session.passed.issuperset(found["tests"]):
                from vkamp.testing.golden import unused as unused_in

                used = map(Path, session.used)
                unused += [self._relative(str(path)) for path in unused_in(Path(file), used, found["others"])]
        return lines + _listed("no longer used by any test; delete them:", unused, most)

    def _relative(self, path: str) -> str:
        root = self.config.rootpath
        return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path


def _lines_of_not_run(session: _Session, most: int | None) -> list[str]:
    lines = []
    for (name, reason), tests in session.not_run.items():
        lines += _listed(f"{name}: {reason}:", tests, most)
    everywhere = {test for tests in session.not_run.values() for test in tests}
    nowhere = [f"{test} (skipped on all)" for test in everywhere - session.ran]
    nowhere += [f"{test} (is for {names})" for test, names in session.left_out.items() if test not in session.ran]
    return lines + _listed("on no accelerator of this session:", sorted(nowhere), most)


def _listed(title: str, rows: Iterable[str], most: int | None) -> list[str]:
    """A list with a title, unless it is empty; at most ``most`` lines."""
    shown = [f"  {row}" for row in rows]
    if most is not None and len(shown) > most:
        shown[most:] = [f"  and {len(shown) - most} more (-v lists them)"]
    return [title, *shown] if shown else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _is_worker(session.config):
        known = _session(session.config)
        told = {"left_out": known.left_out, "devices": known.devices, "golden": known.golden}
        session.config.workeroutput["vkamp"] = told  # type: ignore[attr-defined]
