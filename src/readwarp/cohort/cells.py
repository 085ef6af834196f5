"""Choose the line of each file that covers a site, and read its samples' columns (host only)."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.cohort.sites import OTHER, Codes, JointSite
from readwarp.formats.variants.genomic import GenomicFile
from readwarp.formats.variants.genomic_cells import Cells
from readwarp.formats.variants.genomic_lines import BLOCK, Lines
from readwarp.ragged import concatenate, offsets_of

CODES_OF_BLOCK: Codes = (0, OTHER)


class CellEvidence(NamedTuple):
    """Lines that cover each site and sample; a cell is one sample's column of one line."""

    owner: Annotated[ndarray, "int64 [samples]"]  # number of the sample's file
    cells: Cells  # of all samples
    cell: Annotated[ndarray, "int32 [sites, samples]"]  # row of `cells`; -1: no line covers it
    code: Annotated[ndarray, "int32 [sites, samples]"]  # row of `codes`, the line's alleles as numbers of the site
    is_own: Annotated[ndarray, "bool [sites, samples]"]  # the line begins at the site
    has_prior: Annotated[ndarray, "bool [sites, samples]"]  # the line begins there, and its likelihoods are posteriors
    cover: Annotated[ndarray, "int32 [sites, samples]"]  # cell of another line: a deletion across the site; -1: none
    cover_code: Annotated[ndarray, "int32 [sites, samples]"]
    codes: Annotated[ndarray, "int16 [numbers]"]
    code_offsets: Annotated[ndarray, "int64 [codes + 1] of numbers"]


def gather(sites: Sequence[JointSite], files: Sequence[GenomicFile], lines: Sequence[Lines]) -> CellEvidence:
    """Gather the evidence of each file's lines that span the sites. Raises InputError for unusable columns."""
    pool: dict[Codes, int] = {CODES_OF_BLOCK: 0}
    rows, code, is_own, covers, cover_code = _choose_lines(sites, lines, pool)
    parts, columns = [], []
    known = 0
    for number, file in enumerate(files):
        row, cover = rows[:, number], covers[:, number]
        used = np.unique(np.concatenate((row[row >= 0], cover[cover >= 0])))
        place = np.full(len(lines[number]) + 1, -1, np.int64)  # the last one for row -1
        for column in range(len(file.samples)):
            parts.append(file.cells(lines[number], used, column))
            place[used] = known + np.arange(used.size)
            columns.append((place[row], place[cover], number))
            known += used.size
    owner = np.array([number for *_, number in columns])
    code, is_own, cover_code = (np.take(each, owner, axis=1) for each in (code, is_own > 0, cover_code))  # C order
    return CellEvidence(
        owner=owner,
        cells=concatenate(parts, "cells"),
        cell=np.array([cell for cell, *_ in columns], np.int32).T.copy(),
        code=code,
        is_own=is_own,
        has_prior=is_own & np.array([files[number].has_priors for number in owner], np.bool_),
        cover=np.array([cover for _, cover, _ in columns], np.int32).T.copy(),
        cover_code=cover_code,
        codes=np.array([code for codes in pool for code in codes], np.int16),
        code_offsets=offsets_of([len(codes) for codes in pool]),
    )


def _choose_lines(sites: Sequence[JointSite], lines: Sequence[Lines], pool: dict[Codes, int]) -> ndarray:
    """Choose lines: int32 [5, sites, files].

    The rows are: row and codes of the line that covers the site, whether it begins there, and row and codes of another
    line, with a deletion across the site. `pool`: the number of each tuple of codes; new ones are added.
    """
    found = np.zeros((5, len(sites), len(lines)), np.int32)
    row, code, is_own, cover, cover_code = found
    row[:], cover[:] = -1, -1
    for s, site in enumerate(sites):
        for file, (record, codes) in site.own.items():
            row[s, file], code[s, file], is_own[s, file] = record.row, pool.setdefault(codes, len(pool)), 1
        for file, others in site.across.items():
            if row[s, file] < 0:
                (record, codes), *others = others
                row[s, file], code[s, file] = record.row, pool.setdefault(codes, len(pool))
            if others and site.star >= 0 and site.star in others[0][1]:
                record, codes = others[0]
                cover[s, file], cover_code[s, file] = record.row, pool.setdefault(codes, len(pool))
    positions = np.array([site.position for site in sites], np.int64)
    for file, own in enumerate(lines):
        block = _block_at(own, positions)
        row[:, file] = np.where(row[:, file] < 0, block, row[:, file])
    return found


def _block_at(lines: Lines, positions: ndarray) -> ndarray:
    """Return the block that spans each position, the one that reaches furthest if there are several; -1 for none."""
    blocks = np.flatnonzero(lines.kind == BLOCK)
    if blocks.size == 0:
        return np.full(positions.size, -1)
    end = lines.end[blocks]
    furthest = np.maximum.accumulate(np.where(end == np.maximum.accumulate(end), np.arange(end.size), 0))
    block = blocks[furthest[np.maximum(0, np.searchsorted(lines.begin[blocks], positions, side="right") - 1)]]
    return np.where((lines.begin[block] <= positions) & (positions < lines.end[block]), block, -1)
