# SPDX-License-Identifier: BSL-1.0
"""Memory planning and allocation.

>>> import allot
>>> plan = allot.plan([(4096, 0, 2), (1024, 1, 3), (4096, 2, 4)])
>>> plan.peak, plan.status
(5120, 'optimal')
"""

from allot._allot import OffsetAllocator, OutOfMemory, PlanError
from allot._planner import Buffer, Memory, MemoriesPlan, Plan, plan, validate

__all__ = [
    "Buffer",
    "MemoriesPlan",
    "Memory",
    "OffsetAllocator",
    "OutOfMemory",
    "Plan",
    "PlanError",
    "plan",
    "validate",
]
