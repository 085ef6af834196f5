"""Results of `readwarp.pairwise`: columns of all pairs, rows on demand, tables; CIGARs with = and X."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.device.arrays import on_host
from readwarp.device.rows import ragged_rows
from readwarp.errors import UsageError
from readwarp.python import tables
from readwarp.rules.cigar import EQUAL, LETTERS, MATCH, UNEQUAL, run_of


class Pair(NamedTuple):
    """One alignment. The last four fields are None without traceback; the CIGAR covers the aligned spans."""

    score: int
    query_stop: int
    target_stop: int
    query_start: int | None
    target_start: int | None
    edit_distance: int | None
    cigar: str | None


@dataclass(frozen=True, slots=True)
class Alignments(tables.Tabular):
    """Scores and positions of pairs; the last five fields are None without traceback. Positions are 0-based, half-open.

    Arrays are NumPy's or, on a card, have the CUDA Array Interface. Iteration and indices give each pair
    as a `Pair`; `to_pandas()` and `to_arrow()` give tables with a row per pair.
    """

    score: ndarray  # int32 [p]
    query_stop: ndarray  # int32 [p]; 0 where no local alignment scores above 0
    target_stop: ndarray  # int32 [p]
    query_start: ndarray | None = None  # int32 [p]
    target_start: ndarray | None = None  # int32 [p]
    edit_distance: ndarray | None = None  # int32 [p]
    cigar: ndarray | None = None  # uint32, BAM coding, aligned spans only
    cigar_offsets: ndarray | None = None  # int64 [p + 1]

    def __len__(self) -> int:
        return self.score.size

    def __repr__(self) -> str:
        kind = "scores and stops" if self.cigar is None else "scores, spans and CIGARs"
        return f"Alignments({kind} of {len(self):,} pair{'' if len(self) == 1 else 's'})"

    def __iter__(self) -> Iterator[Pair]:
        return map(Pair, *self._rows().values())

    def __getitem__(self, pair: int) -> Pair:
        """Return one pair; negative numbers count from the end."""
        if not -len(self) <= pair < len(self):
            raise IndexError(f"pair {pair}: there are {len(self)}")
        number = pair % len(self)
        columns = {name: getattr(self, name) for name in Pair._fields[:-1]}
        row: Any = {name: None if c is None else int(on_host(c, name)[number]) for name, c in columns.items()}
        return Pair(**row, cigar=None if self.cigar is None else self.cigar_string(number))

    def cigar_string(self, pair: int) -> str:
        """Return the CIGAR of one pair."""
        if self.cigar is None or self.cigar_offsets is None:
            raise UsageError("no CIGAR without traceback=True")
        start, end = on_host(self.cigar_offsets[pair : pair + 2], "cigar_offsets").tolist()
        runs = on_host(self.cigar[start:end], "cigar")
        return "".join(f"{int(run) >> 4}{LETTERS[int(run) & 15]}" for run in runs)

    def _columns(self) -> list[tables.Column]:
        """Return the columns, without those that need a missing traceback."""
        known = {name: list(values) for name, values in self._rows().items() if getattr(self, name) is not None}
        return [
            tables.Column(name, tables.TEXT if name == "cigar" else tables.INTEGER, values)
            for name, values in known.items()
        ]

    def _rows(self) -> dict[str, list[Any]]:
        """Return the values of each field of `Pair`."""
        rows = {}
        for field in fields(self)[:-2]:
            column = getattr(self, field.name)
            rows[field.name] = [None] * len(self) if column is None else on_host(column, field.name).tolist()
        has_cigars = self.cigar is not None
        rows["cigar"] = [self.cigar_string(pair) if has_cigars else None for pair in range(len(self))]
        return rows


class SplitCigars(NamedTuple):
    """CIGARs of pairs, with = and X instead of M."""

    values: Annotated[ndarray, "uint32 [operations]"]
    offsets: Annotated[ndarray, "int64 [pairs + 1] of operations"]


@scalar
def room_of_split(pair, pairs, traces):
    """Return the maximum operations of a pair."""
    return traces.cigar_offsets[pair + 1] - traces.cigar_offsets[pair] + 2 * np.int64(traces.edit_distance[pair])


@ragged_rows(SplitCigars, room_of_split)
def split_matches(pair, at, pairs, traces, out):
    """Put the operations of a pair, given `Pairs` and `Traces`."""
    i = pairs.target_starts[pair] + traces.target_start[pair]
    j = pairs.query_starts[pair] + traces.query_start[pair]
    last = np.int64(-1)
    for k in range(traces.cigar_offsets[pair], traces.cigar_offsets[pair + 1]):
        operation, length, on_target, on_query = run_of(traces.cigar[k])
        is_match = operation == MATCH
        for step in range(length if is_match else 1):
            kind, size = operation, np.uint32(1 if is_match else length)
            if is_match:
                kind = np.int64(EQUAL if pairs.queries[j + step] == pairs.targets[i + step] else UNEQUAL)
            if kind != last or not is_match:
                at, last = at + 1, kind
                out.values[at - 1] = np.uint32(kind)
            out.values[at - 1] += np.uint32(size << 4)
        i, j = i + on_target, j + on_query
    return at
