"""The arguments and captures of a launch: their types for the compiler, their values for the device.

C++ AMP's model: docs/conformance.md, section 9 (what may be captured).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import field
from types import FunctionType, ModuleType
from types import MethodType as BoundMethod
from typing import Any

import numpy as np

from vkamp.errors import AmpError, Span, diagnostic
from vkamp.front import functors, operators, varying
from vkamp.front.parameters import head_of, parameters_of
from vkamp.front.signature import (
    ARG_TYPES,
    ArgType,
    BufferType,
    ConstantType,
    ElementType,
    FunctorType,
    HostType,
    IndexType,
    MethodType,
    ObjectType,
    OperatorType,
    Request,
    ScalarType,
    StructType,
    TupleType,
    VectorType,
    free_names,
    in_double,
    is_complex,
    is_exact_number,
    is_number,
    is_numpy_number,
    part_of,
    plain_number,
    read_name,
    struct_name,
)
from vkamp.front.source import source_of
from vkamp.ir.types import (
    BOOL,
    COMPLEX,
    FLOAT32,
    INT32,
    NUMBERS,
    UINT32,
    VECTORS,
    Scalar,
    Struct,
    Vector,
    from_dtype,
    int_range,
    promoted,
    scalar_fields,
)
from vkamp.lang.container import Container, bindable
from vkamp.lang.device_elements import element_of
from vkamp.lang.index_space import extent, index
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.lang.storage import Location, Placement
from vkamp.lang.vectors import ShortVector, vector_class
from vkamp.records import dataclass

#: What rounds to the largest float32.
_LARGEST_FLOAT = float(np.finfo(np.float32).max) * (1 + 2.0**-25)

_MISSING = object()

#: Objects in objects.
_MAX_DEPTH = 16


@dataclass
class Arguments:
    """What a launch passes: by name, in the order of the parameters, captures last.

    ``containers`` are bound as buffers; ``elements`` are the types of those whose one element the kernel takes by
    value; ``scalars`` are the words by their IR names; ``captured`` the values of captured Python numbers, which the
    compiler reads where it needs a constant.
    """

    containers: dict[str, Container] = field(default_factory=dict)
    elements: dict[str, np.dtype[Any]] = field(default_factory=dict)
    scalars: dict[str, int | float | bool] = field(default_factory=dict)
    captured: dict[str, Any] = field(default_factory=dict)
    args: list[tuple[str, Any]] = field(default_factory=list)
    captures: list[tuple[str, Any]] = field(default_factory=list)
    constants: list[tuple[str, Any]] = field(default_factory=list)
    #: The object whose method the kernel is.
    owner: Any = None
    #: Where the launch would find the containers, on the location that it was last requested for.
    placements: dict[str, Placement] = field(default_factory=dict)
    #: How many objects enclose the one whose members are collected.
    depth: int = 0
    #: The functions around the one whose captures are collected.
    functions: list[FunctionType] = field(default_factory=list)


def _advice() -> Any:
    """What errors advise: imported where one is worded, since it comes with the compiler."""
    from vkamp.front import advice

    return advice


def _span(function: FunctionType, name: str) -> Span:
    """The parameter of a name, or else the kernel's head."""
    source = source_of(function)
    arguments = source.node.args
    rest = [arguments.vararg] if arguments.vararg is not None else []
    for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest):
        if arg.arg == name.partition("[")[0]:
            start = source.span(arg)
            # The name alone, without its annotation.
            return Span(start.file, start.line, start.column, start.line, start.column + len(arg.arg), source.name)
    return head_of(source)


def _host_object(function: FunctionType, name: str, value: Any) -> AmpError:
    advice = _advice()
    help_text = advice.host_advice(value, name, captured=False)
    return diagnostic("VKA205", _span(function, name), name=name, what=advice.host_object(value), advice=help_text)


#: Names that say that a parameter is the index.
_INDEX_NAMES = frozenset(("idx", "index", "t_idx", "t", "i", "tid", "gid", "self"))


