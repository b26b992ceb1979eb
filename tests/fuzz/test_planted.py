"""Faults that are planted in the compiler, and the random kernels that show them."""

from __future__ import annotations

from tools.fuzz.planted import FAULTS, ROOT, kernels_until_caught


def test_every_fault_changes_the_compiler():
    for fault in FAULTS:
        text = (ROOT / fault.path).read_text(encoding="utf-8")
        assert text.count(fault.old) >= 1, fault.name
        compile(text.replace(fault.old, fault.new, 1), fault.path, "exec")
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_a_forgotten_definition_is_caught():
    number, shown = kernels_until_caught(next(f for f in FAULTS if f.name == "claim"), 1)
    assert number == 1
    assert "division" in shown, shown


def test_a_fault_of_the_front_end_is_caught():
    number, shown = kernels_until_caught(next(f for f in FAULTS if f.name == "floor"), 48)
    assert 0 < number <= 48, shown
