"""Names that one side of a merge changed everywhere, to rename them in the additions of the other side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vkamp.edit.units import Unit, declared_names, tokens_of


@dataclass(frozen=True)
class Renames:
    """The new names at file scope and in each function, which is identified by its header in the base."""

    of_file: Mapping[str, str]
    of_scopes: Mapping[int, Mapping[str, str]]

    def apply(self, text: str, base: Unit, number: int) -> str:
        """The text for a unit of the base, with the new names."""
        return self.apply_in(text, number if base.scope is None else base.scope)

    def apply_in(self, text: str, scope: int | None) -> str:
        """The text, in a function of the base, with the new names; comments stay."""
        names = {**self.of_file, **({} if scope is None else self.of_scopes.get(scope, {}))}
        if not names:
            return text
        out: list[str] = []
        for kind, token in tokens_of(text):
            is_member = bool(out) and out[-1] == "."
            out.append(names.get(token, token) if kind == "word" and not is_member else token)
        return "".join(out)


def find_renames(base: list[Unit], other: list[Unit], partner: list[int | None]) -> Renames:
    """The renames from ``base`` to ``other``: declared names that every statement has changed in the same way."""
    scopes: dict[int | None, dict[str, set[str]]] = {}
    for i, j in enumerate(partner):
        if j is None or base[i].kind not in ("code", "open") or len(base[i].key) != len(other[j].key):
            continue
        for old, new in zip(base[i].key, other[j].key, strict=True):
            if old != new:
                for scope in {None, _scope(base, i)}:
                    scopes.setdefault(scope, {}).setdefault(old, set()).add(new)
    found = {scope: _consistent(base, other, partner, scope, names) for scope, names in scopes.items()}
    of_file = found.pop(None, {})
    return Renames(of_file, {scope: names for scope, names in found.items() if scope is not None})


def _scope(units: list[Unit], i: int) -> int | None:
    """The function that contains a unit or has it as its header; ``None`` at file scope."""
    unit = units[i]
    if unit.scope is not None:
        return unit.scope
    return i if unit.kind == "open" else None


def _consistent(
    base: list[Unit], other: list[Unit], partner: list[int | None], scope: int | None, names: Mapping[str, set[str]]
) -> dict[str, str]:
    """The names that are declared here and missing on the other side, and whose new names do not exist there."""
    if scope is None:
        before, after, declarations = base, other, [unit for unit in base if _is_of_file(base, unit)]
    else:
        there = partner[scope]
        before = declarations = [unit for i, unit in enumerate(base) if _scope(base, i) == scope]
        after = [unit for j, unit in enumerate(other) if there is not None and _scope(other, j) == there]
    declared = {name for unit in declarations for name in declared_names(unit.key)}
    had, has = ({token for unit in units for token in unit.key} for units in (before, after))
    out = {}
    for old, news in names.items():
        (new, *more) = news
        if not more and old not in has and new not in had and new.isidentifier() and old in declared:
            out[old] = new
    return out


def _is_of_file(units: list[Unit], unit: Unit) -> bool:
    """Whether a unit declares names at file scope: outside of functions, or inside a buffer."""
    if unit.scope is None:
        return unit.kind == "code"
    return ")" not in units[unit.scope].key[-2:]
