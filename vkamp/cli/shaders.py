"""``vkamp shaders``: the folder of hand-edited shaders."""

from __future__ import annotations

import difflib
import time
from pathlib import Path

import click
from rich.text import Text

from vkamp.cli.console import ERRORS, OUT, print_json, say
from vkamp.cli.exported_calls import export_call
from vkamp.cli.kernels import find_function, find_kernel, forget_changed, project_root
from vkamp.cli.signatures import constants_of, name_missing_types, parse_arguments, parse_sizes, signature_of
from vkamp.cli.workflow import State, check_one, export_kernel, look, merge_one, revert_one
from vkamp.edit.folder import find_folder
from vkamp.edit.store import ShaderFolder, ShaderForm
from vkamp.errors import AmpError
from vkamp.lang.kernel import SUBGROUP_SIZES

_STYLES = {
    "edited": "green",
    "stale": "yellow",
    "moved": "yellow",
    "conflict": "red",
    "gone": "red",
    "no base": "red",
    "wrong": "red",
    "unknown": "yellow",
}
_HOW = (
    "which shader of {kernel}? Say what it is launched with:\n"
    '  vkamp shaders export {kernel} --tile 16x16 --args "float32[:,:], int32"\n'
    "or let a program launch it:\n"
    "  vkamp run --export PROGRAM.py"
)
_FOLDER = click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), help="The folder (default: the project's shaders/)."
)
_NAMES = click.argument("names", nargs=-1, metavar="[NAME]...")


@click.group()
def shaders() -> None:
    """Edit shaders by hand: a file in shaders/ runs instead of the shader that it was edited from.

    A NAME is a file, a name as `status` shows it, a part of one, or MODULE:KERNEL. Without a NAME, the commands apply
    to all shaders.
    """


def _store(folder: Path | None, *, new: bool = False) -> ShaderFolder:
    """The folder that a command works on; AmpError if there is none."""
    found = folder or find_folder(Path.cwd())
    if found is None and new:
        found = project_root(Path.cwd()) / "shaders"
    if found is None or (not new and not found.is_dir()):
        raise AmpError(
            f"there is no folder of shaders at {folder or Path.cwd()}: `vkamp shaders export` or "
            "`vkamp run --export PROGRAM.py` makes it"
        )
    return ShaderFolder(found)


def _word(word: str) -> Text:
    return Text(word, style=_STYLES.get(word, ""))


@shaders.command()
@click.argument("kernel", metavar="MODULE:KERNEL")
@click.option("--args", "types", metavar="TYPES", help='For example "float32[:,:], float32[:,:]:strided, int32".')
@click.option("--tile", metavar="16x16", help="The tile; without it the domain is untiled.")
@click.option("--rank", type=click.IntRange(1), help="The rank of an untiled domain.")
@click.option("--set", "constants", multiple=True, metavar="NAME=VALUE", help="A compile-time constant.")
@click.option("--lanes", type=click.IntRange(1), help="The form for CPU devices: loops over the threads of a tile.")
@_FOLDER
def export(
    kernel: str,
    types: str | None,
    tile: str | None,
    rank: int | None,
    constants: tuple[str, ...],
    lanes: int | None,
    folder: Path | None,
) -> None:
    """Write the shader of a kernel for argument types to the folder, for editing.

    \b
    vkamp shaders export examples.tile_average:tile_average --tile 16x16 --args "float32[:,:], float32[:,:]"

    A function that launches kernels, such as those of vkamp.algorithms, is called with zeros of these types on the
    default accelerator, and the shaders of all its launches are written:

    \b
    vkamp shaders export vkamp.algorithms.scan:scan --args "float32[:]" --set op=vkamp.algorithms.functional:max
    """
    root = project_root(Path.cwd())
    function = find_function(kernel, root)
    if function is not None and types is not None:
        if tile or rank or lanes:
            raise click.UsageError(f"{kernel} is a function, which chooses its domains: remove --tile, --rank, --lanes")
        for name, word in export_call(_store(folder, new=True).folder, function, types, constants, root).items():
            say(f"{word}  {name}")
        return
    found = find_kernel(kernel, root)
    if types is None:
        raise AmpError(_HOW.format(kernel=kernel))
    sizes = None if tile is None else parse_sizes(tile)
    arguments = parse_arguments(types)
    name_missing_types(found, arguments)
    signature = signature_of(arguments, sizes, rank, found.precise, constants_of(constants))
    if lanes is not None and lanes not in SUBGROUP_SIZES:
        raise click.UsageError(f"no device has {lanes} lanes: write one of {', '.join(map(str, SUBGROUP_SIZES))}")
    group = (256, 1, 1) if signature["rank"] == 1 else (32, 8, 1)
    form = ShaderForm("threads" if lanes is None else "loops", lanes or 1, False, (64, 1, 1) if tile else group)
    kept = export_kernel(_store(folder, new=True), found, signature, form)
    say(f"wrote {kept.path}")


