"""Whether an edited shader still is what its kernel's launches hand their arguments to."""

from __future__ import annotations

from vkamp.artifacts import BoundBuffer, Interface

__all__ = ["differences"]


def differences(edited: Interface, generated: Interface, shared_limit: int | None = None) -> list[str]:
    """What of an edited shader's interface is not its kernel's, each in a clause; ``[]`` if all of it is.

    The element types of buffers may differ (four floats may be read as one vec4), and tile_static memory may be larger,
    up to ``shared_limit`` bytes.
    """
    found = []
    if edited.local_size != generated.local_size:
        found.append(f"its local size is {_size(edited)}, and the kernel's tile needs {_size(generated)}")
    found += _buffers(edited, generated)
    if [(m.offset, m.type) for m in edited.push] != [(m.offset, m.type) for m in generated.push]:
        found.append(f"its push constants are {_push(edited)}, and the launch hands over {_push(generated)}")
    if shared_limit is not None and edited.shared_bytes > shared_limit:
        found.append(f"its shared variables take {edited.shared_bytes} bytes, and the device has {shared_limit}")
    return found


def _size(interface: Interface) -> str:
    if interface.local_size is None:
        return "a specialization constant"
    return " x ".join(map(str, interface.local_size))


def _push(interface: Interface) -> str:
    return ", ".join(f"{m.type} {m.name} at {m.offset}" for m in interface.push) or "none"


def _buffers(edited: Interface, generated: Interface) -> list[str]:
    have = {(each.set, each.binding): each for each in edited.buffers}
    want = {(each.set, each.binding): each for each in generated.buffers}
    homes = {each.name: each for each in want.values()}
    found = [f"it has no buffer at {_place(each)}, where the kernel has {each.name}" for k, each in want.items() if k not in have]
    for key, each in have.items():
        expected = want.get(key)
        if expected is None:
            found.append(f"it declares {each.name or each.kind} at {_place(each)}, where the kernel has nothing")
        elif each.kind != expected.kind:
            found.append(f"{_place(each)} is a {each.kind} there, and a {expected.kind} in the kernel")
        elif homes.get(each.name, expected).binding != each.binding:
            found.append(f"{each.name} is at {_place(each)}, and at {_place(homes[each.name])} in the kernel")
        elif each.writable and not expected.writable:
            found.append(f"{each.name} is not `readonly` there, and the kernel only reads it")
    return found


def _place(buffer: BoundBuffer) -> str:
    return f"binding {buffer.binding}" + (f" of set {buffer.set}" if buffer.set else "")