def _launch_instead(function: FunctionType, params: tuple[str, ...], given: int) -> str:
    """What to write where too many arguments are given; the kernel may lack a parameter for its index."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if given != len(names) or names[0] in _INDEX_NAMES:
        return f": write parallel_for_each({', '.join(('domain', function.__name__, *params))})"
    return f": the first parameter is the thread's index, write `def {function.__name__}(idx, {', '.join(names)}):`"


#: Names that people give to the components of an index, where they have a parameter for each.
_COMPONENTS = (
    *(("i", "j", "k"), ("z", "y", "x"), ("x", "y", "z")),
    *(("i", "j"), ("y", "x"), ("x", "y"), ("row", "col"), ("row", "column")),
)


def _missing_argument(function: FunctionType, params: tuple[str, ...], named: list[str]) -> str:
    """What to write where an argument is missing; ``named``: the arguments up to it."""
    name, names = function.__name__, function.__code__.co_varnames
    indices = next((each for each in _COMPONENTS if names[: len(each)] == each), ())
    if not indices:
        return f"write parallel_for_each({', '.join(('domain', name, *named))})"
    head = ", ".join(("idx", *params[len(indices) - 1 :]))
    return f"the index is one parameter, write `def {name}({head}):` and in it `{', '.join(indices)} = idx`"


def collect(function: FunctionType, args: tuple[Any, ...], constants: dict[str, Any], owner: Any = None) -> Arguments:
    """Binds a launch's arguments to the kernel's parameters, and finds what it captures.

    ``owner`` is the object whose method the kernel is, its first parameter.

    Raises ``TypeError`` for arguments that do not fit the parameters, ``CompileError`` for objects a kernel can't use.
    """
    params = parameters_of(function, is_method=owner is not None)
    defaults = params.defaults(function)
    out = Arguments()
    if owner is not None:
        assert params.owner is not None
        out.owner = _owner(out, function, params.owner, owner)
    name = function.__name__
    names = params.names(len(args))
    if len(args) > len(names):
        raise TypeError(
            f"{name} takes {len(params.positional)} argument{'s' * (len(params.positional) != 1)} after its index"
            + (f" ({', '.join(params.positional)})" if params.positional else "")
            + f", but {len(args)} {'is' if len(args) == 1 else 'are'} given"
            + _launch_instead(function, params.positional, len(args))
        )
    left = dict(constants)
    for k, param in enumerate(names):
        if k < len(args):
            if param in left:
                raise TypeError(f"{name} got two values for `{param}`")
            value = args[k]
        else:
            value = left.pop(param, defaults.get(param, _MISSING))
            if value is _MISSING:
                hint = _missing_argument(function, params.positional, [*(p for p, _ in out.args), param])
                raise TypeError(f"{name} is launched without its argument `{param}`: {hint}")
        out.args.append((param, _classify(out, function, param, value, captured=False)))
    for param in params.constants:
        value = left.pop(param, defaults.get(param, _MISSING))
        if value is _MISSING:
            raise TypeError(f"{name} is launched without its constant `{param}`: write {param}=...")
        out.constants.append((param, _constant(out, function, param, value)))
    if left:
        wrong = next(iter(left))
        close = _advice().near(wrong, (*params.positional, *params.constants))
        raise TypeError(f"{name} has no parameter `{wrong}`" + (f": did you mean `{close}`?" if close else ""))
    handed_over = varying.handed_over(function, [*out.args, *out.constants])
    for captured_name, value in itertools.chain(_captures(function), handed_over):
        out.captures.append((captured_name, _classify(out, function, captured_name, value, captured=True)))
    return out


def _captures(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The free names that a launch passes: containers, indices, vectors, structs, and the numbers of a closure.

    Numbers of the module, functions, types and modules are part of the program instead; the exceptions are floats that
    change often (:mod:`vkamp.front.varying`).
    """
    for name in free_names(function):
        found = read_name(function, name)
        if found is None:
            continue
        origin, value = found
        in_closure = origin == "closure" and (operators.is_value(value) or operators.is_plain(value))
        if in_closure or operators.is_object(value) or isinstance(value, functools.partial):
            yield name, value
        elif origin == "global" and varying.is_varying(function, name, value):
            yield name, float(value)


