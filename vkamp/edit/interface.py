"""Checks that the interface of an edited shader matches its kernel's launches."""

from __future__ import annotations

from vkamp.records import dataclass
from vkamp.spirv.reflection import BoundBuffer, Interface


@dataclass(frozen=True)
class Difference:
    """What differs, as a clause, and a regular expression for the line that declares it."""

    text: str
    where: str


def differences(edited: Interface, generated: Interface, shared_limit: int | None = None) -> list[Difference]:
    """The differences between an edited shader's interface and its kernel's; ``[]`` if there are none.

    The element types of buffers may differ (four floats may be read as one vec4), and tile_static memory may be larger,
    up to ``shared_limit`` bytes.
    """
    found = []
    if edited.local_size != generated.local_size:
        text = f"its local size is {_size(edited)}, and the kernel's tile needs {_size(generated)}"
        found.append(Difference(text, r"\blocal_size_"))
    found += _buffers(edited, generated)
    if [(m.offset, m.type) for m in edited.push] != [(m.offset, m.type) for m in generated.push]:
        text = f"its push constants are {_push(edited)}, and the launch passes {_push(generated)}"
        found.append(Difference(text, r"\bpush_constant\b"))
    if shared_limit is not None and edited.shared_bytes > shared_limit:
        text = f"its shared variables take {edited.shared_bytes} bytes, and the device has {shared_limit}"
        found.append(Difference(text, r"^\s*shared\b"))
    return found


def _size(interface: Interface) -> str:
    if interface.local_size is None:
        return "a specialization constant"
    return " x ".join(map(str, interface.local_size))


def _push(interface: Interface) -> str:
    return ", ".join(f"{m.type} {m.name} at {m.offset}" for m in interface.push) or "none"


def _buffers(edited: Interface, generated: Interface) -> list[Difference]:
    have = {(each.set, each.binding): each for each in edited.buffers}
    want = {(each.set, each.binding): each for each in generated.buffers}
    homes = {each.name: each for each in want.values()}
    found = []
    for key, each in want.items():
        if key not in have:
            text = f"it has no buffer at {_place(each)}, where the kernel has {each.name}"
            found.append(Difference(text, rf"\b{each.name}\b"))
    for key, each in have.items():
        text = _difference(each, want.get(key), homes.get(each.name))
        if text:
            found.append(Difference(text, rf"\bbinding\s*=\s*{each.binding}\b"))
    return found


def _difference(each: BoundBuffer, expected: BoundBuffer | None, home: BoundBuffer | None) -> str:
    """What is wrong with one buffer: ``expected`` is the kernel's buffer at its binding, ``home`` the kernel's buffer
    of its name."""
    if home is not None and home.binding != each.binding:
        return f"{each.name} is at {_place(each)}, and at {_place(home)} in the kernel"
    if expected is None:
        return f"it declares {each.name or each.kind} at {_place(each)}, where the kernel has nothing"
    if each.kind != expected.kind:
        return f"{_place(each)} is a {each.kind} there, and a {expected.kind} in the kernel"
    if each.writable and not expected.writable:
        return f"{each.name} is not `readonly` there, and the kernel only reads it"
    return ""


def _place(buffer: BoundBuffer) -> str:
    return f"binding {buffer.binding}" + (f" of set {buffer.set}" if buffer.set else "")