@shaders.command()
@_NAMES
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_FOLDER
def status(names: tuple[str, ...], as_json: bool, folder: Path | None) -> int:
    """Show which shaders are edited, and which are out of date. Exits with 1 if one needs your attention.

    Imports the kernels' modules.
    """
    store = _store(folder)
    states = [look(kept) for kept in store.select(names)]
    if as_json:
        print_json([_row(state) for state in states])
    elif states:
        _print_states(states)
    else:
        say(f"{store.folder} holds no shaders")
    strays = [] if names else list(store.strays)
    for name in strays:
        ERRORS.print(f"{name}.comp has no base in {store.base}: its kernel is unknown, and it never runs")
    return 1 if strays or any(state.needs_attention for state in states) else 0


def _row(state: State) -> dict[str, object]:
    record = state.kept.record
    return {
        "name": state.kept.name,
        "state": state.word,
        "edited": state.is_edited,
        "text": state.text,
        "kernel": record.kernel_path,
        "signature": record.signature_text,
        "file": str(state.kept.path),
    }


def _print_states(states: list[State]) -> None:
    words = {
        id(state): state.word + (" (edited)" if state.is_edited and state.word != "edited" else "") for state in states
    }
    width = max(len(word) for word in words.values())
    for state in sorted(states, key=lambda state: (not state.needs_attention, state.kept.name)):
        word = words[id(state)]
        line = Text(f"{word:<{width}}", style=_STYLES.get(state.word, "") if state.is_edited else "dim")
        line.append(f"  {state.kept.name}", style="default")
        if state.text:
            line.append(f"  {state.text}", style="dim")
        OUT.print(line)


@shaders.command()
@_NAMES
@click.option(
    "--kernel", "of_kernel", is_flag=True, help="Show what the kernel's change did to the shader, not the edit."
)
@_FOLDER
def diff(names: tuple[str, ...], of_kernel: bool, folder: Path | None) -> int:
    """Show what was edited. Exits with 1 if there is a difference."""
    differ = False
    for kept in _store(folder).select(names):
        before, after = kept.base_text or "", kept.text or ""
        labels = (f"generated/{kept.name}.comp", f"edited/{kept.name}.comp")
        if of_kernel:
            state = look(kept)
            if state.shader is None:
                raise AmpError(f"{kept.shown}: {state.word}, {state.text}")
            after, labels = state.shader.glsl, (labels[0], f"generated-now/{kept.name}.comp")
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *labels, lineterm="", n=3)
        for line in lines:
            differ = True
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            say(line, style)
    return 1 if differ else 0


