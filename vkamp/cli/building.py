"""``vkamp build``: the kernels of a program, compiled ahead into a folder that the program ships."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click

import vkamp as amp
from vkamp import prebuilt
from vkamp.cli.caching import entries
from vkamp.cli.console import ERRORS, OUT, print_table, say
from vkamp.cli.programs import default_accelerator, run_script


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False, path_type=Path), help="The folder.")
@click.option("--device", "devices", multiple=True, metavar="NAME", help="Run the program on it; may be repeated.")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(["kompute", "vulkan"]),
    help="Run the program by it; may be repeated.",
)
@click.option("--add", is_flag=True, help="Keep what an earlier run has recorded in the folder.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def build(
    output: Path,
    devices: tuple[str, ...],
    engines: tuple[str, ...],
    add: bool,
    file: Path,
    arguments: tuple[str, ...],
) -> int:
    """Run the script FILE with its ARGUMENTS and keep every kernel that it launches, compiled, in a folder.

    \b
    vkamp build -o artifacts --device nvidia --device llvmpipe blur.py photo.jpg

    With amp.use_artifacts(folder), or VKAMP_ARTIFACTS=folder, the program then needs no GLSL compiler. Exits with 1 if
    a kernel cannot be kept, and with the script's status if that fails.
    """
    folder = output.absolute()
    if len(devices) > 1 or len(engines) > 1:
        return _on_each(folder, devices, engines, add, [str(file), *arguments])
    chosen = {"VKAMP_ACCELERATOR": next(iter(devices), None), "VKAMP_ENGINE": next(iter(engines), None)}
    os.environ.update({name: value for name, value in chosen.items() if value is not None})
    os.environ.pop(prebuilt.USED, None)
    default = default_accelerator(chosen["VKAMP_ACCELERATOR"])
    artifacts = prebuilt.start(folder, add=add)
    status = run_script(file, arguments)
    OUT.file.flush()
    return _report(artifacts, default) or status


def _on_each(folder: Path, devices: tuple[str, ...], engines: tuple[str, ...], add: bool, program: list[str]) -> int:
    """A process for each device and engine, one after the other."""
    command = [sys.executable, "-m", "vkamp", "build", "-o", str(folder)]
    for device, engine in itertools.product(devices or ("",), engines or ("",)):
        options = [*(["--device", device] if device else []), *(["--engine", engine] if engine else [])]
        status = subprocess.run([*command, *options, *(["--add"] if add else []), *program]).returncode
        if status != 0:
            return status
        add = True
    return 0


def _report(artifacts: prebuilt.Artifacts, default: amp.accelerator) -> int:
    """Shows what the folder has; the status."""
    kernels = Counter(artifacts.recorded())
    signatures = Counter(name for name, _ in kernels)
    files = [*entries(artifacts.kernels.folder), *entries(artifacts.spirv.folder)]
    size = sum(item.stat().st_size for item in files)
    say("")
    if not kernels:
        ERRORS.print(f"no kernel was launched on {default.description}, so {artifacts.folder} has none")
    else:
        print_table(("kernel", "signatures"), [(name, str(count)) for name, count in sorted(signatures.items())])
        shaders = len(entries(artifacts.spirv.folder))
        say(f"{shaders} shaders, {size / 1024:.0f} KiB in {artifacts.folder}, with those of {default.description}")
    for name, why in sorted(artifacts.not_kept.items()):
        ERRORS.print(f"not kept: {name}: {why}; it needs a compiler where the program runs")
    return 1 if artifacts.not_kept or not kernels else 0
