"""Compiled kernels on disk: another process that launches the same kernel takes what the compiler made of it.

What was compiled is known by the text of the kernel's file, the types of its arguments, and what the names meant that
it uses from outside: numbers, modules, functions of vkamp, Python and numpy, device functions with theirs, and classes
of objects and structs.  A kernel that uses anything else, or that was warned of, is compiled in every process.

Three entries: for a request the names that the compiler looked up (for a request and a device, if the kernel asks for
traits of it); for what these mean, the facts of the kernel; for a kind of device as well, the program.  The folder is
``kernels`` beside the SPIR-V's.  Kernels that ``vkamp build`` compiles ahead are stored in the same way in a separate
folder (:mod:`vkamp.prebuilt`), where functions are identified by their code.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import linecache
import os
import platform
import weakref
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from inspect import getattr_static
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from vkamp import prebuilt
from vkamp.artifacts import Executable, Target
from vkamp.cache import DiskCache, default_cache
from vkamp.errors import AmpError
from vkamp.front import ArgType, BufferType, IndexType, ObjectType, Request, ScalarType, VectorType
from vkamp.front.guards import Guard, Place, default_of, guard_of, guard_of_language, is_of_language
from vkamp.front.identity import (
    by_code,
    classes_of_struct,
    describe,
    describe_class,
    describe_code,
    hash_of_code,
    namespace_of,
)
from vkamp.front.signature import (
    ARG_TYPES,
    ConstantType,
    ElementType,
    FunctorType,
    HostType,
    MethodType,
    OperatorType,
    StructType,
    TupleType,
    is_trait,
    read_name,
    with_parts,
)
from vkamp.front.source import digest_of_code, is_unchanged, supply_sources
from vkamp.ir.types import Array, Struct
from vkamp.pipeline.compiled import Compiled, FullKernel, generated_spirv
from vkamp.pipeline.loading import compiler_module
from vkamp.pipeline.plain_data import packed, unpacked
from vkamp.prebuilt import Artifacts

#: A name that was looked up: where (the kind of a guard's place, or ``language`` for a function that the compiler calls
#: by itself), of which one before it, and the name.
_Name = tuple[str, int, str]

_PACKAGE = Path(__file__).resolve().parents[1]


class KernelStore:
    """Where kernels are kept: in the user's cache, or in a folder of artifacts."""

    def __init__(self, artifacts: Artifacts | None = None) -> None:
        self.artifacts = artifacts
        self.cache = default_cache("kernels") if artifacts is None else artifacts.kernels

    def compiler(self) -> str | None:
        """The compiler's part of every key."""
        return _compiler() if self.artifacts is None else "compiled ahead"

    def described(self) -> AbstractContextManager[None]:
        """How functions are described in it."""
        return nullcontext() if self.artifacts is None else by_code()