def _constant(out: Arguments, function: FunctionType, name: str, value: Any) -> Any:
    """The constant; for a function or tuple its type, because captured numbers are passed by value."""
    if operators.plain_of(value) is not None:
        return _operator(out, function, name, value)
    parts = operators.parts_of(value)
    if parts is not None:
        items = (_constant(out, function, f"{name}[{k}]", item) for k, item in enumerate(parts.items))
        return TupleType(tuple(i if isinstance(i, ARG_TYPES) else _constant_type(i) for i in items), parts.names)
    if operators.is_of_library(value):
        return value
    if value is None or isinstance(value, (bool, int, float, complex, str, type, np.dtype, DeviceFunction)):
        return value
    if is_numpy_number(value):
        return value
    what = _advice().host_object(value)
    raise diagnostic("VKA205", _span(function, name), name=name, what=what, advice=_advice().CONSTANTS)


def _constant_type(value: Any) -> ArgType:
    return ConstantType(value) if is_number(value) or is_complex(value) else ObjectType(value)


def _classify(out: Arguments, function: FunctionType, name: str, value: Any, *, captured: bool) -> ArgType:
    """The type of one argument; its value goes where the device finds it."""
    if isinstance(value, Container):
        out.containers[name] = value
        # The type is known when the memory of all containers is: see make_request.
        return ObjectType(value)
    element = element_of(value)
    if element is not None:
        out.containers[name] = element
        out.elements[name] = value.dtype
        return ObjectType(element)
    if is_number(value):
        return (_captured_number if captured else _number)(out, function, name, value)
    if is_exact_number(value):
        out.scalars[name] = value.item()
        return ScalarType(_scalar_type(function, name, value[()]))
    if isinstance(value, (index, extent)):
        for k, part in enumerate(value):
            out.scalars[part_of(name, k)] = int(part)
        return IndexType(len(tuple(value)), "extent" if isinstance(value, extent) else "index")
    if isinstance(value, np.void) and vector_class(value.dtype) is not None:
        value = vector_class(value.dtype)(*value.item())  # type: ignore[misc]
    if isinstance(value, ShortVector):
        return _vector(out, function, name, VECTORS[type(value).__name__], np.asarray(value))
    if is_complex(value):
        return _complex(out, function, name, value)
    if isinstance(value, np.void) and value.dtype.names is not None:
        return _struct(out, function, name, value)
    if operators.plain_of(value) is not None:
        return _operator(out, function, name, value)
    if isinstance(value, (type, np.dtype, DeviceFunction)) or operators.is_of_library(value):
        return ObjectType(value)
    if functors.is_functor(value):
        return _functor(out, function, name, value)
    if isinstance(value, KernelFunction):
        raise diagnostic("VKA219", _span(function, name), name=value.__name__)
    raise _host_object(function, name, value)


def _owner(out: Arguments, function: FunctionType, name: str, value: Any) -> ArgType:
    if isinstance(value, np.void):
        return _classify(out, function, name, value, captured=True)
    return _members(out, function, name, value)


def _functor(out: Arguments, function: FunctionType, name: str, value: Any) -> ArgType:
    if isinstance(value, BoundMethod):
        return MethodType(ObjectType(functors.function_of(value)), _members(out, function, name, value.__self__))
    return _members(out, function, name, value)


def _members(out: Arguments, function: FunctionType, name: str, value: Any) -> FunctorType:
    """An object's members, each passed under its path."""
    if out.depth > _MAX_DEPTH:
        raise AmpError(f"`{name}` is an object that holds objects more than {_MAX_DEPTH} levels deep, or itself")
    out.depth += 1
    members = tuple(
        (member, _member(out, function, f"{name}.{member}", item)) for member, item in functors.members_of(value)
    )
    out.depth -= 1
    return FunctorType(type(value), members)


def _member(out: Arguments, function: FunctionType, path: str, value: Any) -> ArgType:
    """The type of a member; a member that kernels cannot use is an error only where a kernel names it."""
    if isinstance(value, tuple) and all(is_number(v) or is_complex(v) for v in value):
        return TupleType(tuple(_member(out, function, f"{path}[{k}]", v) for k, v in enumerate(value)))
    known = (Container, ShortVector, index, extent, np.void, type, np.dtype, DeviceFunction)
    is_function = operators.plain_of(value) is not None or operators.is_of_library(value)
    if (
        is_number(value)
        or is_exact_number(value)
        or is_complex(value)
        or isinstance(value, known)
        or is_function
        or element_of(value) is not None
        or functors.is_functor(value)
    ):
        return _classify(out, function, path, value, captured=True)
    return _host_type(path, value)


