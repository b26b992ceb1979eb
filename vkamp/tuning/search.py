"""``amp.tune``: compiles candidates, compares them with the right results, times them, and stores the best one."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.errors import AcceleratorRemovedError, AmpError
from vkamp.lang.overloads import own_signature
from vkamp.progress import activity
from vkamp.run.accelerators import info_of
from vkamp.tracebacks import entry_point
from vkamp.tuning import autotuned, tables, timing
from vkamp.tuning.autotuned import Autotuned, TunedCall, forcing, noting
from vkamp.tuning.cases import TunedArguments, awkward, containers_of, copied, difference, outcome
from vkamp.tuning.report import Search, Trial, TuningReport
from vkamp.tuning.space import ALL, Parameters, label, values_of
from vkamp.tuning.store import Store

#: A candidate is too slow after this many seconds, unless the default takes more than a tenth of that.
TIME_OUT = 2.0
#: The number of candidates that compile at the same time, and of those from which the next step of a search by
#: neighbours continues.
_THREADS, _KEPT = 8, 4

#: Check mode also checks the call itself if its containers have at most this many bytes: it is slow, and needs memory.
_CHECKED_BYTES = 4 << 20

#: Called with the step, how much of it is done, how much there is, and a text.
Progress = Callable[[str, int, int, str], Any]


@entry_point
def tune(
    function: Any, /, *args: Any, budget: float = 10.0, progress: Progress | None = None, **named: Any
) -> TuningReport:  # fmt: skip
    """Searches the parameters of a tuned function, or of those that a function calls, for a call with these arguments.

    The arguments are copied, and stay as they are.  Each candidate is compared with the default's results (or those of
    ``reference``), on these arguments and on small ones of awkward sizes, and checked for races and accesses out of
    bounds, before it is timed.  What is found is stored for this device, driver and engine; later calls take it, also
    in other processes.  ``budget``: seconds after which no more is tried.  ``progress``: called with the step, what is
    done of how much, and a text.

    Returns a report: ``print(report.table())``, ``report.rejected``, ``report.plot(path)``.  Raises ``ValueError`` if
    the function calls nothing that is tuned, and what its call raises.
    """
    if not (isinstance(budget, (int, float)) and budget > 0):
        raise ValueError(f"tune: budget={budget!r}: it must be a positive number of seconds")
    with autotuned.searching:
        if isinstance(function, Autotuned):
            calls = [TunedCall(function, function.view_of(args, named), args, named)]
        else:
            with noting() as noted:
                function(*args, **named)
            calls = list({(each.tuned.name, each.key): each for each in noted}.values())
        if not calls:
            raise ValueError(f"tune: {getattr(function, '__name__', function)!r} calls no function of amp.autotune")
        return TuningReport([search(each, budget / len(calls), progress) for each in calls])


def search(call: TunedCall, budget: float = 10.0, progress: Progress | None = None) -> Search:
    """The search for one call of one tuned function."""
    with autotuned.searching, activity(f"tuning {call.tuned.__name__}"):
        return _Searching(call, budget, progress).run()


class _Searching:
    """One search."""

    def __init__(self, call: TunedCall, budget: float, progress: Progress | None) -> None:
        self.call, self.tuned, self.view = call, call.tuned, call.view
        self.given = TunedArguments(tuple(call.args), dict(call.named))
        self.space = self.tuned.space
        self.limits = self.view.accelerator.limits
        self.store = Store(info_of(self.view))
        self.default = self.tuned.default(*call.args, **call.named)
        self.progress = progress or (lambda step, done, total, text: None)
        self.ends = time.perf_counter() + budget
        self.began = time.perf_counter()
        self.trials: dict[Parameters, Trial] = {}
        self.chains: dict[Parameters, timing.Chain] = {}
        self.single: dict[Parameters, float] = {}
        self.expected: dict[str, list[np.ndarray[Any, Any]] | None] = {}
        self.untried = 0

    def is_over(self) -> bool:
        return time.perf_counter() > self.ends

    # -- the steps

    def run(self) -> Search:
        known = self._known_to_be_bad()
        self._note(self.default)
        self._compare_default()
        self.sets = [copied(self.given, self.view) for _ in range(timing.sets_of(self.given.nbytes, self.view))]
        self.pristine = copied(self.given, self.view) if self.tuned.options["restore"] else None
        if self.space.size <= ALL:
            right = self._right(list(self.space.candidates()), known)
        else:
            right = self._by_neighbours(known)
        timing.warm(self._chain(self.default))
        best, times = timing.contest(
            self.default, [each for each in right if each != self.default], self._measure, self.is_over
        )
        for each, found in times.items():
            self.trials[each].seconds = found
        return self._finish(best)

    def _finish(self, best: Parameters) -> Search:
        made = Search(
            self.tuned.name, self.view.accelerator.description, self.call.key, self.default, best,
            list(self.trials.values()), time.perf_counter() - self.began, self.untried,
        )  # fmt: skip
        entry = {
            "function": self.tuned.name, "key": self.call.key, "parameters": _labels(best), "gain": made.gain,
            "seconds": made.seconds_of(best), "default": _labels(self.default),
            "default_seconds": made.seconds_of(self.default), "made": time.strftime("%Y-%m-%d %H:%M:%S"),
            "rejected": [{"parameters": _labels(t.parameters), "reason": t.reason} for t in made.rejected],
        }  # fmt: skip
        made.stored = self.store.write(self.tuned.identity, self.call.key, entry)
        autotuned.changed()
        return made

    def _known_to_be_bad(self) -> dict[str, str]:
        """The reasons of candidates that failed in ways that are not tried again, by their text."""
        entry = self.store.read(self.tuned.identity, self.call.key) or {}
        found = {
            str(each["parameters"]): each["reason"]
            for each in entry.get("rejected", [])
            if each["reason"].startswith(("the device was lost", "the process ended", "it takes longer"))
        }
        for each in self.store.crashed(self.tuned.identity, self.call.key):
            found[str(each)] = "the process ended while it ran"
        return found

    def _note(self, parameters: Parameters, reason: str = "") -> None:
        self.trials[parameters] = Trial(parameters, reason)

    # -- right first

    def _right(self, candidates: Sequence[Parameters], known: dict[str, str]) -> list[Parameters]:
        """The candidates that compile and compute the same as the default."""
        wanted = []
        for each in candidates:
            if each == self.default:
                continue
            self._note(each)
            if str(_labels(each)) in known:
                self._note(each, known[str(_labels(each))])
            elif not self.space.is_allowed(each, self.limits):
                self._note(each, "`where` refuses it")
            else:
                wanted.append(each)
        return [self.default, *(each for each in self._compiled(wanted) if self._passes(each, len(wanted)))]

    def _compiled(self, candidates: Sequence[Parameters]) -> list[Parameters]:
        """The candidates that compile. Several compile at a time."""

        def compile(parameters: Parameters) -> str:
            try:
                with warnings.catch_warnings(), amp.capture(self.view):
                    warnings.simplefilter("ignore", amp.CompileTimeWarning)
                    self._call(parameters, self.sets[0])
            except AmpError as error:
                # A function that waits cannot be captured: its candidates compile when they run.
                return "" if "amp.capture()" in str(error) else _first_line(error)
            except (TypeError, ValueError) as error:
                return _first_line(error)
            return ""

        right = []
        with ThreadPoolExecutor(_THREADS) as pool:
            for number, (each, reason) in enumerate(zip(candidates, pool.map(compile, candidates), strict=True)):
                self.progress("compile", number + 1, len(candidates), str(each))
                if reason:
                    self._note(each, f"it does not compile: {reason}")
                else:
                    right.append(each)
        return right

    def _passes(self, parameters: Parameters, total: int) -> bool:
        if self.is_over():
            self.untried += 1
            self._note(parameters, "there was no time left to try it")
            return False
        self.progress("check", len(self.single), total, str(parameters))
        self.store.begin_trial(self.tuned.identity, self.call.key, _labels(parameters))
        try:
            reason = self._fault(parameters)
        except AcceleratorRemovedError:
            self._note(parameters, "the device was lost")
            self.store.write(
                self.tuned.identity, self.call.key,
                {"function": self.tuned.name, "key": self.call.key, "parameters": None,
                 "rejected": [{"parameters": _labels(parameters), "reason": "the device was lost"}]},
            )  # fmt: skip
            raise
        finally:
            self.store.end_trial(self.tuned.identity, self.call.key)
        if reason:
            self._note(parameters, reason)
        return not reason

    def _fault(self, parameters: Parameters) -> str:
        """Why a candidate is wrong; empty if it is right."""
        try:
            for name, case in self._cases(parameters):
                expected = self._expected(name, case)
                if expected is None:
                    continue
                found = self._checked(parameters, case)
                if found:
                    return f"{found} ({name})"
                found = difference(expected, self._outcome(parameters, case), self.tuned.options["tolerance"])
                if found:
                    return f"{found} ({name})"
            found = self._checked(parameters, self.given) if self.given.nbytes <= _CHECKED_BYTES else ""
            if found:
                return found
            given = copied(self.given, self.view)
            found = difference(
                self.expected["the call"] or [], self._outcome(parameters, given), self.tuned.options["tolerance"]
            )
            return found or self._too_slow(parameters)
        except AcceleratorRemovedError:
            raise
        except (AmpError, TypeError, ValueError) as error:
            return _first_line(error)

    def _cases(self, parameters: Parameters) -> Iterable[tuple[str, TunedArguments]]:
        given = self.tuned.options["cases"]
        if given is None:
            return awkward(self.given, parameters, self.view)
        made = given(*self.given.args, **self.given.named)
        return ((f"case {k}", TunedArguments(tuple(each), {})) for k, each in enumerate(made))

    def _checked(self, parameters: Parameters, case: TunedArguments) -> str:
        """The findings of check mode in a candidate's launches."""
        given = copied(case, self.view)
        try:
            with amp.capture(self.view) as graph:
                kept = self._call(parameters, given)
        except AmpError as error:
            if "amp.capture()" in str(error):
                return ""
            raise
        for report in graph.check():
            if not report.ok:
                return f"check mode: {_first_line(report.findings[0])}"
        del kept
        return ""

    def _too_slow(self, parameters: Parameters) -> str:
        given = self.sets[0]
        self.view.wait()
        started = time.perf_counter()
        kept = self._call(parameters, given)
        self.view.wait()
        self.single[parameters] = time.perf_counter() - started
        del kept
        limit = max(TIME_OUT, 10 * self.single[self.default])
        return f"it takes longer than {limit:.0f} s" if self.single[parameters] > limit else ""

    def _compare_default(self) -> None:
        """Computes the results that candidates are compared with."""
        given = copied(self.given, self.view)
        self.expected["the call"] = self._reference(given)
        self.view.wait()
        started = time.perf_counter()
        kept = self._call(self.default, given)
        self.view.wait()
        self.single[self.default] = time.perf_counter() - started
        del kept

    def _expected(self, name: str, case: TunedArguments) -> list[np.ndarray[Any, Any]] | None:
        """The right results of a case; ``None`` for a case that the function refuses."""
        if name not in self.expected:
            try:
                self.expected[name] = self._reference(copied(case, self.view))
            except AcceleratorRemovedError:
                raise
            except (AmpError, TypeError, ValueError, IndexError):
                self.expected[name] = None
        return self.expected[name]

    def _reference(self, given: TunedArguments) -> list[np.ndarray[Any, Any]]:
        right = self.tuned.options["reference"]
        if right is None:
            default = self.tuned.default(*given.args, **given.named)
            return outcome(self._call(default, given), given)
        return outcome(right(*given.args, **given.named), given)

    def _outcome(self, parameters: Parameters, case: TunedArguments) -> list[np.ndarray[Any, Any]]:
        given = copied(case, self.view)
        return outcome(self._call(parameters, given), given)

    def _call(self, parameters: Parameters, given: TunedArguments) -> Any:
        with forcing(self.tuned, parameters):
            return self.tuned.run(parameters, given.args, given.named)

    # -- times

    def _chain(self, parameters: Parameters) -> timing.Chain:
        if parameters not in self.chains:
            calls = [lambda each=each: self._restored(parameters, each) for each in self.sets]
            self.chains[parameters] = timing.Chain(self.view, calls, self.single[self.default])
            self.chains[parameters].run()
        return self.chains[parameters]

    def _restored(self, parameters: Parameters, given: TunedArguments) -> Any:
        if self.pristine is not None:
            bound, pristine = (self._bound(each) for each in (given, self.pristine))
            for name in self.tuned.options["restore"]:
                for one, other in zip(containers_of(pristine[name]), containers_of(bound[name]), strict=True):
                    amp.copy(one, other)
        return self._call(parameters, given)

    def _bound(self, given: TunedArguments) -> dict[str, Any]:
        signature = own_signature(self.tuned.function)
        return dict(signature.bind_partial(*given.args, **given.named).arguments)

    def _measure(self, parameters: Parameters) -> float:
        seconds = self._chain(parameters).seconds()
        trial = self.trials[parameters]
        trial.seconds = [*trial.seconds, seconds]
        timed = [each for each in self.trials.values() if each.seconds]
        self.progress("time", len(timed), len(self.single), f"{seconds * 1e6:.1f} us  {parameters}")
        return seconds

    def _by_neighbours(self, known: dict[str, str]) -> list[Parameters]:
        """The best candidate of a large space: the search starts at the default and the shipped tables, and goes to
        neighbours.
        """
        starts = [self.default, *self._from_tables()]
        timing.warm(self._chain(self.default))
        fresh = list(dict.fromkeys([*starts, *(near for each in starts for near in self.space.neighbours(each))]))
        times: dict[Parameters, float] = {}
        while fresh and not self.is_over():
            for each in self._right(fresh, known):
                if each not in times:
                    times[each] = min(self._measure(each) for _ in range(2))
            best = sorted(times, key=lambda each: times[each])[:_KEPT]
            seen = self.trials.keys()
            fresh = list(dict.fromkeys(n for each in best for n in self.space.neighbours(each) if n not in seen))
        for trial in self.trials.values():
            trial.seconds = []
        return sorted(times, key=lambda each: times[each])[: 2 * _KEPT]

    def _from_tables(self) -> Iterator[Parameters]:
        """The parameters that the tables for the device have for any key, but not those that the space lacks."""
        for name in tables.names_of(info_of(self.view)):
            # A call warns of a file that is not a table, or of parameters that it cannot use.
            with contextlib.suppress(AmpError):
                for entry in tables.table(name, self.tuned.options["tables"] or tables.FOLDER).values():
                    if entry["function"] == self.tuned.name:
                        with contextlib.suppress(ValueError):
                            yield self.space.read(entry.get("parameters"))


def _labels(parameters: Parameters) -> dict[str, Any]:
    return {name: label(value) for name, value in values_of(parameters).items()}


def _first_line(error: object) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


autotuned.set_searcher(search)
