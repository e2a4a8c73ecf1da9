"""Holds the records of the flows that ended until the run's record is made of them and read.

What an agent printed and said may be large, and a suite has many: beyond some room they lie in a
file without a name, which no other process finds. Counterpart: `run`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from flowproof.model.outcome import Verdict
    from flowproof.model.run_record import FlowRecord, LazyFlows

# What flows leave is loaded once there is some: the first agent is launched before.

ROOM = 512 * 1024
"""How many bytes of records, as they would be in the file, stay in memory: those of a small suite,
which then takes no writing and reading."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the file a record is."""

    start: int
    size: int


class FlowStore:
    """Records by the ids of their flows; `room` is as `ROOM`."""

    def __init__(self, room: int = ROOM) -> None:
        # Mutable: the room that is left, where each record is, and the file if there is one.
        self._room = room
        self._records: dict[str, FlowRecord | bytes | _Place] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._file: int | None = None
        self._end = 0

    def put(self, id: str, record: FlowRecord) -> None:
        """Take the record of a flow. Where no file can be written, it stays in memory."""
        import pickle

        data = pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
        self._verdicts[id] = record.verdict
        if len(data) <= self._room:
            self._room -= len(data)
            self._records[id] = record
            return
        self._records[id] = data
        with suppress(OSError):
            self._records[id] = self._written(data)

    def verdict(self, id: str) -> Verdict | None:
        """How a flow ended; None if it has not."""
        return self._verdicts.get(id)

    def get(self, id: str) -> FlowRecord:
        """The record of a flow that ended.

        :raises KeyError: if it has not.
        :raises OSError: if the file cannot be read.
        """
        found = self._records[id]
        if isinstance(found, _Place):
            assert self._file is not None  # places are in it
            found = os.pread(self._file, found.size, found.start)
        if not isinstance(found, bytes):
            return found
        import pickle

        # Nobody else can have written it: that file has no name.
        return cast("FlowRecord", pickle.loads(found))

    def in_order(self, ids: Iterable[str]) -> LazyFlows:
        """The records of these flows, read when they are asked for.

        :raises KeyError: if one of them has not ended.
        """
        from flowproof.model.run_record import LazyFlows

        order = tuple(ids)
        return LazyFlows([self._verdicts[id] for id in order], lambda at: self.get(order[at]))

    def _written(self, data: bytes) -> _Place:
        if self._file is None:
            import tempfile  # takes longer than a small suite

            self._file, path = tempfile.mkstemp(prefix="flowproof-")
            os.unlink(path)  # noqa: PTH108 (a text, as mkstemp gives it)
            weakref.finalize(self, os.close, self._file)
        place = _Place(self._end, len(data))
        # One that a full disk cut short is written over by the next.
        if os.pwrite(self._file, data, place.start) != place.size:
            raise OSError("cut short")
        self._end += place.size
        return place
