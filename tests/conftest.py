"""Which tests keep to one worker of pytest-xdist.

Its own `--dist loadgroup` (xdist 3.8) names groups in a way that pytest 9.2 ignores: two browsers starve each other.
"""

import gc
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

# One browser and one server for all of its tests; one server or one nginx for a file's.
TOGETHER = ("tests/browser/", "tests/test_community_cloud.py", "tests/test_deploy.py", "tests/faults/")


class Together(LoadScopeScheduling):
    """Tests go to whoever is free, but some places as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        # Else by function: the scheduler's own work grows with the square of what it hands out.
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid.partition("[")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    """In place of the scheduler that `--dist` names."""
    return Together(config, log)


def pytest_collection_finish() -> None:
    """Spare the garbage collector what is imported and collected: it stays anyway."""
    gc.collect()
    gc.freeze()
