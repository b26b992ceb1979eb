"""The gallery of examples: each is right on every device at a small size, and says so by its exit status."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vkamp as amp
from tests.library_views import direct_view

ROOT = Path(__file__).resolve().parents[2]
#: Options, in sizes that are no multiples of the tiles.
EXAMPLES = {
    "binomial_options": "--count 3",
    "bitonic_sort": "--size 37",
    "black_scholes": "--count 300",
    "cartoon": "--size 43 --shades 4",
    "conjugate_gradients": "--size 31",
    "digits_components": "--count 150",
    "digits_network": "--epochs 2 --hidden 12",
    "floyd_warshall": "--count 37",
    "gaussian_blur": "--size 61 --radius 5",
    "heat": "--size 37 --steps 20",
    "heat_cluster": "--size 37 --steps 4 --blocks 2 --scheduler here",
    "histogram": "--size 75",
    "k_means": "--size 39 --colours 5 --iterations 3",
    "life": "--size 41 --frames 7",
    "mandelbrot": "--size 45 --iterations 40",
    "matrix_product": "--size 43",
    "monte_carlo": "--paths 301 --days 6 --blocks 2 --scheduler here",
    "n_body": "--count 150 --steps 4",
    "page_rank": "--pages 500",
    "particle_grid": "--count 1500",
    "photo_folder": "--count 2 --size 43 --scheduler here",
    "reaction": "--size 37 --frames 3",
    "reduction": "--count 5000",
    "scan": "--count 1500",
    "sharpen": "--size 43",
    "sobol_options": "--paths 256 --repeats 8",
    "sparse_plate": "--size 29",
    "spectral_wave": "--size 48 --frames 3",
    "spectrogram": "--seconds 1 --window 256 --hop 100",
    "stream_compaction": "--size 43",
    "terrain": "--size 45",
    "transpose": "--size 43",
    "two_devices": "--size 43 --pieces 3",
    "word_count": "--count 700",
}
#: What runs by Kompute; the others run by the direct engine, which starts programs sooner.
BY_KOMPUTE = {"histogram", "life", "matrix_product", "reaction", "scan", "transpose", "two_devices", "word_count"}
#: What is small enough to run in Python.
FOR_REFERENCE = {
    "bitonic_sort": "--size 12",
    "gaussian_blur": "--size 20 --radius 2",
    "histogram": "--size 30",
    "life": "--size 19 --frames 3",
    "mandelbrot": "--size 25 --iterations 20",
    "scan": "--count 700",
    "transpose": "--size 43",
    "two_devices": "--size 20",
}


@pytest.fixture(autouse=True)
def _examples_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    # As Python has it for a script.
    monkeypatch.syspath_prepend(str(ROOT / "examples"))


def test_all_are_here() -> None:
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert scripts - set(EXAMPLES) == {
        "averages", "cluster", "gallery", "sampling", "tile_average", "tiling_description",
    }  # fmt: skip
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(\.\./examples/(\w+)\.py\)", page)) == sorted(scripts - {"cluster", "gallery"})


def test_digits_need_scikit_learn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gallery = importlib.import_module("gallery")
    monkeypatch.setattr(gallery, "find_spec", lambda _: None)
    for name in ("digits_components", "digits_network"):
        assert importlib.import_module(name).main(["--output", str(tmp_path / "out.png")]) == 2
        assert "scikit-learn, whose digits this example reads, is not installed" in capsys.readouterr().err


@pytest.mark.spread(2)
@pytest.mark.accelerators("swiftshader", "llvmpipe", "nvidia")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _is_right(name, EXAMPLES[name], accelerator, tmp_path, capsys)


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", FOR_REFERENCE)
def test_example_in_python(
    name: str, accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _is_right(name, FOR_REFERENCE[name], accelerator, tmp_path, capsys)


def _is_right(
    name: str, options: str, accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = importlib.import_module(name)
    output = tmp_path / ("out.gif" if "--frames" in options else "out.png")
    if accelerator.engine == "kompute" and name not in BY_KOMPUTE:
        accelerator = direct_view(accelerator).accelerator
    status = example.main([*options.split(), "--accelerator", accelerator.device_path, "--output", str(output)])
    printed = capsys.readouterr()
    assert (status, printed.err) == (0, ""), printed.out
    lines = printed.out.splitlines()
    assert lines[0] == f"device  {accelerator.description}"
    assert lines[-1] == f"wrote   {output}"
    assert any(line.startswith("run     ") for line in lines)
    assert any(line.startswith("numpy   ") for line in lines)
    with Image.open(output) as picture:
        assert np.asarray(picture.convert("RGB")).std() > 5  # not one colour
        frames = re.search(r"--frames (\d+)", options)
        assert getattr(picture, "n_frames", 1) == (int(frames[1]) if frames else 1)


@pytest.mark.accelerators("reference")
def test_a_difference_is_an_exit_status(
    accelerator: amp.accelerator,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    example = importlib.import_module("life")
    monkeypatch.setattr(example, "step_with_numpy", lambda cells: 1 - cells)
    arguments = ["--size", "20", "--frames", "2", "--accelerator", "reference", "--output", str(tmp_path / "out.gif")]
    assert example.main(arguments) == 1
    assert "numpy   2 generations: greatest difference 1, WRONG" in capsys.readouterr().out


def test_errors_are_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = importlib.import_module("k_means")
    assert example.main(["--photo", str(tmp_path / "none.png")]) == 2
    assert capsys.readouterr().err.startswith("k_means: [Errno 2] No such file")
    assert example.main(["--colours", "65"]) == 2
    assert capsys.readouterr().err == "k_means: at most 64 colours\n"
    with pytest.raises(SystemExit):
        example.main(["--size", "0"])
    assert "0 is not positive" in capsys.readouterr().err
