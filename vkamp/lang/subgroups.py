"""``amp.subgroup``: the functions of the subgroups of a tile, by their public names."""

from __future__ import annotations

from typing import Any

from vkamp.errors import AmpError
from vkamp.ir.subgroups import INDICES, SUBGROUPS, IndexRow, SubgroupRow
from vkamp.tracebacks import entry_point

#: Their names in other libraries.
HABITS = {
    "sum": ".add(x)",
    "reduce_add": ".add(x)",
    "prod": ".mul(x)",
    "product": ".mul(x)",
    "and_": ".bitwise_and(x)",
    "or_": ".bitwise_or(x)",
    "xor": ".bitwise_xor(x)",
    "scan": ".inclusive_add(x)",
    "prefix_add": ".exclusive_add(x)",
    "prefix_sum": ".exclusive_add(x)",
    "lane_id": ".lane()",
    "lane_index": ".lane()",
    "local_id": ".lane()",
    "invocation_id": ".lane()",
    "num": ".count()",
    "num_subgroups": ".count()",
    "match_any": ".match(x)",
    "find_lsb": ".ballot_find_lsb(b)",
    "find_msb": ".ballot_find_msb(b)",
    "clustered_add": ".add(x, cluster=8)",
}

_NAMES = {
    "value": "x",
    "predicate": "p",
    "lane": "lane",
    "common lane": "lane",
    "distance": "delta",
    "ballot": "b",
}


@entry_point
class SubgroupFunction:
    """A function of the table of subgroup functions; it raises an error in plain Python, which has no subgroups."""

    def __init__(self, row: IndexRow | SubgroupRow) -> None:
        self.row = row
        self.__name__ = row.name
        names = [] if isinstance(row, IndexRow) else [_NAMES[param] for param in row.params]
        if row.name == "shuffle_xor":
            names[1] = "mask"
        self.arity = len(names)
        #: How a call is written.
        self.usage = f"amp.subgroup.{row.name}({', '.join(names)})"
        self.__doc__ = f"``{self.usage}``: {row.doc}\n\n{_types(row)}"

    def __call__(self, *args: Any) -> Any:
        raise AmpError(
            f"amp.subgroup.{self.__name__} works in kernels with tiles and in their @amp.func functions only; "
            "plain Python has no subgroup to run it in"
        )

    def __repr__(self) -> str:
        return f"<vkamp function subgroup.{self.__name__}>"


def _types(row: IndexRow | SubgroupRow) -> str:
    """The types of a function, and which threads get the same result."""
    if isinstance(row, IndexRow):
        takes, gives, needs = "Takes nothing", "int32", ""
    else:
        takes = {"predicate": "Takes a condition", "ballot": "Takes the uint4 that `ballot` returns"}.get(
            row.params[0] if row.params else "", "Takes nothing"
        )
        if row.types:
            *others, last = row.types
            takes = f"Takes {', '.join(others)} or {last}"
        gives = "the value's type" if row.result == "value" else row.result
        needs = f"  The device must support {' and '.join(row.needs)} subgroup operations."
    whom = {
        "tile": "the same in all threads of the tile",
        "subgroup": "the same in all threads of the subgroup",
        "arguments": "the same in all threads that pass the same arguments",
        "thread": "each thread's own",
    }[row.uniform]
    return f"{takes}; gives {gives}, {whom}.{needs}"


@entry_point
class SubgroupNamespace:
    """The functions of subgroups: ``subgroup.add``; AMP has none."""

    def __init__(self) -> None:
        rows: list[IndexRow | SubgroupRow] = [*INDICES.values(), *SUBGROUPS.values()]
        for row in rows:
            setattr(self, row.name, SubgroupFunction(row))

    def __getattr__(self, member: str) -> Any:
        raise AttributeError(f"vkamp has no subgroup.{member}")

    def __repr__(self) -> str:
        return "<vkamp subgroup>"


#: Operations on the values of the threads of a subgroup, the part of a tile whose threads run together.
subgroup = SubgroupNamespace()
