"""Values of any type as words of 32 bits: ``amp.to_words`` and ``amp.from_words``, in kernels and on the host."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp


@amp.struct
class Tag:
    half: amp.float16
    name: amp.uint2


@amp.struct
class Item:
    small: amp.int8
    tag: Tag
    pair: (amp.uint16, 2)
    wave: amp.complex64


@amp.struct
class Wide:
    n: amp.int64
    x: amp.float64


@amp.kernel
def there_and_back(idx, values, words, out):
    value = values[idx].copy()
    own = amp.private(len(amp.to_words(value)), amp.uint32)
    for k, word in enumerate(amp.to_words(value)):
        words[idx[0], k] = word
        own[k] = word
    out[idx] = amp.from_words(type(value), own)


#: Patterns that a register of floats could change, and ordinary ones.
BITS = np.array([0x7FC00001, 0xFFC12345, 0x80000000, 1, 0x7F800000, 0x3F800001, 0x12345678], np.uint32)


def values_of(dtype, n=12):
    random = np.random.default_rng(4)
    if dtype is Item:
        raw = np.frombuffer(random.bytes(n * Item.dtype.itemsize), Item.dtype).copy()
        raw["tag"]["half"] = random.standard_normal(n)
        return raw
    if np.dtype(dtype).itemsize % 4:
        return random.integers(0, 100, n).astype(dtype)
    count = n * np.dtype(dtype).itemsize // 4
    return random.choice(BITS, count).view(dtype)


def check(view, dtype):
    raw = values_of(dtype)
    many = len(amp.to_words(raw[0]))
    values, out = (amp.array(amp.extent(len(raw)), dtype, raw, accelerator_view=view) for _ in range(2))
    words = amp.array(np.zeros((len(raw), many), np.uint32), accelerator_view=view)
    amp.parallel_for_each(view, values.extent, there_and_back, values, words, out)
    expected = np.array([amp.to_words(x) for x in raw])
    np.testing.assert_array_equal(np.asarray(words), expected)
    found = np.ascontiguousarray(np.asarray(out)).view(np.dtype(dtype)).ravel()  # the components of vectors
    assert np.array([amp.to_words(x) for x in found]).tolist() == expected.tolist()
    assert [amp.to_words(amp.from_words(dtype, w)) for w in expected] == [tuple(w) for w in expected.tolist()]


NARROW = [np.int32, np.uint32, np.float32, np.uint8, np.int16, np.float16, amp.bfloat16, np.complex64, amp.float3, Item]


@pytest.mark.parametrize("dtype", NARROW, ids=lambda d: np.dtype(d).name if d not in (amp.float3, Item) else d.__name__)
def test_words_of_every_type(accelerator_view, dtype):
    check(accelerator_view, dtype)


@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64, np.complex128, amp.double3, Wide])
def test_words_of_numbers_of_64_bits(accelerator_view, dtype):
    if accelerator_view.accelerator.device_path != "reference":
        # The other engine enables no features.
        accelerator_view = amp.accelerator("llvmpipe@vulkan").default_view
    check(accelerator_view, dtype)


@amp.kernel
def of_expressions(idx, x, out):
    low, high = amp.to_words(amp.float2(x[idx], -x[idx]))
    out[0, idx[0]] = low ^ high
    out[1, idx[0]] = amp.to_words(x[idx] > 2.0)[0]
    out[2, idx[0]] = amp.asuint(amp.from_words(amp.float32, (low,)))
    out[3, idx[0]] = 1 if amp.from_words(bool, (out[1, idx[0]] * 7,)) else 0
    out[4, idx[0]] = amp.to_words(1.5)[0] + amp.to_words(3)[0]


def test_words_of_expressions(accelerator_view):
    raw = np.array([1, 2, 3, -0.0], np.float32)
    out = amp.array(np.zeros((5, 4), np.uint32), accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, amp.extent(4), of_expressions, amp.array_view(raw), out)
    got = np.asarray(out)
    assert (got[0] == 0x80000000).all()
    np.testing.assert_array_equal(got[1], raw > 2)
    np.testing.assert_array_equal(got[2], raw.view(np.uint32))
    np.testing.assert_array_equal(got[3], raw > 2)
    assert (got[4] == 0x3FC00003).all()


def test_words_on_the_host():
    assert amp.to_words(np.int64(-2)) == (0xFFFFFFFE, 0xFFFFFFFF)
    assert amp.to_words(True) == (1,)
    assert amp.to_words(1.0) == (0x3F800000,)
    assert amp.to_words(amp.float2(1, -2)) == (0x3F800000, 0xC0000000)
    assert amp.from_words(float, (0x3F800000,)) == 1
    assert amp.from_words(np.bool_, [2]) == True  # noqa: E712 - a bool, not any true value
    assert amp.from_words(amp.float2, amp.to_words(amp.float2(1, -2))) == amp.float2(1, -2)
    with pytest.raises(TypeError, match="2 words"):
        amp.from_words(np.float64, (1,))
    with pytest.raises(TypeError, match="one value"):
        amp.to_words(np.zeros(3))


@amp.kernel
def too_few(idx, x, out):
    out[idx] = amp.from_words(amp.float2, amp.to_words(x[idx])).x


def test_a_wrong_number_of_words_is_refused():
    x = amp.array_view(np.zeros(4, np.float32))
    message = "the second argument of `amp.from_words` is a sequence of 2 uint32, but a sequence of 1 is given"
    with pytest.raises(amp.CompileError, match=message):
        amp.parallel_for_each(amp.accelerator("reference"), x.extent, too_few, x, x)
