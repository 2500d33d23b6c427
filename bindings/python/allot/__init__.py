# SPDX-License-Identifier: BSL-1.0
"""Memory planning and allocation.

>>> import allot
>>> plan = allot.plan([(4096, 0, 2), (1024, 1, 3), (4096, 2, 4)])
>>> plan.peak, plan.status
(5120, 'optimal')
"""

from allot._allot import (
    Arena,
    EventLog,
    FormatError,
    OffsetAllocator,
    OutOfMemory,
    PageCache,
    PageCacheError,
    PageSequence,
    PlanError,
    Snapshot,
    Tensor,
    Trace,
    TraceWriter,
    replay,
)
from allot._planner import Buffer, Memory, MemoriesPlan, Plan, plan, validate

__all__ = [
    "Arena",
    "Buffer",
    "EventLog",
    "FormatError",
    "MemoriesPlan",
    "Memory",
    "OffsetAllocator",
    "OutOfMemory",
    "PageCache",
    "PageCacheError",
    "PageSequence",
    "Plan",
    "PlanError",
    "Snapshot",
    "Tensor",
    "Trace",
    "TraceWriter",
    "plan",
    "replay",
    "validate",
]
