"""Which line of each file speaks about a site, and what its samples' columns say (host only)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from readwarp.call.joint.sites import OTHER, Codes, JointSite
from readwarp.formats.variants.genomic import Cells, GenomicFile, Rows
from readwarp.formats.variants.genomic_kernels import BLOCK
from readwarp.ragged import offsets_of

OF_BLOCK: Codes = (0, OTHER)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks about s sites of m samples. A cell is one sample's column of one line."""

    cells: Cells  # of all samples
    cell: np.ndarray  # int32 [s, m], row of `cells`, -1: no line says anything
    code: np.ndarray  # int32 [s, m], its alleles' numbers at the site, as row of `codes`
    is_own: np.ndarray  # bool [s, m], the line is one of the site
    cover: np.ndarray  # int32 [s, m], of a deletion across the site besides, -1: none
    cover_code: np.ndarray  # int32 [s, m]
    codes: np.ndarray  # int16
    code_offsets: np.ndarray  # int64


@dataclass(frozen=True, slots=True)
class _Lines:
    """Rows of each file's Rows and their codes, int32 [s, files]."""

    row: np.ndarray
    code: np.ndarray
    is_own: np.ndarray
    cover: np.ndarray
    cover_code: np.ndarray


def gather(sites: Sequence[JointSite], files: Sequence[GenomicFile], rows: Sequence[Rows]) -> Evidence:
    """`rows`: of each file, all that span the sites. Raises InputError for columns that cannot be used."""
    pool: dict[Codes, int] = {OF_BLOCK: 0}
    found = _lines(sites, rows, pool)
    parts, columns, known = [], [], 0
    for number, file in enumerate(files):
        row, cover = found.row[:, number], found.cover[:, number]
        chosen = np.unique(np.concatenate((row[row >= 0], cover[cover >= 0])))
        place = np.full(len(rows[number]) + 1, -1, np.int64)  # the last one for row -1
        for column in range(len(file.samples)):
            parts.append(file.cells(rows[number], chosen, column))
            place[chosen] = known + np.arange(chosen.size)
            columns.append((place[row], place[cover], number))
            known += chosen.size
    owner = [number for *_, number in columns]
    return Evidence(
        cells=_together(parts),
        cell=np.array([cell for cell, *_ in columns], np.int32).T.copy(),
        code=found.code[:, owner],
        is_own=found.is_own[:, owner],
        cover=np.array([cover for _, cover, _ in columns], np.int32).T.copy(),
        cover_code=found.cover_code[:, owner],
        codes=np.array([code for codes in pool for code in codes], np.int16),
        code_offsets=offsets_of([len(codes) for codes in pool]),
    )


def _lines(sites: Sequence[JointSite], rows: Sequence[Rows], pool: dict[Codes, int]) -> _Lines:
    shape = (len(sites), len(rows))
    row, cover = np.full((2, *shape), -1, np.int32)
    code, cover_code = np.zeros((2, *shape), np.int32)
    is_own = np.zeros(shape, np.bool_)
    for s, site in enumerate(sites):
        for file, (record, codes) in site.own.items():
            row[s, file], code[s, file], is_own[s, file] = record.row, pool.setdefault(codes, len(pool)), True
        for file, found in site.above.items():
            if row[s, file] < 0:
                (record, codes), *found = found
                row[s, file], code[s, file] = record.row, pool.setdefault(codes, len(pool))
            if found and site.star >= 0 and site.star in found[0][1]:
                record, codes = found[0]
                cover[s, file], cover_code[s, file] = record.row, pool.setdefault(codes, len(pool))
    positions = np.array([site.position for site in sites], np.int64)
    for file, own in enumerate(rows):
        block = _block_at(own, positions)
        row[:, file] = np.where(row[:, file] < 0, block, row[:, file])
    return _Lines(row, code, is_own, cover, cover_code)


def _block_at(rows: Rows, positions: np.ndarray) -> np.ndarray:
    """The row of the block that spans each position, -1 where there is none."""
    blocks = np.flatnonzero(rows.kind == BLOCK)
    if blocks.size == 0:
        return np.full(positions.size, -1)
    block = blocks[np.maximum(0, np.searchsorted(rows.begin[blocks], positions, side="right") - 1)]
    return np.where((rows.begin[block] <= positions) & (positions < rows.end[block]), block, -1)


def _together(parts: Sequence[Cells]) -> Cells:
    """The cells of several samples behind each other."""
    columns: dict[str, Any] = {}
    for name, ends in (("depths", "depth_offsets"), ("likelihoods", "likelihood_offsets")):
        columns[name] = np.concatenate([getattr(part, name)[: getattr(part, ends)[-1]] for part in parts])
        columns[ends] = offsets_of(np.concatenate([np.diff(getattr(part, ends)) for part in parts]))
    for rest in (f.name for f in fields(Cells) if f.name not in columns):
        columns[rest] = np.concatenate([getattr(part, rest) for part in parts])
    return Cells(**columns)
