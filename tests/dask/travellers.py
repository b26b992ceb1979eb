"""A client program for a running cluster: it sends kernels of ``__main__`` and of a notebook cell, and prints errors.

``python travellers.py ADDRESS`` runs in its own folder and first deletes itself, so that workers have no file to
read the kernels' source from.
"""

import linecache
import os
import sys
import threading

import dask.array as da
import numpy as np
from distributed import Client

import vkamp as amp
import vkamp.dask as vd

FACTOR = 7
LOCK = threading.Lock()


def plus_one(x):
    return x + 1


@amp.func
def scaled(x):
    return FACTOR * x


@amp.kernel
def of_main(idx, a, out):
    out[idx] = scaled(a[idx]) + plus_one(a[idx])


@amp.kernel
def wrong(idx, a, out):
    out[idx] = undefined_name + a[idx]  # noqa: F821


@amp.kernel
def locked(idx, a, out):
    out[idx] = LOCK + a[idx]


class Blur:
    def __init__(self, weight):
        self.weight = weight

    @amp.kernel
    def run(self, idx, a, out):
        out[idx] = self.weight * a[idx]


def with_captures(offset):
    table = amp.array_view(np.float32([10, 20, 30]))

    @amp.kernel
    def inner(idx, a, out):
        out[idx] = a[idx] + offset + table[idx[0] % 3]

    return inner


CELL = """
OFFSET = 0.5
@amp.kernel
def of_cell(idx, a, out):
    out[idx] = OFFSET - a[idx]

def task(n):
    made = amp.array(amp.extent(n), amp.float32)
    step = 3
    @amp.parallel_for_each(made.extent)
    def _(idx):
        made[idx] = step * idx[0]
    return made
"""


def run_cell(text, name):
    """As a notebook runs a cell: its text is not in a file."""
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = {"amp": amp, "__name__": "__main__"}
    exec(compile(text, name, "exec"), names)
    return names


def show(title, make):
    try:
        print(title, np.asarray(make()).tolist())
    except Exception as error:
        print(title, type(error).__name__, error)


def main(address):
    linecache.getlines(__file__)
    os.unlink(__file__)
    linecache.checkcache = lambda *_: None  # what this file was stays known here, as a notebook's cells do
    x = da.from_array(np.arange(5, dtype=np.float32), chunks=2)
    with Client(address) as client:
        show("main", lambda: vd.map_blocks(of_main, x, dtype="f4").compute())
        cell = run_cell(CELL, "/tmp/ipykernel_1/11.py")
        show("cell", lambda: vd.map_blocks(cell["of_cell"], x, dtype="f4").compute())
        # Another cell that has the same name and the same lines, except for one number.
        other = run_cell(CELL.replace("OFFSET - a", "OFFSET + a"), "/tmp/ipykernel_1/11.py")
        show("other", lambda: vd.map_blocks(other["of_cell"], x, dtype="f4").compute())
        show("task", lambda: client.submit(cell["task"], 4).result())
        show("captures", lambda: vd.map_blocks(with_captures(1), x, dtype="f4").compute())
        show("method", lambda: vd.map_blocks(Blur(2.5).run, x, dtype="f4").compute())
        show("lambda", lambda: vd.scan(x, lambda a, b: a if a > b else b).compute())
        show("wrong", lambda: vd.map_blocks(wrong, x, dtype="f4").compute())
        show("locked", lambda: vd.map_blocks(locked, x, dtype="f4"))


if __name__ == "__main__":
    main(sys.argv[1])
