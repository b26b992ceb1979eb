"""``vkamp run`` and ``vkamp check``: a script with a chosen device, and a kernel for chosen types."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

import vkamp as amp
from vkamp import spirv
from vkamp.artifacts import Target
from vkamp.cli.console import ERRORS, OUT, print_table, say
from vkamp.cli.kernels import find_kernel, project_root
from vkamp.cli.signatures import Argument, constants_of, name_missing_types, parse_arguments, parse_sizes, signature_of
from vkamp.dispatch import override_files
from vkamp.dispatch.preparing import program_names
from vkamp.errors import AmpError
from vkamp.ir.types import NUMBERS, SCALARS, VECTORS
from vkamp.lang.kernel import LOWERINGS, KernelFunction
from vkamp.pipeline import compiler, request_of
from vkamp.progress import activity
from vkamp.run.accelerators import queue_of
from vkamp.run.engine import Timing, Transfer


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--device", metavar="NAME", help="The default accelerator: an index, or part of a name.")
@click.option(
    "--engine", type=click.Choice(["auto", "kompute", "vulkan"]), help="The engine that runs kernels on Vulkan devices."
)
@click.option("--check", "checked", is_flag=True, help="Run every launch in check mode.")
@click.option("--lowering", type=click.Choice(LOWERINGS), help="How the threads of a tile run.")
@click.option("--profile", is_flag=True, help="Show each kernel's time on the device, by the direct engine.")
@click.option("--shaders", "folder", metavar="FOLDER", help="Use the edited shaders of FOLDER; 0: none.")
@click.option("--export", is_flag=True, help="Write the shader of each launch to shaders/ (or --shaders FOLDER).")
def run(
    file: Path,
    arguments: tuple[str, ...],
    device: str | None,
    engine: str | None,
    checked: bool,
    lowering: str | None,
    profile: bool,
    folder: str | None,
    export: bool,
) -> int:
    """Run the script FILE with its ARGUMENTS on a chosen device."""
    if profile and engine == "kompute":
        raise click.UsageError("--profile needs the direct engine: remove --engine kompute")
    chosen = {
        "VKAMP_ACCELERATOR": device,
        "VKAMP_ENGINE": "vulkan" if profile else engine,
        "VKAMP_CHECK": "1" if checked else None,
        "VKAMP_LOWERING": lowering,
        "VKAMP_SHADERS": None if export else folder,
    }
    os.environ.update({name: value for name, value in chosen.items() if value is not None})
    # A wrong name is an error before the script starts.
    default = default_accelerator(device)
    _note_own_options(file, arguments)
    target = Path(folder or project_root(Path.cwd()) / "shaders").absolute()
    if export:
        override_files.export_launches(target, "loops" if lowering == "loops" else "threads")
    times = _Times(default) if profile else None
    try:
        return run_script(file, arguments)
    finally:
        OUT.file.flush()
        if times is not None:
            times.show()
        if export:
            _show_exported(target)


def default_accelerator(device: str | None) -> amp.accelerator:
    """The default accelerator after ``--device`` has set its variable."""
    try:
        return amp.accelerator()
    except amp.AmpError as error:
        # The message names the option, not the variable that it sets.
        raise amp.AmpError(str(error).replace(f"VKAMP_ACCELERATOR={device}", f"--device {device}")) from None


def _note_own_options(file: Path, arguments: tuple[str, ...]) -> None:
    """Warns that an option of this command after the file is passed to the script."""
    own = {name for parameter in run.params if isinstance(parameter, click.Option) for name in parameter.opts}
    for argument in arguments:
        if argument.split("=")[0] in own:
            name = argument.split("=")[0]
            ERRORS.print(
                f"note: {name} follows {file.name}, which receives it; options of vkamp run go before the file"
            )
            return


def run_script(file: Path, arguments: tuple[str, ...]) -> int:
    """Runs a script as Python does; returns the exit status."""
    before = sys.argv[:], sys.path[:]
    sys.argv = [str(file), *arguments]
    sys.path.insert(0, str(file.absolute().parent))
    try:
        runpy.run_path(str(file), run_name="__main__")
    except SystemExit as ending:
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
            return 1
        return int(ending.code or 0)
    except Exception as error:
        sys.stdout.flush()
        _print_from_the_script(error, file)
        return 1
    finally:
        sys.argv[:], sys.path[:] = before
    return 0


def _print_from_the_script(error: Exception, file: Path) -> None:
    """The traceback from the script's first frame on, as Python itself would print it."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((k for k, each in enumerate(frames) if Path(each.filename).name == file.name), 0)
    shown = traceback.TracebackException.from_exception(error)
    shown.stack[:] = traceback.StackSummary.from_list(list(shown.stack)[first:])
    sys.stderr.write("".join(shown.format()))


class _Times:
    """Prints the times of a program's launches on the default view of an accelerator."""

    def __init__(self, default: amp.accelerator) -> None:
        self.default = default
        self.taken: list[Timing] = []
        self.view = default.default_view
        queue_of(self.view).profile(self._note)

    def _note(self, taken: Timing | Transfer) -> None:
        if isinstance(taken, Timing):
            self.taken.append(taken)

    def show(self) -> None:
        self.view.wait()
        names = program_names()
        rows: dict[str, list[float]] = {}
        for each in self.taken:
            rows.setdefault(names.get(each.key, each.key[:12]), []).append(each.seconds)
        total = sum(map(sum, rows.values()))
        say("")
        say(f"{len(self.taken)} launches on {self.default.description}, {total * 1e3:.3f} ms on the device", "bold")
        print_table(
            ("kernel", "launches", "total ms", "mean us", "least us", "part"),
            [
                (
                    name,
                    str(len(took)),
                    f"{sum(took) * 1e3:.3f}",
                    f"{np.mean(took) * 1e6:.1f}",
                    f"{min(took) * 1e6:.1f}",
                    f"{sum(took) / total:.0%}" if total else "-",
                )
                for name, took in sorted(rows.items(), key=lambda item: -sum(item[1]))
            ],
        )


