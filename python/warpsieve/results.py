"""Statistics of launches."""

from __future__ import annotations

import functools
import json

from . import _native


class Run:
    """Statistics of one launch, or of all launches of a machine."""

    def __init__(self, result: _native.LaunchResult):
        self._result = result

    @property
    def kernel(self) -> str:
        """Name of the kernel, or ``all launches``."""
        return self._result.title

    @property
    def cycles(self) -> int:
        """Core cycles from the start of the launch to the end of its last CTA."""
        return self._result.cycles

    @functools.cached_property
    def statistics(self) -> dict:
        """The statistics as nested dictionaries. :func:`statistics_keys` explains the keys."""
        return json.loads(self._result.statistics())

    @property
    def check(self) -> str:
        """Verdict of the checks so far: ``passed``, ``order-dependent``, ``undefined``, ``failed``, or ``off``."""
        return self.statistics["check"]

    @property
    def failed(self) -> list[str]:
        """Messages of the failed checks."""
        return self._result.failed

    @property
    def notes(self) -> list[str]:
        """Notes, such as about results that depend on the order of warps."""
        return self._result.notes

    @property
    def written(self) -> list[str]:
        """Files that were written."""
        return [str(path) for path in self._result.written]

    def summary(self, width: int | None = None) -> str:
        """Returns the table that ``warpsieve run`` prints. Lines are wrapped at ``width`` characters."""
        return self._result.summary(width)

    def flat(self) -> dict:
        """Returns all statistics except lists, in one flat dictionary. Its keys are paths such as ``l1.hits``.

        >>> pandas.DataFrame([run.flat() for run in runs])
        """
        return dict(_flatten(self.statistics))

    def table(self, key: str) -> list[dict]:
        """Returns a list of the statistics, such as ``loads`` or ``units.l1``, as rows of a table.

        >>> pandas.DataFrame(run.table("loads"))
        """
        rows = self.statistics
        for name in key.split("."):
            if not isinstance(rows, dict) or name not in rows:
                raise KeyError(key)
            rows = rows[name]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise TypeError(f"`{key}` is not a list of groups")
        return [dict(_flatten(row)) for row in rows]

    def __repr__(self) -> str:
        return f"<Run {self.kernel}: {self.cycles:,} cycles>"

    def __str__(self) -> str:
        return self.summary().rstrip("\n")


def _flatten(group: dict, path: str = ""):
    for name, value in group.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{name}.")
        elif not isinstance(value, list):
            yield f"{path}{name}", value


def statistics_keys() -> list[dict]:
    """Returns every key that statistics can have, with its meaning and unit."""
    return json.loads(_native.statistics_keys())
