"""Everything that the compiler generates for the tests' kernels, as text: for comparing two versions of the compiler.

``tools/env python -m tests.outputs FOLDER`` writes it into files.  No driver is used: the targets are defined here.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import vkamp as amp
from tests.check_mode.cases import CASES
from tests.emit.random_expressions import random_kernel as random_expressions
from tests.emit.table import PROGRAMS as PRINTED
from tests.static_analysis import uniform_control, uniform_values
from tests.static_analysis.programs import Programs, arguments, domain
from tests.static_analysis.random_control import lowered, source_of
from tests.static_analysis.random_kernels import random_kernel
from tests.types.random_kernels import SIZE, WIDE
from tests.types.random_kernels import kernel_of as random_types
from tools.fuzz.programs import program as random_program
from tools.fuzz.run import forget, load
from tools.kernels.corpus.registry import PAIRS, Pair
from tools.kernels.lowered.programs import PROGRAMS as LOWERED
from vkamp.artifacts import Target
from vkamp.check.instrument import instrument
from vkamp.check.race_prover.report import RaceVerdicts, judge_races
from vkamp.check.races import check_certain_races
from vkamp.check.uniformity import check_uniformity
from vkamp.dispatch import preparing
from vkamp.dispatch.domain import domain_of
from vkamp.errors import CompileError
from vkamp.ir.nodes import Kernel
from vkamp.ir.text import text
from vkamp.legalize.bind_arrays import bind_arrays
from vkamp.lower import sizes_in_loops
from vkamp.pipeline.compiler import executable
from vkamp.pipeline.passes import shader_of

__all__ = ["SOURCES", "Outputs"]

#: What was made of one kernel, by the step that made it.
Outputs = dict[str, str]

ROOT = Path(__file__).resolve().parents[2]
#: Kernels of one group of random ones.
GROUP = 25

# These register their kernels.
for _name in ("check_mode.races", "check_mode.values"):
    importlib.import_module(f"tests.{_name}")


# -- what is made of a kernel --------------------------------------------------------------------------------------


def _targets(kernel: Kernel, containers: Mapping[str, Any]) -> dict[str, Target]:
    """The kinds of devices that shaders are printed for: a GPU, one with little room, and the two CPU drivers."""
    aligned = frozenset(n for n, c in containers.items() if c.rank > 1 and c.extent[c.rank - 1] % 4 == 0)
    sizes = tuple((n, d, containers[n].extent[d]) for n, d in sorted(sizes_in_loops(kernel)) if n in containers)
    return {
        "threads": Target(),
        "small": Target(push_words=4, folded=True, group=(32, 4, 1), max_unrolled_statements=40),
        "loops": Target(lowering="loops", lanes=4, aligned=aligned),
        "auto": Target(
            lowering="auto",
            lanes=8,
            max_iterations=65535,
            quirks=frozenset({"fences_wait"}),
            aligned=aligned,
            sizes=sizes,
        ),
    }


def _printed(kernel: Kernel, target: Target) -> str:
    made = executable(kernel, target)
    shader = made.shader
    rows = [made.lowering, shader.push, shader.push_binding, shader.bindings, shader.local_size, shader.shared_bytes]
    spans = [span and (Path(span.file).name, span.line) for span in shader.lines]
    return "\n".join([*map(str, rows), shader.glsl, str(spans)])


def _of_kernel(kernel: Kernel, races: RaceVerdicts, containers: Mapping[str, Any]) -> Outputs:
    made = {"ir": text(kernel), "races": f"proved {sorted(races.proved)}\nunknown {sorted(races.unknown)}"}
    for name, target in _targets(kernel, containers).items():
        made[name] = _printed(kernel, target)
    checked = instrument(bind_arrays(kernel), races.proved)
    sites = checked.sites
    found = (*sites.values, *sites.static, *sites.global_)
    known = (checked.layout, checked.shadows, checked.words, checked.not_covered, *found)
    made["checked"] = "\n".join([shader_of(checked.kernel, Target()).glsl, *map(str, known)])
    return made


def _outputs(make: Callable[[], Outputs]) -> Outputs:
    """What ``make`` says, or the compiler's error, with what was warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            made = make()
        except CompileError as error:
            made = {"error": str(error)}
    if said:
        made["warnings"] = "\n\n".join(str(each.message) for each in said)
    return {step: _everywhere(output) for step, output in made.items()}


def _everywhere(output: str) -> str:
    """Without folders, and without how many texts were compiled before."""
    output = re.sub(r"[^\s'\"]*[/\\](\w+\.py)\b", r"\1", output)
    return re.sub(r"<kernel (\d+)-\d+>", r"<kernel \1>", output)


