"""A process that runs programs: a driver may crash or hang on one, and the other programs must run.

Lines in: a batch, as ``pickle`` of a list of programs or seeds, in base 64.  Lines out, each behind a marker, since
drivers write to the standard output too: ``at NUMBER ACCELERATOR`` before each run, ``done NUMBER FAILURE`` after a
program (its failure, or nothing), ``ready`` after a batch.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import gc
import itertools
import pickle
import sys
import time
from collections import Counter
from typing import Any

from tools.fuzz.changes import changed
from tools.fuzz.mutants import judge
from tools.fuzz.programs import program as program_of
from tools.fuzz.real import real_programs
from tools.fuzz.run import ORACLES, Failure, Loaded, compare, forget, load, lowered, quietly, run, subgroup_size
from tools.fuzz.tree import Mutant, Program

__all__ = ["MARKER", "check", "decode", "encode", "made", "main"]

MARKER = "\x02fuzz "
#: Refusals of programs whose copies Python would not have made: random assignments make some.
_LOST_COPIES = ("VKA353", "VKA355")
#: Which driver and engine have the types of 64 bits.
_LONG = "llvmpipe@vulkan"


@functools.cache
def _real() -> list[Program]:
    return real_programs()


def made(item: int | Program) -> Program:
    """The program of a seed."""
    if isinstance(item, Mutant):
        return changed(_real()[item % len(_real())], int(item))
    return program_of(item) if isinstance(item, int) else item


def encode(value: Any) -> str:
    """Any value as one word."""
    return base64.b64encode(pickle.dumps(value)).decode()


def decode(text: str) -> Any:
    """Decodes the result of :func:`encode`."""
    return pickle.loads(base64.b64decode(text))


def _say(text: str) -> None:
    sys.stdout.write(f"\n{MARKER}{text}\n")
    sys.stdout.flush()


def _warm(loaded: list[Loaded], drivers: list[str]) -> None:
    """Compiles the batch's shaders together; whatever is wrong with one shows when that one runs."""
    import vkamp as amp
    from vkamp import spirv

    texts = []
    for each in loaded:
        for name in filter(None, (_turn(names, each.program) for names in drivers)):
            with contextlib.suppress(Exception), quietly(), lowered(name) as plain:
                view = amp.accelerator(plain).default_view
                arguments = [*each.containers(view), *each.scalars()]
                shader = each.kernel.inspect(view, each.domain(), *arguments, **each.program.constants)
                texts.append(shader.glsl)
    with contextlib.suppress(amp.AmpError):
        spirv.compile_many(list(dict.fromkeys(texts)))


def _turn(names: str, program: Program) -> str:
    """The accelerator of a kernel, from several in rotation (``a|b``); ``""``: none of them has its types."""
    several = names.split("|")
    if program.long:
        several = [n for n in several if n in ORACLES or n.partition("+")[0] == _LONG]
    return several[program.seed % len(several)] if several else ""


def check(loaded: Loaded, accelerators: list[str], spent: Counter[str], number: int = -1) -> Failure | None:
    """Runs one program on each accelerator; the others must give the results of the first one. The oracles run it with
    the subgroup size of each device that is compared with them.
    """
    names = [name for several in accelerators if (name := _turn(several, loaded.program))]
    oracles = list(itertools.takewhile(lambda name: name in ORACLES, names))
    devices = names[len(oracles) :]
    sizes = {name: subgroup_size(loaded, name) for name in devices} if oracles else dict.fromkeys(devices)
    for size in dict.fromkeys(sizes.values()) or [None]:
        failure = _same(loaded, [*oracles, *(n for n in devices if sizes[n] == size)], size, spent, number)
        if failure is not None:
            return failure
    return None


def _same(loaded: Loaded, names: list[str], size: int | None, spent: Counter[str], number: int) -> Failure | None:
    """Whether accelerators give the same as the first of them; ``size``: of the oracles' subgroups."""
    wanted: dict[str, Any] = {}
    for name in names:
        if number >= 0:
            _say(f"at {number} {name}")
        start = time.process_time()
        found = run(loaded, name, size)
        spent[name] += int((time.process_time() - start) * 1e6)
        if isinstance(found, Failure):
            return None if found.kind == "refused" and found.detail in _LOST_COPIES else found
        if not wanted:
            wanted = found
            continue
        failure = compare(loaded.program, wanted, found, name)
        if failure is not None:
            return failure
    return None


def _batch(items: list[int | Program], accelerators: list[str]) -> None:
    spent: Counter[str] = Counter()
    start = time.process_time()
    programs = [made(item) for item in items]
    spent["generator"] += int((time.process_time() - start) * 1e6)
    loaded: list[Loaded | None] = []
    for number, each in enumerate(programs):
        try:
            loaded.append(load(each))
        except Exception as error:
            loaded.append(None)
            _say(f"done {number} {encode(Failure('crash', 'python', type(error).__name__, str(error)))}")
    start = time.process_time()
    drivers = [name for name in accelerators if name not in ORACLES]
    if len(items) > 1 and drivers and programs[0].changes is None:
        _warm([each for each in loaded if each is not None], drivers)
    spent["compiler"] += int((time.process_time() - start) * 1e6)
    outcomes: Counter[str] = Counter()
    for number, one in enumerate(loaded):
        if one is None:
            continue
        failure: Failure | None
        if one.program.changes is None:
            failure = check(one, accelerators, spent, number)
        else:
            start = time.process_time()
            chosen = [t for names in accelerators if (t := _turn(names, one.program)) not in ("", *ORACLES)]
            word, failure = judge(one, chosen, lambda name, n=number: _say(f"at {n} {name}"))  # type: ignore[misc]
            spent["judging"] += int((time.process_time() - start) * 1e6)
            outcomes[word] += 1
        forget(one)
        _say(f"done {number} {encode(failure)}")
    _say(f"ready {encode((spent, outcomes))}")


def main() -> None:
    """Serves batches until the input ends."""
    # Syntax trees and IR are many small objects that are freed together; searching them for cycles takes long.
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)
    for line in sys.stdin:
        items, accelerators = decode(line)
        _batch(items, accelerators)


if __name__ == "__main__":
    main()
