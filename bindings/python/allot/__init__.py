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
from allot._allot import version as _version
from allot._planner import plan, plan_moves, plan_pages, plan_rows, plan_timed, replan, replan_at, validate
from allot._plans import Copy, MemoriesPlan, MovesPlan, PagesPlan, Part, Piece, Plan, RowsPlan, TimedCopy, TimedPlan, UpdatedPlan
from allot._tables import Access, Buffer, Memory

__version__ = _version

__all__ = [
    "Access",
    "Arena",
    "Buffer",
    "Copy",
    "EventLog",
    "FormatError",
    "MemoriesPlan",
    "Memory",
    "MovesPlan",
    "OffsetAllocator",
    "OutOfMemory",
    "PageCache",
    "PageCacheError",
    "PageSequence",
    "PagesPlan",
    "Part",
    "Piece",
    "Plan",
    "PlanError",
    "RowsPlan",
    "Snapshot",
    "Tensor",
    "TimedCopy",
    "TimedPlan",
    "Trace",
    "TraceWriter",
    "UpdatedPlan",
    "plan",
    "plan_moves",
    "plan_pages",
    "plan_rows",
    "plan_timed",
    "replan",
    "replan_at",
    "replay",
    "validate",
]