def _launched(kernel: Any, domain: Any, args: tuple[Any, ...], constants: Mapping[str, Any]) -> Outputs:
    def make() -> Outputs:
        view = amp.accelerator("reference").default_view
        # As for the first time: of what this process has compiled before, nothing would be warned again.
        with mock.patch.object(preparing, "_cache", OrderedDict()):
            prepared = preparing.prepare(view, domain_of(domain), kernel, args, dict(constants))
        return _of_kernel(prepared.compiled.kernel, prepared.compiled.races, prepared.arguments.containers)

    return _outputs(make)


# -- the kernels ---------------------------------------------------------------------------------------------------

#: Kernels by name, each with what makes its outputs.
Kernels = Iterator[tuple[str, Callable[[], Outputs]]]


def _corpus(file: Path) -> Kernels:
    for pair in PAIRS:
        if Path(pair.file).name == file.name:
            for kernel in (pair.faulty, pair.mended):
                yield kernel.__name__, partial(_of_pair, pair, kernel)


def _of_pair(pair: Pair, kernel: Any) -> Outputs:
    made = pair.launch()
    return _launched(kernel, made.domain, made.args, made.constants)


def _lowered() -> Kernels:
    for name, make in LOWERED.items():
        yield name, partial(_of_program, make)


def _of_program(make: Callable[[], Any]) -> Outputs:
    program = make()
    views = [amp.array_view(a) for a in program.arrays]
    domain = amp.extent(program.domain).tile(*program.tile)
    return _launched(program.kernel, domain, (*views, *program.args), {})


def _faults() -> Kernels:
    for case in CASES:
        yield case.name, lambda case=case: _launched(case.kernel, case.domain, case.arguments(), {})  # type: ignore[misc]


def _uniform(programs: Programs) -> Kernels:
    kernels = {**programs.accepted, **{name: kernel for name, (_, kernel) in programs.refused.items()}}
    for name, kernel in kernels.items():
        yield name, lambda kernel=kernel: _launched(kernel, domain(), arguments(), {})  # type: ignore[misc]


def _in_ir(make: Callable[[], Kernel]) -> Outputs:
    """Of a kernel that is built as IR."""

    def found() -> Outputs:
        kernel = make()
        uniformity = check_uniformity(kernel)
        races = judge_races(kernel, uniformity)
        texts = (each.text for each in (*check_certain_races(kernel, uniformity), *races.advice))
        return {**_of_kernel(kernel, races, {}), "found": "\n".join(texts)}

    return _outputs(found)


def _printed_programs() -> Kernels:
    for name, program in PRINTED.items():
        yield name, partial(_in_ir, program.kernel)


def _random_program(seed: int) -> Outputs:
    made = load(random_program(seed))
    args = (*made.containers(None), *made.scalars())  # type: ignore[arg-type]
    outputs = _launched(made.kernel, made.domain(), args, made.program.constants)
    forget(made)
    return outputs


def _random_types(seed: int) -> Outputs:
    kernel, results = random_types(seed, WIDE)
    kinds = [*(kind for _ in "abc" for kind in WIDE), *results]
    args = tuple(amp.array_view(np.zeros(SIZE, kind)) for kind in kinds)
    return _launched(kernel, amp.extent(SIZE), args, {})


def _control(seed: int) -> Kernel:
    source = source_of(seed, divergent=seed % 2 == 0, subgroups=seed % 3 == 0)
    return lowered(source, f"<control {seed}>")


def _of_seeds(make: Callable[[int], Outputs], seeds: range) -> Kernels:
    for seed in seeds:
        yield f"{seed}", partial(make, seed)


def _sources() -> Iterator[tuple[str, Callable[[], Kernels]]]:
    for path in sorted({Path(pair.file) for pair in PAIRS}):
        yield f"corpus-{path.stem}", partial(_corpus, path)
    yield "lowered", _lowered
    yield "printed", _printed_programs
    yield "faults", _faults
    yield "uniform-control", partial(_uniform, uniform_control.PROGRAMS)
    yield "uniform-values", partial(_uniform, uniform_values.PROGRAMS)
    for kind, count, make in (
        ("programs", 200, _random_program),
        ("types", 50, _random_types),
        ("accesses", 400, lambda seed: _in_ir(partial(random_kernel, seed))),
        ("control", 200, lambda seed: _in_ir(partial(_control, seed))),
        ("expressions", 50, lambda seed: _in_ir(partial(random_expressions, seed))),
    ):
        for start in range(0, count, GROUP):
            yield f"random-{kind}-{start}", partial(_of_seeds, make, range(start, start + GROUP))


#: The groups of kernels, by name.
SOURCES = dict(_sources())