def _show_exported(folder: Path) -> None:
    found = override_files.exported()
    override_files.export_launches(None)
    say("")
    if not found:
        say("no kernel was launched, so no shader was written")
        return
    say(f"shaders in {folder}:")
    width = max(map(len, found.values()))
    for name, word in sorted(found.items()):
        say(f"  {word:<{width}}  {name}")


# -- check -------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("kernel", metavar="MODULE:KERNEL")
@click.option("--args", "types", metavar="TYPES", default="", help='For example "float32[:,:], int32".')
@click.option("--tile", metavar="16x16", help="The tile; without it the domain is untiled.")
@click.option("--rank", type=click.IntRange(1), help="The rank of an untiled domain.")
@click.option("--extent", metavar="64x64", help="Also run it in check mode, over this extent.")
@click.option("--pad", is_flag=True, help="Pad the extent to whole tiles.")
@click.option("--set", "constants", multiple=True, metavar="NAME=VALUE", help="A compile-time constant.")
@click.option("--device", metavar="NAME", help="Where to run it (default: the default accelerator).")
def check(
    kernel: str,
    types: str,
    tile: str | None,
    rank: int | None,
    extent: str | None,
    pad: bool,
    constants: tuple[str, ...],
    device: str | None,
) -> int:
    """Compile a kernel for argument types, with every check, and run it in check mode if sizes are given.

    \b
    vkamp check examples.tile_average:tile_average --tile 16x16 --args "float32[:,:], float32[:,:]"
    vkamp check examples/tile_average.py:tile_average --tile 16x16 --extent 64x96 \\
        --args "float32[64,96], float32[4,6]"

    Exits with 1 if there is an error or a finding. Containers are filled with random numbers.
    """
    found = find_kernel(kernel, project_root(Path.cwd()))
    arguments = parse_arguments(types)
    name_missing_types(found, arguments)
    sizes = None if tile is None else parse_sizes(tile)
    values = constants_of(constants)
    domain = None if extent is None else parse_sizes(extent)
    if domain is not None and sizes is None:
        rank = len(domain)
    if domain is not None and sizes is not None and not pad and any(n % t for n, t in zip(domain, sizes, strict=False)):
        raise AmpError(
            f"{extent} is not a multiple of the tile {tile}: --pad extends it to whole tiles, as .pad() does"
        )
    signature = signature_of(arguments, sizes, rank, found.precise, values)
    if found.subgroup is not None:
        signature["subgroup"] = found.subgroup
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        request, captured = request_of(found.function, signature)
        with activity(f"compiling {found.__name__}"):
            compiled = compiler.compile_kernel(request, captured)
            shader = compiler.executable(compiled.kernel, Target()).shader
        spirv.compile(shader.glsl, name=found.__name__)
    for each in told:
        ERRORS.print(f"warning: {each.message}")
    say(f"{found.__name__} compiles: {len(shader.glsl.splitlines())} lines of GLSL, {shader.shared_bytes} bytes shared")
    if domain is None:
        return 0
    return _run_checked(found, arguments, domain, sizes, pad, values, device)


def _run_checked(
    kernel: KernelFunction,
    arguments: list[Argument],
    domain: tuple[int, ...],
    tile: tuple[int, ...] | None,
    pad: bool,
    constants: dict[str, Any],
    device: str | None,
) -> int:
    view = (amp.accelerator() if device is None else amp.accelerator(device)).default_view
    extent: Any = amp.extent(*domain)
    random = np.random.default_rng(0)
    values = [_value(each, random) for each in arguments]
    tiled = extent if tile is None else extent.tile(*tile).pad() if pad else extent.tile(*tile)
    report = amp.check(view, tiled, kernel, *values, **constants)
    for finding in report.findings:
        say("")
        say(str(finding))
    for text in report.not_covered:
        say(f"not covered: {text}")
    where = view.accelerator.description
    count = len(report.findings)
    say(f"{count or 'no'} finding{'' if count == 1 else 's'} on {where}")
    return 0 if report.ok else 1


def _value(argument: Argument, random: np.random.Generator) -> Any:
    row = argument.row
    if "number" in row:
        return SCALARS[row["number"]].dtype.type(1)
    if "vector" in row:
        vector = VECTORS[row["vector"]]
        return getattr(amp, vector.name)(*[1] * vector.count)
    if "container" not in row:
        raise AmpError("a run needs containers and numbers: write a program for other arguments")
    if argument.sizes is None:
        raise AmpError("a run needs the containers' sizes: float32[64,64] instead of float32[:,:]")
    kind = VECTORS.get(row["container"])
    scalar = NUMBERS[row["container"]] if kind is None else kind.element
    shape = argument.sizes if kind is None else (*argument.sizes, kind.count)
    numbers = random.integers(0, 100, shape).astype(scalar.dtype)
    return amp.array_view(numbers) if kind is None else amp.array_view(numbers, dtype=getattr(amp, kind.name))
