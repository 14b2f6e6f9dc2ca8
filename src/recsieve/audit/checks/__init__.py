"""Checks for problems other than noise: hints at bots, bulk buyers and other things that the owner of a log may want to
look at.

A new check is a file here and a line in `CHECKS`, or an entry point in the group `recsieve.checks`.
"""

from recsieve.audit.checks.base import Check, Finding, run_checks
from recsieve.audit.checks.bots import Bots
from recsieve.audit.checks.bulk_buyers import BulkBuyers
from recsieve.audit.checks.changed_items import ChangedItems
from recsieve.audit.checks.drift import Drift
from recsieve.audit.checks.duplicates import Duplicates
from recsieve.registry import Registry

CHECKS: Registry[type[Check]] = Registry(
    "check",
    {
        "bots": Bots,
        "bulk-buyers": BulkBuyers,
        "duplicates": Duplicates,
        "drift": Drift,
        "changed-items": ChangedItems,
    },
)

__all__ = ["CHECKS", "Check", "Finding", "run_checks"]
