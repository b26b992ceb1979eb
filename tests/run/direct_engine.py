"""What the tests of the direct engine share."""

from __future__ import annotations

import dataclasses

N = 1003
MIB = 1 << 20
#: The ways in which host and device share data, as expressions that make an engine.
ENGINES = {
    "shared": "VulkanEngine(staged=False)",
    "staged": "VulkanEngine(staged=True)",
    "visible": "VulkanEngine(staged=True, visible=True)",
}


def difference(runner, work):
    """What the statistics of some work are."""
    runner.queue.wait()
    before = dataclasses.asdict(runner.queue.statistics)
    work()
    runner.queue.wait()
    after = dataclasses.asdict(runner.queue.statistics)
    return {name: after[name] - before[name] for name in after}
