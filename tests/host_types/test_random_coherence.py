"""Random sequences of uses of many views of one memory, against plain numpy.

``truth`` holds what every element's newest value is.  After each step some view is read one way or another and must
agree with it.
"""

from __future__ import annotations

import numpy as np
import pytest

from vkamp import access_type, array, array_view, copy, extent

ROWS, COLUMNS = 9, 12


class Model:
    def __init__(self, seed, location, other, launch):
        self.rng = np.random.default_rng(seed)
        self.places = (location, other)
        self.launch = launch
        self.truth = self.rng.integers(0, 1000, (ROWS, COLUMNS)).astype(np.float32)
        self.kind = str(self.rng.choice(["host", "array", "own"]))
        self.raw = self.truth.copy()
        if self.kind == "host":
            self.root = array_view(self.raw)
        elif self.kind == "array":
            self.root = array(extent(ROWS, COLUMNS), data=self.raw)
        else:
            self.root = array_view(extent(ROWS, COLUMNS), np.float32)
            copy(self.raw, self.root)
        self.pool = []
        for _ in range(3):
            self.add_view()

    def value(self):
        return np.float32(self.rng.integers(0, 1000))

    def section(self, shape):
        origin = [int(self.rng.integers(0, n)) for n in shape]
        size = [int(self.rng.integers(1, n - o + 1)) for n, o in zip(shape, origin, strict=True)]
        return origin, size

    def add_view(self):
        """One more view, with the part of ``truth`` that it shows."""
        how = self.rng.random()
        if self.kind == "host" and how < 0.4:
            rows = slice(int(self.rng.integers(0, 4)), None, int(self.rng.integers(1, 4)))
            columns = slice(int(self.rng.integers(0, 4)), None, int(self.rng.integers(1, 4)))
            flip = slice(None, None, int(self.rng.choice([-1, 1])))
            part = self.raw[rows, columns][flip]
            self.pool.append((array_view(part), self.truth[rows, columns][flip]))
            return
        if how < 0.6 or not self.pool:
            parent, shown = array_view(self.root), self.truth
        else:
            parent, shown = self.pool[int(self.rng.integers(len(self.pool)))]
        origin, size = self.section(shown.shape)
        box = tuple(slice(o, o + s) for o, s in zip(origin, size, strict=True))
        view, shown = parent.section(origin, size), shown[box]
        if view.rank == 2 and self.rng.random() < 0.3:
            row = int(self.rng.integers(shown.shape[0]))
            view, shown = view[row], shown[row]
            if view._layout.is_dense and self.rng.random() < 0.5:
                view, shown = view.reinterpret_as(np.uint32), shown.view(np.uint32)
        self.pool.append((view, shown))

    def pick(self):
        return self.pool[int(self.rng.integers(len(self.pool)))]

    def step(self):
        view, shown = self.pick()
        place = self.places[int(self.rng.integers(2))]
        action = int(self.rng.integers(12))
        if action <= 2:
            second, also = self.pick()
            value = shown.dtype.type(self.value())

            def kernel(d, e):
                d += value
                e[...] = 7

            self.launch(place, kernel, view, second)
            shown += value
            also[...] = 7
        elif action == 3:
            where = tuple(int(self.rng.integers(n)) for n in shown.shape)
            view[where] = shown[where] = shown.dtype.type(self.value())
        elif action == 4:
            values = self.rng.integers(0, 1000, shown.shape).astype(shown.dtype)
            copy(values, view)
            shown[...] = values
        elif action == 5:
            second, also = self.pick()
            if shown.shape == also.shape and shown.dtype == also.dtype:
                copy(view, second)
                also[...] = shown.copy()
        elif action == 6:
            view.synchronize()
        elif action == 7:
            view.synchronize_to(place, access_type(int(self.rng.integers(1, 4))))
        elif action == 8:
            self.add_view()
        elif action == 9 and len(self.pool) > 2:
            self.pool.pop(int(self.rng.integers(len(self.pool))))
        elif action == 10 and self.kind == "host":
            view.synchronize(access_type.read_write)
            shown[...] = shown.dtype.type(self.value())
            with view._lease as home:
                view._host_elements(home)[...] = shown  # as the memory's owner does
            if self.rng.random() < 0.5:
                view.refresh()
        elif action == 11:
            value = shown.dtype.type(self.value())
            view.discard_data()
            self.launch(place, lambda d: d.fill(value), view)
            shown[...] = value

    def check(self):
        view, shown = self.pick()
        how = int(self.rng.integers(5))
        if how == 0:
            got = np.asarray(view)
        elif how == 1:
            got = np.zeros_like(shown)
            copy(view, got)
        elif how == 2:
            got = np.asarray(array(view))
        elif how == 3:
            where = tuple(int(self.rng.integers(n)) for n in shown.shape)
            assert view[where] == shown[where]
            return
        else:
            seen = []
            place = self.places[int(self.rng.integers(2))]
            self.launch(place, lambda d: seen.append(d.copy()), reads=(view,))
            place.run()
            got = seen[0]
        np.testing.assert_array_equal(got, shown)


@pytest.mark.parametrize("seed", range(300))
def test_sequences(seed, location, other, launch):
    model = Model(seed, location, other, launch)
    for _ in range(25):
        model.step()
        model.check()
    np.testing.assert_array_equal(np.asarray(model.root), model.truth)
    if model.kind == "host":
        model.root = None
        model.pool.clear()
        np.testing.assert_array_equal(model.raw, model.truth)