def _hash(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


#: The folders with the files that kernels depend on.
COMPILER_FOLDERS = (
    *("", "lang", "front", "ir", "check", "check/instrument", "check/race_prover"),
    *("lower", "legalize", "emit", "spirv", "pipeline"),
)


@functools.cache
def _compiler() -> str | None:
    """The compiler itself: a change of any of its files makes other kernels.  ``None`` if it is in no folder."""
    files = []
    try:
        for room in COMPILER_FOLDERS:
            with os.scandir(_PACKAGE / room) as listing:
                files += [
                    (room, item.name, status.st_size, status.st_mtime_ns)
                    for item in listing
                    if item.is_file() and (status := item.stat())
                ]
    except OSError:
        return None
    return _hash(str(_PACKAGE), platform.python_version(), np.__version__, sorted(files))


#: The entry beside the SPIR-V that says that kernels of this compiler are kept.
_USED = "used"


def has_kept(store: KernelStore) -> bool:
    """Whether a process has kept a kernel of this compiler."""
    compiler = store.compiler()
    return compiler is not None and default_cache().get(_hash(_USED, compiler)) is not None


@functools.cache
def _note_kept(compiler: str, folder: Path | None) -> None:
    key, cache = _hash(_USED, compiler), default_cache()
    if cache.get(key) is None:
        cache.put(key, b"")


# -- what was asked for --------------------------------------------------------------------------------------------


def place_of(request: Request, store: KernelStore) -> str | None:
    """What a request's kernel is kept under; ``None`` if it is compiled in every process."""
    if request.owner is not None or os.environ.get("VKAMP_VERIFY") or store.cache.folder is None:
        return None
    compiler, code = store.compiler(), describe_code(request.function)
    args = [(name, _kind(kind)) for name, kind in request.args]
    captures = [(name, _kind(kind)) for name, kind in request.captures]
    constants = [
        (name, _kind(value) if isinstance(value, ARG_TYPES) else describe(value)) for name, value in request.constants
    ]
    if None in (compiler, code, *(words for _, words in (*args, *captures, *constants))):
        return None
    off = os.environ.get("VKAMP_PASSES_OFF")
    plain = request.precise, request.rank, request.tile, request.subgroup
    return _hash(compiler, code, off, plain, args, captures, constants)


def _functions(request: Request) -> list[Any]:
    """The functions and classes of the objects that a launch passes, and those that they contain: these define
    names.
    """
    found: list[Any] = []
    for kind in with_parts(kind for _, kind in (*request.args, *request.captures, *request.constants)):
        if isinstance(kind, OperatorType):
            found.append(kind.function)
        elif isinstance(kind, FunctorType):
            found.append(kind.cls)
        elif isinstance(kind, (BufferType, StructType, ElementType)):
            found += _classes(kind.type if isinstance(kind, StructType) else kind.element)
        elif isinstance(kind, (MethodType, TupleType)):
            continue
        elif namespace_of(kind) is not kind:
            found.append(kind)
        else:
            found += classes_of_struct(kind)
    return found


def _classes(kind: Any) -> list[type]:
    """The classes of a struct and of the structs in it."""
    if isinstance(kind, Array):
        return _classes(kind.element)
    if not isinstance(kind, Struct):
        return []
    return [*([] if kind.cls is None else [kind.cls]), *(cls for f in kind.fields for cls in _classes(f.type))]


def _kind(kind: ArgType) -> str | None:
    """A type in words; ``None`` for objects of the program's own."""
    if isinstance(kind, (ObjectType, ConstantType)):
        return describe(kind.value)
    if isinstance(kind, OperatorType):
        code = describe_code(kind.function)
        members = [(name, _kind(member)) for name, member in kind.members]
        return (
            None
            if None in (code, *(words for _, words in members))
            else f"{code} {kind.by_value} {kind.bound} {members}"
        )
    if isinstance(kind, FunctorType):
        words = [describe_class(kind.cls), *(_kind(member) for _, member in kind.members)]
        return None if None in words else f"{words} {[name for name, _ in kind.members]}"
    if isinstance(kind, TupleType):
        items = [_kind(item) for item in kind.items]
        return None if None in items else f"{kind.names} {items}"
    if isinstance(kind, MethodType):
        words = [_kind(kind.function), _kind(kind.owner)]
        return None if None in words else f"{words}"
    if isinstance(kind, (BufferType, StructType, ElementType)):
        words = [describe_class(cls) for cls in _classes(kind.type if isinstance(kind, StructType) else kind.element)]
        return None if None in words else f"{kind!r} {words}"
    # What a kernel has no use for is an error only where it is named.
    return repr(kind) if isinstance(kind, (ScalarType, IndexType, VectorType, HostType)) else None


# -- the names -----------------------------------------------------------------------------------------------------


def _names(request: Request, guards: Iterable[Guard]) -> tuple[list[_Name], list[Any]] | None:
    """The names in the order in which they were looked up, and their values; ``None`` if one cannot be found again."""
    names: dict[_Name, Any] = {}
    owners: dict[int, int] = {}
    for k, function in enumerate(_functions(request)):
        # The kernel is -1, and the functions that the launch hands over come after it.
        owners |= {id(function): -2 - k, id(namespace_of(function)): -2 - k}
    for guard in guards:
        if guard.place is None:
            return None
        kind, owner = guard.place
        if owner is not None and id(owner) not in owners and is_of_language(owner):
            for each in (owner, namespace_of(owner)):
                owners.setdefault(id(each), len(names))
            names["language", 0, owner.__name__] = owner
        base = -1 if owner is None else owners.get(id(owner))
        if base is None:
            return None
        name = (kind, base, guard.name)
        if name not in names:
            for each in (guard.value, namespace_of(guard.value)):
                owners.setdefault(id(each), len(names))
            names[name] = guard.value
    return list(names), list(names.values())


def _look_up(request: Request, names: Iterable[_Name]) -> list[Guard] | None:
    """The guards of the names with their current values."""
    guards: list[Guard] = []
    handed_over = (request.function, *_functions(request))
    for kind, base, name in names:
        place: Place
        if kind == "language":
            guards.append(guard_of_language(name))
            continue
        owner = guards[base].value if base >= 0 else handed_over[-1 - base]
        if kind == "attribute":
            place = "attribute", owner
            found = getattr(owner, name, None)
        elif kind == "class":
            place = "class", owner
            found = getattr_static(owner, name, None)
        elif kind == "default":
            function = namespace_of(owner)
            if not isinstance(function, FunctionType):
                return None
            place = "default", function
            found = default_of(function, name)
        else:
            function = namespace_of(owner)
            meaning = read_name(function, name) if isinstance(function, FunctionType) else None
            if meaning is None:
                return None
            place = ("kernel", None) if base == -1 else ("function", function)
            found = meaning[1]
        guards.append(guard_of(name, place, found))
    return guards


def _of_target(place: str, captured: Mapping[str, Any]) -> str:
    """What a kernel that asks for traits of the device is kept under: on another device it may use other names."""
    return _hash(place, sorted((name, value) for name, value in captured.items() if is_trait(name)))


def _meaning(place: str, names: Iterable[_Name], values: Iterable[Any], constants: Mapping[str, Any]) -> str | None:
    """The key of a stored kernel, once the meaning of its names is known."""
    words = [describe(value) for value in values]
    captured = [(name, describe(value)) for name, value in sorted(constants.items())]
    if None in (*words, *(word for _, word in captured)):
        return None
    return _hash(place, list(names), words, captured)


#: What is stored of a kernel, by the fields' names.
_FACTS = tuple(
    each.name
    for each in dataclasses.fields(Compiled)
    if each.name not in ("guards", "constants", "whole", "certain_races", "warned", "key", "cache")
)


# -- kernels -------------------------------------------------------------------------------------------------------


class LazyIR:
    """The kernel's IR, compiled on demand.

    It holds no function, whose closure may hold containers.
    """

    def __init__(self, request: Request, captured: Mapping[str, Any]) -> None:
        self.made: FullKernel | None = None
        self.function = weakref.ref(request.function)
        self.parts = {f.name: getattr(request, f.name) for f in dataclasses.fields(request) if f.name != "function"}
        self.captured = dict(captured)

    def __call__(self) -> FullKernel:
        if self.made is None:
            function = self.function()
            if function is None:
                raise AmpError("the kernel no longer exists: launch or inspect it again")
            self.made = (
                compiler_module().compile_kernel(Request(function=function, **self.parts), self.captured).whole()
            )
        return self.made


def rebind(compiled: Compiled, function: FunctionType) -> None:
    """Notes that a kernel is launched by this function now, which has the same code, and is alive."""
    if isinstance(compiled.whole, LazyIR) and compiled.whole.made is None:
        compiled.whole.function = weakref.ref(function)


def kernel(place: str, request: Request, captured: Mapping[str, Any], store: KernelStore) -> Compiled | None:
    """The kernel of a request, if it is kept and its names mean the same."""
    cache = store.cache
    index = _read(cache, place)
    if index is not None and index["by_target"]:
        place = _of_target(place, captured)
        index = _read(cache, place)
    if index is None:
        return None
    names = [tuple(name) for name in index["names"]]
    guards = _look_up(request, names)
    if guards is None or any(name not in captured for name in index["constants"]):
        return None
    constants = {name: captured[name] for name in index["constants"]}
    values = [guard.value for guard in guards]
    if _has_changed(index, request, values):
        return None
    key = _meaning(place, names, values, constants)
    facts = None if key is None else _read(cache, key)
    if facts is None:
        return None
    whole = LazyIR(request, captured)
    return Compiled(**unpacked(facts), guards=tuple(guards), constants=constants, whole=whole, key=key, cache=cache)


def _has_changed(index: Mapping[str, Any], request: Request, values: Iterable[Any]) -> bool:
    """Whether a source file of a kernel that was compiled ahead exists and has changed since."""
    if "sources" not in index:
        return False
    for then, code in zip(index["sources"], _codes(request, values), strict=True):
        # Where the program comes without its files, one of that name in the working directory is another.
        now = digest_of_code(code) if os.path.isabs(code.co_filename) else None
        if now is not None and now != then:
            return True
    return False


def text_of(code: CodeType) -> str | None:
    """The text of the file of a function of a kernel that was compiled ahead."""
    artifacts = prebuilt.active()
    return None if artifacts is None else artifacts.source(hash_of_code(code))


supply_sources(text_of)


def signature_text(request: Request) -> str:
    """The signature of a request, for people: ``float32[:,:], int32, tile 16x16``."""
    words = [_short(kind) for _, kind in (*request.args, *request.captures)]
    words += [f"{name}={value}" for name, value in request.constants if isinstance(value, (int, float))]
    tile = f"rank {request.rank}" if request.tile is None else f"tile {'x'.join(map(str, request.tile))}"
    return ", ".join([*words, tile])


def _short(kind: ArgType) -> str:
    if isinstance(kind, BufferType):
        return f"{kind.element}[{','.join(':' * kind.rank)}]"
    if isinstance(kind, (ScalarType, StructType, VectorType, ElementType)):
        return str(kind.type)
    return f"{kind.kind}[{kind.rank}]" if isinstance(kind, IndexType) else type(kind).__name__


def keep_kernel(
    place: str, request: Request, captured: Mapping[str, Any], compiled: Compiled, store: KernelStore
) -> Compiled:
    """Keeps what the compiler found, where another process can; the kernel, with what its programs are kept under."""
    found = None if compiled.warned else _names(request, compiled.guards)
    if found is None:
        return compiled
    names, values = found
    by_target = any(map(is_trait, compiled.constants))
    index: dict[str, Any] = {"names": names, "constants": sorted(compiled.constants), "by_target": False}
    if store.artifacts is not None:
        index |= {"kernel": request.function.__name__, "signature": signature_text(request)}
        index |= {"sources": [digest_of_code(code) for code in _codes(request, values)]}
        for code in _codes(request, values):
            store.artifacts.keep_source(hash_of_code(code), linecache.getlines(code.co_filename))
    own = _of_target(place, captured) if by_target else place
    key = _meaning(own, names, values, compiled.constants)
    if key is None or not all(map(is_unchanged, _codes(request, values))):
        return compiled
    cache = store.cache
    _write(cache, key, packed({name: getattr(compiled, name) for name in _FACTS}))
    _write(cache, own, index)
    if by_target:
        _write(cache, place, {"by_target": True})
    _note_kept(store.compiler() or "", cache.folder)
    return dataclasses.replace(compiled, key=key, cache=cache)


def _codes(request: Request, values: Iterable[Any]) -> list[CodeType]:
    """The code of the kernel and of the functions that it calls."""
    functions = (request.function, *_functions(request), *map(namespace_of, values))
    return [each.__code__ for each in functions if isinstance(each, FunctionType)]


# -- programs ------------------------------------------------------------------------------------------------------


def _program_key(key: str, target: Target) -> str:
    parts = [(f.name, getattr(target, f.name)) for f in dataclasses.fields(target)]
    return _hash(key, [(name, sorted(part) if isinstance(part, frozenset) else part) for name, part in parts])


def program(compiled: Compiled, target: Target) -> Executable | None:
    """A kernel's program for a kind of device, if it is kept."""
    if compiled.key is None or compiled.cache is None:
        return None
    data = _read(compiled.cache, _program_key(compiled.key, target))
    if data is None:
        return None
    found = unpacked(data)
    to_spirv = functools.partial(generated_spirv, name=compiled.name, quirks=target.quirks)
    shader = found.pop("shader")
    return Executable(lambda: shader, lambda: compiled.kernel, to_spirv, **found)


def keep_program(compiled: Compiled, target: Target, made: Executable) -> None:
    """Keeps a program, if its kernel is kept."""
    if compiled.key is None or compiled.cache is None:
        return
    data = packed({name: getattr(made, name) for name in ("shader", "lowering", "driver_seconds")})
    _write(compiled.cache, _program_key(compiled.key, target), data)


# -- entries -------------------------------------------------------------------------------------------------------


def _read(cache: DiskCache, key: str) -> Any:
    data = cache.get(key)
    return None if data is None else json.loads(data)


def _write(cache: DiskCache, key: str, data: Any) -> None:
    cache.put(key, json.dumps(data, separators=(",", ":")).encode())
