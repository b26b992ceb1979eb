"""``@amp.struct``: a class of values that the host and kernels share, with fields of numbers and with methods.

C++ AMP's model: docs/conformance.md, sections 4 and 10 (structs by value, their methods and constructors).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from vkamp.lang.dtypes import aligned, components, convert_scalar, element_dtype
from vkamp.lang.vectors import ShortVector, vector_class
from vkamp.records import dataclass
from vkamp.tracebacks import entry_point, user_frame

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform() -> Callable[[Any], Any]:
        """Only for type checkers."""
        return lambda function: function


_C = TypeVar("_C", bound=type)

_PYTHON = {int: np.int32, float: np.float32}


@dataclass(frozen=True)
class StructField:
    """A field: its dtype, and the value that a constructor gives it (``None``: zero)."""

    name: str
    dtype: np.dtype[Any]
    default: Any = None


_FIELDS = "__vkamp_fields__"


def struct_fields(cls: Any) -> tuple[StructField, ...] | None:
    """The fields of a class that ``@amp.struct`` made, in order; ``None`` for anything else."""
    found = getattr(cls, _FIELDS, None) if isinstance(cls, type) else None
    return found if isinstance(found, tuple) else None


@dataclass_transform()
@entry_point
def struct(cls: _C) -> _C:
    """Makes a class a struct: a value of fixed size, on the host and in kernels (AMP: a struct by value).

    The annotations are the fields, in order: scalar types, other structs, or ``(type, shape)`` for an array of them.
    ``Particle(x=1.0)`` creates a value on the host and in kernels; other fields get their default or zero. Methods
    decorated with ``@amp.func`` also work on both sides. ``Particle.dtype`` is the structured dtype, and ``Particle``
    is accepted as a dtype: ``np.zeros(8, Particle)``, ``amp.array(extent, Particle)``. Fields are aligned to their
    size, as in C++. Values on the host are numpy's own structured scalars, with the fields as attributes.

    Raises ``TypeError`` for any other class.
    """
    if not isinstance(cls, type):
        raise TypeError(f"@amp.struct decorates a class, not {type(cls).__name__}")
    if "__init__" in vars(cls) or "__new__" in vars(cls):
        raise TypeError(
            f"@amp.struct generates the constructor of {cls.__name__}: write a static method that creates values"
        )
    for base in cls.__mro__[1:-1]:
        if struct_fields(base) is not None:
            raise TypeError(f"{cls.__name__} inherits from the struct {base.__name__}: make it a field instead")
    fields = _fields_of(cls, user_frame().f_locals)
    plain = element_dtype(aligned((f.name, f.dtype) for f in fields))
    for field in fields:
        setattr(cls, field.name, _property(field))
    setattr(cls, _FIELDS, fields)
    cls.__new__ = _make  # type: ignore[method-assign]
    cls.__init__ = _nothing  # type: ignore[misc]
    for name, method in (("__repr__", _text), ("__str__", _text), ("__reduce__", _reduce)):
        if name not in vars(cls):
            setattr(cls, name, method)
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    value = type(cls.__name__, (cls, np.void), {**names, **_comparisons(cls)})
    cls.dtype = np.dtype((value, plain))  # type: ignore[attr-defined]
    return cls


def _fields_of(cls: type, names: dict[str, Any]) -> tuple[StructField, ...]:
    module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    annotations = inspect.get_annotations(cls, globals=module, locals={**names, **vars(cls)}, eval_str=True)
    if not annotations:
        raise TypeError(f"{cls.__name__} has no fields: annotate them, `x: amp.float32`")
    fields = []
    for name, annotation in annotations.items():
        if name == "dtype" or name.startswith("__"):
            raise TypeError(f"a field of {cls.__name__} cannot be called {name}")
        dtype = _field_dtype(annotation, f"{cls.__name__}.{name}")
        fields.append(StructField(name, dtype, vars(cls).get(name)))
    return tuple(fields)


def _field_dtype(annotation: Any, what: str) -> np.dtype[Any]:
    base, shape = annotation if isinstance(annotation, tuple) and len(annotation) == 2 else (annotation, ())
    base = _PYTHON.get(base, base) if isinstance(base, type) else base
    try:
        return np.dtype((np.dtype(base), shape))
    except (TypeError, ValueError):
        raise TypeError(f"{what}: {annotation!r} is not a field type") from None


def _property(field: StructField) -> property:
    name = field.name
    vector = vector_class(field.dtype)

    # By numpy's own subscripts: the class may define others.
    def get(self: Any) -> Any:
        found = np.void.__getitem__(self, name)
        if vector is None:
            return found
        return vector._of(np.array(components(np.asarray(found))), lambda k, v: found.__setitem__(k, v))

    def store(self: Any, value: Any) -> None:
        np.void.__setitem__(self, name, _converted(value, field.dtype))

    return property(get, store)


def _make(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The constructor: fields by position or name; the others get their default."""
    fields = struct_fields(cls)
    assert fields is not None
    names = [f.name for f in fields]
    if len(args) > len(names):
        raise TypeError(f"{cls.__name__} has {len(names)} fields, but {len(args)} values were given")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{cls.__name__} has no field {name}; it has {', '.join(names)}")
        if name in given:
            raise TypeError(f"{cls.__name__} got two values for {name}")
        given[name] = value
    made = np.zeros((), cls.dtype)
    for field in fields:
        value = given.get(field.name, field.default)
        if value is not None:
            made[field.name] = _converted(value, field.dtype)
    return made[()]


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    vector = vector_class(dtype)
    if vector is not None:
        return tuple(np.asarray(value if isinstance(value, ShortVector) else vector(*value)))
    return value if dtype.names is not None or dtype.subdtype is not None else convert_scalar(value, dtype)


def _nothing(self: Any, *args: Any, **kwargs: Any) -> None:
    """Does nothing: the values are already stored."""
    del self, args, kwargs


def _comparisons(cls: type) -> dict[str, Callable[[Any, Any], Any]]:
    """The comparisons that a class leaves to Python, where numpy's records have others."""
    found: dict[str, Callable[[Any, Any], Any]] = {}
    if "__eq__" in vars(cls):
        found["__ne__"] = _differs
    for name, opposite in (("lt", "gt"), ("gt", "lt"), ("le", "ge"), ("ge", "le")):
        if f"__{opposite}__" in vars(cls):
            found[f"__{name}__"] = _left_to_the_other
    return {name: method for name, method in found.items() if name not in vars(cls)}


def _differs(self: Any, other: Any) -> Any:
    found = self.__eq__(other)
    return found if found is NotImplemented else not found


def _left_to_the_other(self: Any, other: Any) -> Any:
    del self, other
    return NotImplemented


#: What values on the host need and kernels do not.
HOST_COMPARISONS = (_differs, _left_to_the_other)


def _text(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!s}" for f in struct_fields(type(self)) or ())
    return f"{type(self).__name__}({shown})"


def _restore(cls: Any, raw: bytes) -> Any:
    return np.frombuffer(raw, cls.dtype)[0].copy()


def _reduce(self: Any) -> tuple[Any, ...]:
    # The class of numpy's values is not an attribute of the module; its base class is.
    return _restore, (type(self).__mro__[1], self.tobytes())
