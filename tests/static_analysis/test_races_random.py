"""The compiler's verdicts on random kernels against the reference accelerator, which sees every race that happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from tests.static_analysis.random_kernels import random_kernel, with_alarm
from vkamp import sim
from vkamp.check.race_prover.interpreter import Interpreter
from vkamp.check.race_prover.report import RaceVerdicts, judge_races
from vkamp.check.race_prover.run import RaceFound, Run
from vkamp.check.races import check_certain_races
from vkamp.check.uniformity import Uniformity, check_uniformity
from vkamp.errors import CheckError, CompileError
from vkamp.ir.nodes import Kernel

#: Captured values, and orders of threads.
LAUNCHES = [(n, seed) for n in (-3, 0, 1, 2, 3, 5, 6, 9) for seed in (None, 1)]
KERNELS = 200


def outcomes(program: Kernel) -> Iterator[tuple[str, str]]:
    """The kind and variable of what each launch ends with; a kernel may index out of bounds, too."""
    assert program.tile is not None
    domain = (4 * program.tile[0], *(2 * size for size in program.tile[1:]))
    for n, seed in LAUNCHES:
        buffers = {
            "data": np.arange(64, dtype=np.int32) % 3,
            "matrix": np.zeros((16, 16), np.float32),
            "averages": np.zeros((16, 16), np.float32),
            "counts": np.zeros(16, np.uint32),
        }
        try:
            sim.run(program, domain, buffers, {"n": n}, seed=seed)
        except CheckError as error:
            yield error.findings[0].kind, error.findings[0].variable
        else:
            yield "", ""


def races(program: Kernel) -> set[str]:
    return {variable for kind, variable in outcomes(program) if kind == "race"}


def reached(program: Kernel, uniformity: Uniformity) -> bool:
    """Whether some launch reaches both accesses of the race that was found."""
    with pytest.raises(RaceFound) as caught:
        Interpreter(Run(program, uniformity)).block(program.body.body)
    accesses = (caught.value.conflict.later, caught.value.conflict.earlier)
    return all(
        any(kind == "assert" for kind, _ in outcomes(with_alarm(program, access.path[-1][0]))) for access in accesses
    )


def judged(seed: int) -> str:
    """What becomes of the kernel of this number, which must agree with what happens."""
    program = random_kernel(seed)
    try:
        uniformity = check_uniformity(program)
        check_certain_races(program, uniformity)
    except CompileError:
        return "refused otherwise"
    seen, found, verdicts = races(program), "", RaceVerdicts()
    try:
        verdicts = judge_races(program, uniformity)
    except CompileError as error:
        found = str(error)
    if found:
        assert seen or not reached(program, uniformity), f"{seed}: {found}"
        return "found"
    assert not seen & verdicts.proved, seed
    if verdicts.unknown and verdicts.proved and seen:
        return "racy elsewhere"
    return "unknown" if verdicts.unknown else "proved"


def test_verdicts() -> None:
    count = Counter(judged(seed) for seed in range(KERNELS))
    assert count["found"] > KERNELS // 4
    assert count["proved"] > KERNELS // 10
    assert count["unknown"] > 2
    # A wrong proof would be seen: these race, on what was not proved.
    assert count["racy elsewhere"] > 5
