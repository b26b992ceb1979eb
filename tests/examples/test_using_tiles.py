"""The programs of C++ AMP's page 'Using Tiles': the correct ones print the output of the page, and the wrong ones are
rejected."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

import vkamp as amp
from examples import averages, sampling, tiling_description

WRONG = sorted((Path(__file__).parent / "wrong").glob("*.py"))
SAMPLES = {
    2: "4.5 6.5 8.5 10.5 \n20.5 22.5 24.5 26.5 \n36.5 38.5 40.5 42.5 \n52.5 54.5 56.5 58.5 \n",
    4: "13.5 17.5 \n45.5 49.5 \n",
}


@pytest.fixture(autouse=True)
def default_accelerator(accelerator: amp.accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs name no device: they run on the default one."""
    monkeypatch.setenv("VKAMP_ACCELERATOR", accelerator.device_path)


def printed_description() -> str:
    """What the first program prints, written out from what tiles are."""
    lines = []
    for row in range(8):
        for title, pair in (
            ("Tile:   ", lambda r, c: (r // 2, c // 3)),
            ("Global: ", lambda r, c: (r, c)),
            ("Local:  ", lambda r, c: (r % 2, c % 3)),
        ):
            lines.append("".join("{}({},{})  ".format(title, *pair(row, column)) for column in range(9)))
        values = "".join(f"Value: {row * 9 + column:2}      " for column in range(9))
        lines[-3:] = [values, *lines[-3:], ""]
    return "\n".join(lines) + "\n"


def test_tiling_description(capsys: pytest.CaptureFixture[str]) -> None:
    assert tiling_description.main([]) == 0
    text = capsys.readouterr().out
    assert text == printed_description()
    assert text.splitlines()[10:14] == [
        "Value: 18      Value: 19      Value: 20      Value: 21      Value: 22      Value: 23      "
        "Value: 24      Value: 25      Value: 26      ",
        "Tile:   (1,0)  Tile:   (1,0)  Tile:   (1,0)  Tile:   (1,1)  Tile:   (1,1)  Tile:   (1,1)  "
        "Tile:   (1,2)  Tile:   (1,2)  Tile:   (1,2)  ",
        "Global: (2,0)  Global: (2,1)  Global: (2,2)  Global: (2,3)  Global: (2,4)  Global: (2,5)  "
        "Global: (2,6)  Global: (2,7)  Global: (2,8)  ",
        "Local:  (0,0)  Local:  (0,1)  Local:  (0,2)  Local:  (0,0)  Local:  (0,1)  Local:  (0,2)  "
        "Local:  (0,0)  Local:  (0,1)  Local:  (0,2)  ",
    ]


def test_tiling_description_has_colours_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert tiling_description.main([]) == 0
    text = capsys.readouterr().out
    # The first tile red, the next, to the right and below, green.
    assert text.startswith("\x1b[31mValue:  0      \x1b[0m")
    assert "\x1b[32mValue:  3      \x1b[0m" in text
    assert "\x1b[32mValue: 18      \x1b[0m" in text
    assert text.replace("\x1b[31m", "").replace("\x1b[32m", "").replace("\x1b[0m", "") == printed_description()


def test_averages(capsys: pytest.CaptureFixture[str]) -> None:
    assert averages.main([]) == 0
    assert capsys.readouterr().out == "3 3 8 8 3 3 \n3 3 8 8 3 3 \n5 5 2 2 4 4 \n5 5 2 2 4 4 \n"


@pytest.mark.parametrize("samplesize", SAMPLES)
def test_sampling(samplesize: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert sampling.main([str(samplesize)]) == 0
    assert capsys.readouterr().out == SAMPLES[samplesize]


@pytest.mark.parametrize("wait", ["wait_with_all_memory_fence", "wait_with_tile_static_memory_fence"])
@pytest.mark.parametrize("samplesize", SAMPLES)
def test_sampling_with_other_fences(
    samplesize: int, wait: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(sampling.__file__).read_text(encoding="utf-8")
    assert text.count("t_idx.barrier.wait()") == 1
    program = tmp_path / "sampling.py"
    program.write_text(text.replace("t_idx.barrier.wait()", f"t_idx.barrier.{wait}()"), encoding="utf-8")
    assert runpy.run_path(str(program))["main"]([str(samplesize)]) == 0
    assert capsys.readouterr().out == SAMPLES[samplesize]


@pytest.mark.parametrize("program", WRONG, ids=lambda path: path.stem)
def test_wrong_program_is_refused(program: Path, request: pytest.FixtureRequest) -> None:
    with pytest.raises(amp.CompileError) as caught:
        runpy.run_path(str(program))
    message = str(caught.value).replace(f"{program.parent}/", "").replace(f"{program.parent}\\", "") + "\n"
    golden = program.with_suffix(".txt")
    if request.config.getoption("vkamp_accept"):
        golden.write_text(message, encoding="utf-8")
    assert message == golden.read_text(encoding="utf-8")


def test_the_wrong_programs_are_those_of_the_page() -> None:
    assert [path.stem for path in WRONG] == [
        "barrier_of_one_thread",
        "barrier_on_the_local_row",
        "initializer",
        "racy_total",
    ]