@shaders.command()
@_NAMES
@click.option("--onto", metavar="NAME", help="Merge the edit of one shader onto another one, which is unedited.")
@click.option("--undo", is_flag=True, help="Undo the last merge or revert of the shaders.")
@_FOLDER
def merge(names: tuple[str, ...], onto: str | None, undo: bool, folder: Path | None) -> int:
    """Apply the edits to the newly generated shaders: a three-way merge of base, edited and generated.

    Conflicts are marked in the file, and the command exits with 1. The file runs again when they are resolved.
    """
    store = _store(folder)
    if undo:
        for name in names or [kept.name for kept in store.kept]:
            made = store.undo(name.removesuffix(".comp"))
            say(f"put back {made.name}")
        return 0
    chosen = store.select(names)
    target = None
    if onto is not None:
        targets = [kept for kept in store.select([onto]) if kept.name not in {each.name for each in chosen}]
        if len(chosen) != 1 or len(targets) != 1:
            raise click.UsageError("--onto takes the NAME of one shader and one other name")
        target = targets[0]
    status = 0
    for kept in chosen:
        try:
            done = merge_one(kept, target)
        except AmpError as error:
            if len(chosen) == 1:
                raise
            ERRORS.print(f"error: {error}")
            status = 1
            continue
        line = Text.assemble(_word(done.word), f"  {done.name}")
        if done.name != kept.name:
            line.append(f"  (was {kept.name})", style="dim")
        if done.conflicts:
            line.append(f"  {done.conflicts} conflict{'s' * (done.conflicts > 1)} to resolve", style="red")
            status = 1
        OUT.print(line)
    return status


@shaders.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--remove", is_flag=True, help="Also remove the file, so that the folder has no shader of the kernel.")
@_FOLDER
def revert(names: tuple[str, ...], remove: bool, folder: Path | None) -> None:
    """Replace the edited shader by the generated one; `merge --undo NAME` undoes that."""
    for kept in _store(folder).select(names):
        done = revert_one(kept, remove=remove)
        say(f"{done.word} {done.name}")


@shaders.command()
@_NAMES
@_FOLDER
def check(names: tuple[str, ...], folder: Path | None) -> int:
    """Check that the edited shaders compile and fit their kernels. Exits with 1 if one does not."""
    status = 0
    for kept in _store(folder).select(names):
        word, error = check_one(kept)
        status = status or (1 if error is not None else 0)
        OUT.print(Text.assemble(_word(word if error is None else "wrong"), f"  {kept.name}"))
        if error is not None:
            say(str(error))
    return status


@shaders.command()
@_NAMES
@click.option("--period", type=click.FloatRange(0.05), default=0.3, show_default=True, help="Seconds between looks.")
@click.option("--times", type=click.IntRange(1), help="Stop after this many changes.")
@_FOLDER
def watch(names: tuple[str, ...], period: float, times: int | None, folder: Path | None) -> int:
    """Check each shader when it is saved, and show the compiler's errors at once; Ctrl-C ends the command."""
    store = _store(folder)
    # Before the message: whoever reads that may save an edit at once.
    before = store.snapshot()
    say(f"watching {store.folder}")
    seen = 0
    while times is None or seen < times:
        time.sleep(period)
        now = store.snapshot()
        changed = {path for path in now if now[path] != before.get(path)}
        before = now
        if not changed:
            continue
        # A file may be half saved: wait until it stops changing.
        while (later := _a_moment_later(store)) != before:
            changed |= {path for path in later if later[path] != before.get(path)}
            before = later
        store = ShaderFolder(store.folder)
        forget_changed()
        for kept in store.select(names):
            if {str(kept.path), str(kept.base_path)} & changed:
                seen += 1
                _print_checked(kept.name, *check_one(kept))
    return 0


def _a_moment_later(store: ShaderFolder) -> dict[str, tuple[int, int, int]]:
    time.sleep(0.05)
    return store.snapshot()


def _print_checked(name: str, word: str, error: AmpError | None) -> None:
    stamp = time.strftime("%H:%M:%S")
    OUT.print(Text.assemble((stamp, "dim"), "  ", _word(word if error is None else "wrong"), f"  {name}"))
    if error is not None:
        say(str(error))
    OUT.file.flush()
