"""What programs of CUDA, OpenCL, numba and numpy write, and how a kernel writes it.

The texts are advice: ``{index}`` is replaced by the kernel's index, ``{amp}`` for the name of the module ``vkamp``, and
``{text}`` for the thing whose attribute or argument it is.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from vkamp.tracebacks import library_folders

# -- names of CUDA, numba and OpenCL -------------------------------------------------------------------------------

_LOCAL = "`{index}.local` is the thread's index in its tile (CUDA's x is its last component)"
_TILE = "`{index}.tile` is the tile's index (CUDA's x is its last component)"
_GLOBAL = "`{index}` is the thread's index in the whole domain; a component is `{index}[0]`"
_WAIT = "write `{index}.barrier.wait()`"
_SHARED = "write `values = {amp}.tile_static(shape, dtype)`"
_PRIVATE = "write `values = {amp}.private(shape, dtype)`"
_SHUFFLE = "see the functions of `{amp}.subgroup`, such as `{amp}.subgroup.shuffle(value, lane)`"
_CUDA = (
    "vkamp has its own names: `{index}` is the thread's index (cuda.grid), `{index}.local` that in its tile, "
    "`{amp}.tile_static` is shared memory, `{index}.barrier.wait()` is the barrier (syncthreads)"
)


def _atomic(name: str, arguments: str = "value") -> str:
    return f"write `{{amp}}.atomic_{name}(a[i], {arguments})`"


_ELSEWHERE = {
    "threadidx": _LOCAL, "getlocalid": _LOCAL, "threadid": _LOCAL, "localid": _LOCAL,
    "blockidx": _TILE, "getgroupid": _TILE, "programid": _TILE, "blockid": _TILE, "groupid": _TILE,
    "getglobalid": _GLOBAL, "globalid": _GLOBAL, "grid": _GLOBAL, "tid": _GLOBAL, "gid": _GLOBAL,
    "blockdim": "`{index}.tile_extent` has the sizes of a tile",
    "getlocalsize": "`{index}.tile_extent` has the sizes of a tile",
    "griddim": "the tiles are `a.extent[0] // {index}.tile_extent[0]`, or pass their number",
    "getglobalsize": "the size of the domain is that of a container, `a.extent`, or pass it",
    "gridsize": "the size of the domain is that of a container, `a.extent`, or pass it",
    "syncthreads": _WAIT, "syncwarp": _WAIT, "barrier": _WAIT, "sync": _WAIT, "wait": _WAIT, "groupbarrier": _WAIT,
    "threadfence": "write `{amp}.global_memory_fence({index}.barrier)`",
    "shared": _SHARED, "sharedmemory": _SHARED, "sharedarray": _SHARED, "localmemory": _SHARED,
    "local": _PRIVATE, "localarray": _PRIVATE,
    "atomicadd": _atomic("fetch_add"), "atomicsub": _atomic("fetch_sub"), "atomicmax": _atomic("fetch_max"),
    "atomicmin": _atomic("fetch_min"), "atomicand": _atomic("fetch_and"), "atomicor": _atomic("fetch_or"),
    "atomicxor": _atomic("fetch_xor"), "atomicinc": _atomic("fetch_add", "1"), "atomicdec": _atomic("fetch_sub", "1"),
    "atomicexch": _atomic("exchange"), "atomiccas": _atomic("compare_exchange", "expected, value"),
    "shfl": _SHUFFLE, "shflsync": _SHUFFLE, "shfldownsync": _SHUFFLE, "shflupsync": _SHUFFLE,
    "shflxorsync": _SHUFFLE, "ballotsync": _SHUFFLE, "warpsize": "write `{amp}.subgroup.size`",
    "laneid": "write `{amp}.subgroup.lane`", "cuda": _CUDA, "cupy": _CUDA, "cp": _CUDA, "cl": _CUDA, "ti": _CUDA,
    "jit": "decorate a kernel with @{amp}.kernel, and what it calls with @{amp}.func",
    "device": "decorate the function with @{amp}.func",
    "launch": "write `{amp}.parallel_for_each(domain, kernel, ...)`, on the host",
}  # fmt: skip


def elsewhere(name: str) -> str | None:
    """Advice for a name that another system has, however it is spelt there."""
    return _ELSEWHERE.get(name.replace("_", "").lower())


#: For a product of matrices or rows.
DOT = (
    "let each thread compute one element in a loop: `for k in range(n): total += a[i, k] * b[k, j]`; "
    "of two rows: `total += a[k] * b[k]`; of two vectors: `sum(a * b)`"
)

#: Functions of vectors in GLSL, CUDA's samples, Taichi and Warp.
_VECTORS = {
    **dict.fromkeys(("normalize", "normalized"), "write `v / math.sqrt(sum(v * v))`"),
    **dict.fromkeys(("length", "norm"), "write `math.sqrt(sum(v * v))`"),
    "distance": "write `math.sqrt(sum((a - b) * (a - b)))`",
    "cross": "write `a.yzx * b.zxy - a.zxy * b.yzx`",
    "reflect": "write `v - n * (2 * sum(v * n))`",
    **dict.fromkeys(("mix", "lerp"), "write `a + (b - a) * share`"),
}


def of_vectors(name: str) -> str | None:
    """Advice for a function of vectors or numbers that other languages of kernels have."""
    return _VECTORS.get(name)


# -- attributes of numpy's arrays and numbers ----------------------------------------------------------------------

_LOOP = "write a loop over the elements: `for i in range({text}.extent[0]):`"
_EACH = "work on one element: `{element}`"
_FIXED = (
    "a container has a fixed size; with several writers, a counter gives each a place: "
    "`{amp}.atomic_fetch_add(count[0], 1)`"
)
_RESHAPE = "write `{text}.view_as({amp}.extent(...))`"

#: Of a container.
ARRAY = {
    **{name: f"write `{name}({{text}})`, or a loop over the elements" for name in ("sum", "max", "min", "any", "all")},
    "mean": "write `sum({text}) / len({text})`, or a loop over the elements",
    **dict.fromkeys(("prod", "std", "var", "ptp"), _LOOP),
    "dot": DOT,
    **dict.fromkeys(("argmax", "argmin", "cumsum", "nonzero", "sort", "argsort", "tolist", "flat"), _LOOP),
    **dict.fromkeys(("fill", "clip", "round", "astype", "copy", "real", "imag", "conj", "take", "put"), _EACH),
    **dict.fromkeys(("append", "extend", "insert", "push", "push_back", "add", "pop"), _FIXED),
    **dict.fromkeys(("reshape", "flatten", "ravel", "resize", "squeeze"), _RESHAPE),
    "T": "swap the subscripts: `{text}[j, i]`",
    "transpose": "swap the subscripts: `{text}[j, i]`",
    "swapaxes": "swap the subscripts: `{text}[j, i]`",
    "shape": "write `{text}.extent`",
    "size": "write `{text}.extent.size()`",
    "ndim": "write `{text}.rank`",
    "len": "write `{text}.extent[0]`",
    "item": "write `{text}[...]`",
    "strides": "a kernel subscripts by position, whatever the strides: `{element}`",
    "nbytes": "write `{text}.extent.size()`, times the bytes of an element",
    "itemsize": "write the number of bytes of an element",
}

#: Of the tile's collectives, ``vkamp.tile``: other libraries' names.
TILE = {
    **dict.fromkeys(("sum", "add", "reduce_add", "block_reduce"), ".reduce(t_idx, x, lambda a, b: a + b)"),
    **dict.fromkeys(("prod", "product"), ".reduce(t_idx, x, lambda a, b: a * b)"),
    **{name: f".reduce(t_idx, x, {name})" for name in ("max", "min")},
    **dict.fromkeys(("scan", "cumsum", "cumulative_sum"), ".inclusive_scan(t_idx, x, lambda a, b: a + b)"),
    "prefix_sum": ".exclusive_scan(t_idx, x, lambda a, b: a + b, 0)",
}

#: Of a number.
NUMBER = {
    **dict.fromkeys(("item", "real", "copy", "sum", "mean", "max", "min", "squeeze", "tolist"), "use the value itself"),
    "clip": "write `min(max({text}, low), high)`",
    "round": "write `round({text})`",
    "sqrt": "write `math.sqrt({text})`",
    "conjugate": "use the value itself: it is a real number",
    "conj": "use the value itself: it is a real number",
    "imag": "it is a real number: write 0",
    "is_integer": "write `{text} == math.floor({text})`",
    "shape": "it is one number, which has no shape",
    "ndim": "it is one number, which has no dimensions",
    "size": "it is one number: write 1",
    **dict.fromkeys("xyzw", "it is one number, not a vector: use the value itself"),
}
#: Of a tuple.
OF_TUPLE = {
    "index": "compare its items: `for k, item in enumerate({text}):`",
    "count": "write `sum(item == x for item in {text})`",
}
_NO_METHODS = "a number has the methods `view`, `astype`, `bit_count` and `copy`: write an expression, or an @amp.func"


def of_number(name: str) -> str:
    """Advice for an attribute that a number lacks."""
    return NUMBER.get(name, _NO_METHODS)


# -- functions of plain Python -------------------------------------------------------------------------------------

#: Loops over what Python's functions give.
LOOPS = {
    "enumerate": "write `for i in range(n):` and subscript with `i`",
    "zip": "write `for i in range(n):` and subscript each with `i`",
    "reversed": "write `for i in range(n - 1, -1, -1):`",
}
_SUM = "write `sum(...)`, or a loop: `total = 0.0`, then `for i in range(n): total += ...`"
_BEST = "write `max(...)` or `min(...)`, or a loop: `for i in range(n): best = max(best, ...)`"
_DOT = DOT
_MEMORY = "declare `values = amp.private(shape, dtype)`, and assign its elements in a loop"
_SORT = "sort on the host, or exchange pairs of elements in a loop"
_LOOP_OF_N = "write a loop over the elements: `for i in range(n):`"
_TYPES = "types are known when the kernel is compiled: write a kernel for each type"
_RANDOM = (
    "make the numbers on the host, `np.random.default_rng().random(n, np.float32)`, and pass a view of them; "
    "or compute them from the thread's index by an integer hash in an @amp.func"
)
_TIME = "measure on the host: `with amp.profile() as p:` around the launch has the times of the device"

_PYTHON: dict[str, str] = {
    "super": "name the base class: `Base.method(self, x)`",
    "sorted": _SORT,
    "map": _MEMORY,
    "filter": _MEMORY,
    "issubclass": _TYPES,
    "divmod": "write `x // y` and `x % y`",
    "complex": "use two numbers",
    **LOOPS,
    "list": _MEMORY,
    "dict": "use a variable for each value, or a structured dtype",
    "set": _MEMORY,
    "tuple": "write the items in parentheses",
    "str": "a kernel has no strings: pass a number",
    "chr": "a kernel has no strings: use the number itself",
    "ord": "write the character's number, or take it on the host: `code = ord(...)` before the kernel",
    "format": "a kernel has no strings: only `print` takes f-strings",
    "repr": "a kernel has no strings: only `print` takes f-strings",
    "slice": _LOOP_OF_N,
    "open": "read the file on the host, and pass a view of its data",
    "input": "read it on the host, and pass the number",
    "hash": "write an integer hash as an @amp.func",
    "id": "use the thread's index, or an index into a container",
    "getattr": "write the attribute itself: `x.name`",
    "setattr": "write the assignment itself: `x.name = ...`",
    "hasattr": _TYPES,
    "eval": "write the expression itself",
    "exec": "write the statements themselves",
}
_NUMPY: dict[str, str] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "array", "zeros_like", "ones_like", "empty_like"), _MEMORY),
    **dict.fromkeys(("arange", "linspace", "asarray", "copy", "stack", "concatenate"), _MEMORY),
    **dict.fromkeys(("mean", "cumsum", "average", "std", "var", "count_nonzero", "nansum"), _SUM),
    **dict.fromkeys(("nonzero", "argwhere", "unique", "isin", "searchsorted", "interp", "digitize"), _LOOP_OF_N),
    **dict.fromkeys(("diff", "allclose", "array_equal"), _LOOP_OF_N),
    **dict.fromkeys(("max", "min", "amax", "amin", "argmax", "argmin", "nanmax", "nanmin", "ptp"), _BEST),
    **dict.fromkeys(("dot", "matmul", "inner", "einsum", "tensordot", "vdot"), _DOT),
    **dict.fromkeys(("sort", "argsort", "median", "percentile"), _SORT),
    **dict.fromkeys(("transpose", "swapaxes"), "swap the subscripts: `a[j, i]`"),
    **dict.fromkeys(("reshape", "ravel"), "write `a.view_as(amp.extent(...))`"),
    **dict.fromkeys(("ndindex", "ndenumerate", "nditer"), "write loops, one inside another: `for j in range(n):`"),
    **dict.fromkeys(("select", "piecewise", "choose"), "write `x if condition else y`, or `np.where(condition, x, y)`"),
    "isclose": "write `math.isclose(x, y, rel_tol=1e-5)`, or `abs(x - y) < tolerance`",
    "norm": "write `math.sqrt(x * x + y * y)`; of a vector: `math.sqrt(sum(v * v))`",
    "cross": _VECTORS["cross"],
    "nan_to_num": "write `0.0 if math.isnan(x) else x`",
    "isposinf": "write `x == math.inf`",
    "isneginf": "write `x == -math.inf`",
    "real": "write `z.real`",
    "imag": "write `z.imag`",
    "logaddexp": "write `max(x, y) + math.log1p(math.exp(-abs(x - y)))`",
    "logaddexp2": "write `max(x, y) + math.log2(1 + 2 ** -abs(x - y))`",
    "sinc": "write `math.sin(math.pi * x) / (math.pi * x)`, which is 1 at 0",
    "spacing": "write `math.nextafter(x, math.inf) - x`",
    "reciprocal": "write `1 / x`",
    "float_power": "write `x ** y`",
    "heaviside": "write `(x > 0) + 0.5 * (x == 0)`",
}  # fmt: skip
_MATH = {
    "isqrt": "write `int(amp.precise_math.sqrt(n))`, which is exact for numbers below 2**22",
    "fsum": "write `sum(values)`",
    **dict.fromkeys(("factorial", "comb", "perm"), "write the product as a `for` loop, or make a tuple on the host"),
}
_FUNCTOOLS = {
    "reduce": "write a loop: `for x in values: total = f(total, x)`",
    "partial": "write a lambda, `lambda x: f(value, x)`, or make it on the host and pass it as an argument",
}
_MODULES = {
    "itertools": "write `for` loops, inside one another or one after the other",
    "random": _RANDOM,
    "secrets": _RANDOM,
    "time": _TIME,
    "datetime": _TIME,
    "numba": _CUDA,
    "cupy": _CUDA,
}


def is_of_library(target: Any) -> bool:
    """Whether a function is Python's or an installed package's, so that the program cannot decorate it."""
    return not isinstance(target, FunctionType) or target.__code__.co_filename.startswith(
        (*library_folders(), "<frozen")
    )


def of_object(value: Any) -> str | None:
    """Advice for a library's object that a kernel cannot use."""
    module = "" if isinstance(value, ModuleType) else type(value).__module__
    return _RANDOM if module.startswith("numpy.random") or module.split(".")[0] == "random" else None


def of_function(target: Any) -> str | None:
    """Advice for a function of Python's or of a library's."""
    name = getattr(target, "__name__", "")
    owner = getattr(target, "__self__", None)
    dotted = getattr(target, "__module__", None) or (type(owner).__module__ if owner is not None else "") or ""
    module = dotted.split(".")[0]
    if module == "builtins":
        return _PYTHON.get(name)
    if dotted.startswith("numpy.random") or (owner is not None and of_object(owner)):
        return _RANDOM
    if module == "numpy" or type(target).__name__ == "ufunc":
        return _NUMPY.get(name)
    if module in ("functools", "_functools"):
        return _FUNCTOOLS.get(name)
    if module == "math":
        return _MATH.get(name)
    return _MODULES.get(module)
