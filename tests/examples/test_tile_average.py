"""The photo example: right on every device, for every size of picture and tile, and an honest exit status."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vkamp as amp
from examples import tile_average as example


def photo(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize("tile", [(4, 4), (3, 8), (16, 1), (1, 1), (16, 16)])
@pytest.mark.parametrize("size", [(1, 1), (31, 45), (32, 16), (7, 50)])
def test_averages_are_those_of_numpy(
    accelerator: amp.accelerator, size: tuple[int, int], tile: tuple[int, int]
) -> None:
    planes = example.to_planes(Image.fromarray(photo(*size)))
    averages = example.average_tiles(accelerator.default_view, planes, tile)
    # Straight from the definition, tile by tile.
    expected = [
        [
            [
                channel[row : row + tile[0], column : column + tile[1]].mean(dtype=np.float64)
                for column in range(0, size[1], tile[1])
            ]
            for row in range(0, size[0], tile[0])
        ]
        for channel in planes
    ]
    np.testing.assert_allclose(averages, expected, rtol=1e-6)
    np.testing.assert_allclose(example.average_tiles_with_numpy(planes, tile), expected, rtol=1e-12)


def test_whole_output(accelerator: amp.accelerator, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "photo.png", tmp_path / "result.png"
    pixels = photo(37, 50)
    Image.fromarray(pixels).save(source)
    arguments = [str(source), "--tile", "8x16", "--accelerator", accelerator.device_path, "--output", str(output)]
    assert example.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"device   {accelerator.description} ({accelerator.device_path})"
    assert lines[1] == "picture  photo.png, 50 x 37, in tiles of 8 x 16"
    assert re.fullmatch(r"compile  [\d.]+ ms to SPIR-V", lines[2])
    assert re.fullmatch(
        r"run      [\d.]+ ms the first time, [\d.]+ ms again \(three channels, copies in and out\)", lines[3]
    )
    assert re.fullmatch(r"numpy    greatest difference [\d.e-]+ of 255: the same", lines[4])
    assert lines[5:] == [f"wrote    {output}"]

    sheet = np.asarray(Image.open(output))
    assert sheet.shape == (36 + 37 + 12, 12 + 2 * (50 + 12), 3)
    np.testing.assert_array_equal(sheet[36:73, 12:62], pixels)
    corner = pixels[:8, :16].reshape(-1, 3).mean(0)
    assert np.abs(sheet[36:44, 74:90] - corner).max() <= 0.5 + 1e-4
    # The last tile is cut off: 5 x 2 of its pixels are in the picture.
    corner = pixels[32:, 48:].reshape(-1, 3).mean(0)
    assert np.abs(sheet[68:73, 122:124] - corner).max() <= 0.5 + 1e-4


def test_default_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "result.png"
    assert example.main(["--output", str(output)]) == 0
    assert "picture  grace_hopper.jpg, 512 x 600, in tiles of 16 x 16" in capsys.readouterr().out
    assert Image.open(output).size == (18 + 2 * (512 + 18), 54 + 600 + 18)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1"])
def test_every_kind_of_picture(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "photo.png"
    Image.fromarray(photo(9, 14)).convert(mode).save(source)
    output = str(tmp_path / "result.png")
    assert example.main([str(source), "--tile", "4", "--accelerator", "reference", "--output", output]) == 0


def test_a_difference_is_an_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "photo.png"
    Image.fromarray(photo(9, 14)).save(source)
    monkeypatch.setattr(example, "average_tiles_with_numpy", lambda planes, tile: np.full((3, 3, 4), np.nan))
    output = str(tmp_path / "result.png")
    assert example.main([str(source), "--tile", "4", "--accelerator", "reference", "--output", output]) == 1
    assert "WRONG" in capsys.readouterr().out


def test_errors_are_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "photo.png"
    Image.fromarray(photo(50, 70)).save(source)
    arguments = [str(source), "--accelerator", "reference", "--output", str(tmp_path / "result.png")]
    assert example.main([*arguments, "--tile", "64"]) == 2
    assert capsys.readouterr().err == (
        "tile_average: extent(64, 128).tile(64, 64): a tile has 4096 threads, but reference supports at most 1024: "
        "use a smaller tile, such as .tile(32, 32)\n"
    )
    assert example.main([str(tmp_path / "none.png")]) == 2
    assert "No such file" in capsys.readouterr().err
    for wrong in ("0", "8x", "x", "-4", "4x0", "big"):
        with pytest.raises(SystemExit):
            example.main([f"--tile={wrong}"])
        assert f"{wrong!r} is no tile size: write 16, or ROWSxCOLUMNS" in capsys.readouterr().err