def _host_type(path: str, value: Any) -> HostType:
    advice = _advice()
    return HostType(advice.host_object(value), advice.host_advice(value, path.rpartition(".")[2], captured=True))


def _operator(out: Arguments, function: FunctionType, name: str, value: Any) -> OperatorType:
    """A function of plain Python; what it captured is passed under its path."""
    plain = operators.plain_of(value)
    assert plain is not None
    out.functions.append(plain)
    if plain in out.functions[:-1]:
        chain = " -> ".join(each.__name__ for each in out.functions)
        raise diagnostic("VKA204", _span(plain, name), name=plain.__name__, chain=chain)
    members = []
    for origin, member, item in operators.captured(value):
        kind = _captured_by(out, plain, origin, f"{name}.{member}", item)
        if kind is not None:
            members.append((member, kind))
    out.functions.pop()
    return operators.operator_type(value, tuple(members))


def _captured_by(out: Arguments, function: FunctionType, origin: str, path: str, value: Any) -> ArgType | None:
    """What a function has captured; ``None`` for what its module keeps under that name, a part of the program."""
    if operators.is_object(value):
        return _classify(out, function, path, value, captured=True)
    if operators.is_value(value) and origin != "builtin":
        return _captured_number(out, function, path, value)
    if origin in ("global", "builtin") and not operators.is_handed_over(origin, value):
        return None
    return _part_of_program(out, function, path, value)


def _part_of_program(out: Arguments, function: FunctionType, path: str, value: Any) -> ArgType:
    """Something captured that a kernel knows when it is compiled."""
    if value is None or is_number(value) or isinstance(value, str):
        return ConstantType(value)
    parts = operators.parts_of(value)
    if parts is not None:
        items = (_part_of_program(out, function, f"{path}[{k}]", item) for k, item in enumerate(parts.items))
        return TupleType(tuple(items), parts.names)
    if operators.plain_of(value) is not None:
        return _operator(out, function, path, value)
    known = (type, np.dtype, ModuleType, DeviceFunction, KernelFunction)
    if isinstance(value, known) or operators.is_of_library(value):
        return ObjectType(value)
    return _host_type(path, value)


def _captured_number(out: Arguments, function: FunctionType, name: str, value: Any) -> ArgType:
    """A number from outside the kernel: one that its type cannot hold is a constant, as those of modules are."""
    try:
        return _number(out, function, name, value, captured=True)
    except AmpError:
        return ConstantType(value)


def _number(out: Arguments, function: FunctionType, name: str, value: Any, *, captured: bool = False) -> ScalarType:
    if captured or isinstance(value, np.int64):
        value = plain_number(value)
    kind = _scalar_type(function, name, value)
    out.scalars[name] = value.item() if isinstance(value, np.generic) else value
    weak = captured and isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))
    if weak:
        out.captured[name] = value
    double = isinstance(value, float) and not isinstance(value, np.generic)
    if double:
        out.scalars[in_double(name)] = value
    return ScalarType(kind, weak, double)


def _scalar_type(function: FunctionType, name: str, value: Any) -> Scalar:
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, np.generic):
        found = NUMBERS.get(value.dtype.name)
        if found is None:
            raise _advice().refused_dtype(value.dtype, _span(function, name), value.dtype.name)
        return promoted(found)
    if isinstance(value, float):
        if _LARGEST_FLOAT < abs(value) < math.inf:
            raise AmpError(
                f"the argument `{name}` = {value} does not fit float32, the type of a Python float: "
                f"pass amp.float64({value})"
            )
        return FLOAT32
    low, high = int_range(INT32)
    if low <= value <= high:
        return INT32
    fits_unsigned = 0 <= value <= int_range(UINT32)[1]
    fits_long = -(1 << 63) <= value < 1 << 63
    hint = f": pass amp.{'uint32' if fits_unsigned else 'int64'}({value})" if fits_unsigned or fits_long else ""
    raise AmpError(f"the argument `{name}` = {value} does not fit int32, the type of a Python int{hint}")


