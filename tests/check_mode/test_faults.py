"""Every faulty kernel is found out: kind, variable and lines, on devices as on the reference accelerator."""

from __future__ import annotations

import pytest

import vkamp as amp
from tests.check_mode import races, values
from tests.check_mode.cases import CASES, Case

assert races, values


@pytest.mark.filterwarnings("ignore::vkamp.RaceWarning")
@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.spread(2)
def test_fault_is_found(accelerator_view: amp.accelerator_view, case: Case) -> None:
    report = amp.check(accelerator_view, case.domain, case.kernel, *case.arguments())
    assert not report.ok
    told = [(f.kind, f.variable) for f in report.findings]
    assert set(told) <= {(case.kind, case.variable)}, str(report)
    lines = {span.line for f in report.findings for span in f.locations}
    assert lines <= case.lines and lines, str(report)
    assert {span.file.rpartition("/")[2] for f in report.findings for span in f.locations} <= {
        f"{case.module.rpartition('.')[2]}.py"
    }
    assert report.not_covered == ()
