"""Parts that all bit generators share: seeds, positions, states, and streams that do not overlap."""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import vkamp as amp
from vkamp.rng._store import stored
from vkamp.rng._words import MOVING, Words, numbers_at
from vkamp.tracebacks import entry_point

if TYPE_CHECKING:
    from typing_extensions import Self


@entry_point
class BitGenerator(ABC):
    """A stream of random words with a position: numpy's ``BitGenerator`` for devices.

    A draw of ``n`` elements takes the next words and moves the position; the host computes no numbers. Threads may
    share a generator. Generators can be copied and pickled.
    """

    #: The number of 32-bit words in the key.
    key_words: int
    #: The members of kernels' sources that depend on a position: repeated draws launch again with other ones.
    moving: tuple[str, ...] = MOVING
    #: The type of :meth:`random_raw`.
    word: np.dtype[Any] = np.dtype(np.uint32)

    def __init__(self, seed: Any = None, *, key: Any = None) -> None:
        if seed is not None and key is not None:
            raise ValueError("a bit generator takes a seed or a key, not both")
        self.lock = threading.RLock()
        self.seed_seq: np.random.SeedSequence | None = None
        if key is None:
            self.seed_seq = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
            self.key = tuple(int(word) for word in self.seed_seq.generate_state(self.key_words, np.uint32))
        else:
            self.key = _in_words(key, self.key_words, "key")
        self._position = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=threading.RLock())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(position={self._position})"

    @abstractmethod
    def words(self, n: int, position: int) -> Words:
        """``n`` words from a position on, for algorithms."""

    def numbers_at(self, position: int) -> tuple[int, ...]:
        """The values of ``moving`` at a position."""
        return numbers_at(position)

    @property
    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The key and the position, in numpy's form.

        It can be assigned, and two states are equal if their arrays are.
        """

    def take(self, words: int, align: int = 1) -> int:
        """Moves the position by a number of words, and returns where they begin, a multiple of ``align``."""
        with self.lock:
            start = -(-self._position // align) * align
            self._position = start + words
            return start

    def random_raw(
        self, size: Any = None, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
    ) -> Any:
        """The next words of the stream, uint32 or uint64; a single number if ``size`` is ``None``."""
        return stored(self, "random_raw", self.word.itemsize // 4, (), size, self.word, out, accelerator_view)

    def spawn(self, n_children: int) -> list[Self]:
        """Generators with keys of their own, from ``SeedSequence.spawn``; TypeError if this one was made from a key."""
        if self.seed_seq is None:
            raise TypeError("a bit generator that was made from a key has no seed sequence to spawn from")
        return [type(self)(child) for child in self.seed_seq.spawn(n_children)]

    def _copy_at(self, position: int) -> Self:
        made = copy.copy(self)
        made._position = position
        return made

    @property
    def key_of_retries(self) -> tuple[int, int]:
        """The key of the words that replace rejected ones; it differs from the stream's key."""
        return _key_of_retries(self.key)


@entry_point
class CounterBased(BitGenerator):
    """A bit generator whose words are a function of a key and a counter."""

    #: The number of 32-bit words in a counter, and in the result that is computed from it.
    counter_words: int
    words_per_counter: int

    def __init__(self, seed: Any = None, *, counter: Any = None, key: Any = None) -> None:
        super().__init__(seed, key=key)
        # As in numpy, the counter is the last one that was used.
        self._position = (_number(_in_words(counter or 0, self.counter_words, "counter")) + 1) * self.words_per_counter

    @property
    def _period(self) -> int:
        return (1 << 32 * self.counter_words) * self.words_per_counter

    def take(self, words: int, align: int = 1) -> int:
        return super().take(words, align) % self._period

    def advance(self, delta: int) -> Self:
        """Moves the counter by ``delta``, drops its remaining words, as numpy does, and returns the generator."""
        with self.lock:
            self._position = self._moved(delta)
        return self

    def jumped(self, jumps: int = 1) -> Self:
        """A copy whose counter is ``jumps`` times the square root of the number of counters ahead."""
        return self._copy_at(self._moved(jumps << 16 * self.counter_words))

    def _moved(self, counters: int) -> int:
        begun = -(-self._position // self.words_per_counter)
        return (begun + counters) * self.words_per_counter % self._period

    @property
    def state(self) -> dict[str, Any]:
        """The key, the last counter that was used, and how many of its words were used, in the form of numpy's
        state.
        """
        per_word = self.word.itemsize // 4
        counter, used = divmod(self._position - 1, self.words_per_counter)
        return {
            "bit_generator": type(self).__name__,
            "state": {
                "counter": self._array(counter, self.counter_words),
                "key": self._array(_number(self.key), self.key_words),
            },
            "buffer_pos": -(-(used + 1) // per_word),
        }

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        names = (type(self).__name__, *self._aliases)
        if state.get("bit_generator") not in names:
            raise ValueError(f"the state belongs to {state.get('bit_generator')!r}, not to {type(self).__name__!r}")
        per_word = self.word.itemsize // 4
        self.key = _in_words(state["state"]["key"], self.key_words, "key", self.word)
        counter = _number(_in_words(state["state"]["counter"], self.counter_words, "counter", self.word))
        with self.lock:
            self._position = counter * self.words_per_counter + state["buffer_pos"] * per_word

    #: Other names that a state may have.
    _aliases: tuple[str, ...] = ()

    def _array(self, number: int, words: int) -> np.ndarray[Any, Any]:
        found = np.array([number >> 32 * k & 0xFFFFFFFF for k in range(words)], np.uint32)
        return found.view(self.word)


@lru_cache(maxsize=256)
def _key_of_retries(key: tuple[int, ...]) -> tuple[int, int]:
    low, high = np.random.SeedSequence([0x7265747279, *key]).generate_state(2, np.uint32)
    return int(low), int(high)


def _number(words: tuple[int, ...]) -> int:
    return sum(word << 32 * k for k, word in enumerate(words))


def _in_words(value: Any, count: int, what: str, word: np.dtype[Any] | None = None) -> tuple[int, ...]:
    """An integer, or an array of words of the given type or of 32 bits, as words of 32 bits."""
    if isinstance(value, (int, np.integer)):
        number = int(value)
    else:
        given = np.asarray(value)
        kind = given.dtype if given.dtype in (np.uint32, np.uint64) else np.dtype(word or np.uint32)
        number = sum(int(each) << 8 * kind.itemsize * k for k, each in enumerate(given.astype(kind).ravel()))
    if not 0 <= number < 1 << 32 * count:
        raise ValueError(f"the {what} has {32 * count} bits: {value!r} does not fit")
    return tuple(number >> 32 * k & 0xFFFFFFFF for k in range(count))