def _vector(out: Arguments, function: FunctionType, name: str, kind: Vector, parts: Any) -> VectorType:
    for letter, part in zip(kind.letters, parts, strict=True):
        out.scalars[part_of(name, letter)] = part.item()
    return VectorType(kind)


def _complex(out: Arguments, function: FunctionType, name: str, value: Any) -> VectorType:
    """A complex number of Python is a complex64, as its floats are float32."""
    kind = COMPLEX.get(type(value).__name__, COMPLEX["complex64"])
    number = kind.element.dtype.type
    with np.errstate(over="ignore"):
        parts = number(value.real), number(value.imag)
    if not all(map(np.isfinite, parts)) and math.isfinite(value.real) and math.isfinite(value.imag):
        raise AmpError(
            f"the argument `{name}` = {value} does not fit complex64, the type of a Python complex number: "
            f"pass amp.complex128({value})"
        )
    return _vector(out, function, name, kind, parts)


def _struct(out: Arguments, function: FunctionType, name: str, value: np.void) -> StructType:
    try:
        kind = from_dtype(value.dtype, struct_name(function, value.dtype))
    except ValueError as error:
        raise _advice().refused_dtype(value.dtype, _span(function, name), name) from error
    assert isinstance(kind, Struct)
    raw = np.array(value).tobytes()
    for path, scalar, offset in scalar_fields(kind):
        out.scalars[part_of(name, *path)] = np.frombuffer(raw, scalar.dtype, 1, offset)[0].item()
    return StructType(kind)


# -- the request ---------------------------------------------------------------------------------------------------


def make_request(
    function: FunctionType,
    precise: bool,
    rank: int,
    tile: tuple[int, ...] | None,
    arguments: Arguments,
    location: Location,
    subgroup: int | None = None,
) -> Request:
    """What the compiler needs of a launch at a location: types, never values."""
    types = _buffer_types(function, arguments, location)

    def resolve(pairs: Iterable[tuple[str, Any]], path: str = "") -> tuple[tuple[str, ArgType], ...]:
        return tuple((n, one(path + n, t)) for n, t in pairs)

    def one(path: str, kind: Any) -> ArgType:
        if isinstance(kind, (FunctorType, OperatorType)):
            return dataclasses.replace(kind, members=resolve(kind.members, f"{path}."))
        if isinstance(kind, TupleType):
            return dataclasses.replace(kind, items=tuple(one(f"{path}[{k}]", t) for k, t in enumerate(kind.items)))
        if isinstance(kind, MethodType):
            return MethodType(kind.function, FunctorType(kind.owner.cls, resolve(kind.owner.members, f"{path}.")))
        found: ArgType = types.get(path, kind)
        return found

    return Request(
        function=function,
        precise=precise,
        rank=rank,
        tile=tile,
        args=resolve(arguments.args),
        captures=resolve(arguments.captures),
        constants=tuple((n, one(n, v) if isinstance(v, ARG_TYPES) else v) for n, v in arguments.constants),
        owner=one(parameters_of(function, is_method=True).owner or "", arguments.owner) if arguments.owner else None,
        subgroup=subgroup,
    )


def _buffer_types(
    function: FunctionType, arguments: Arguments, location: Location
) -> dict[str, BufferType | ElementType]:
    """The containers' types; those of one home get one storage number, in order of appearance."""
    homes: dict[int | str, int] = {}
    types: dict[str, BufferType | ElementType] = {}
    for name, container in arguments.containers.items():
        placed = arguments.placements[name] = bindable(container).placement(location)
        element = from_dtype(container.dtype, struct_name(function, container.dtype))
        whole = placed.dense and placed.offset == 0
        section = placed.dense and container.rank == 1 and not whole
        taken = arguments.elements.get(name)
        if taken is not None:
            # The launch changes it by no other name: see bound_launch.
            storage = homes.setdefault(name, len(homes))
            value = BOOL if taken.kind == "b" else promoted(element) if isinstance(element, Scalar) else element
            types[name] = ElementType(element, storage, value)
            continue
        storage = homes.setdefault(placed.home, len(homes))
        types[name] = BufferType(element, container.rank, container.readonly, whole, storage, section)
    return types
