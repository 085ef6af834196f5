"""A sample's column of a genomic VCF: genotype, depths and likelihoods, however its caller writes them.

PL             unchanged; without it GL, log10 likelihoods of any scale, as Phred less the lowest
block          without either: from this many reads of the reference's base as GQ tells, else as many as its depth
depth          MIN_DP, else DP, else the sum of AD
phase          PS and the GT's order; without PS, the position that PID begins with, and PGT's order
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_PLOIDY
from readwarp.formats.variants.genomic_lines import BAD_NUMBER, BLOCK, FIXED, NEWLINE, NO_LIKELIHOODS, OK, RETURN, TAB
from readwarp.formats.variants.genomic_numbers import (
    LARGEST,
    leading_number,
    number_in,
    read_genotype,
    read_logarithms,
    read_numbers,
)
from readwarp.formats.variants.vcf import MAX_INTEGER

COLON = 58
ERROR = 0.01  # error rate of a read in a block without likelihoods: Phred 20
NAMES = ("GT", "GQ", "DP", "MIN_DP", "PS", "SB", "SBI", "AD", "PL", "GL", "PGT", "PID")  # read from FORMAT
GT, GQ, DP, MIN_DP, PS, SB, SBI, AD, PL, GL, PGT, PID = range(len(NAMES))
WIDEST = 6
LETTERS = np.array([[*name.encode(), *[0] * (WIDEST - len(name))] for name in NAMES], np.uint8)
ABSENT = -1  # start of a value that FORMAT does not name


class Cells(NamedTuple):
    """One sample's values on some lines. Missing values are -1."""

    copy_offsets: Annotated[ndarray, "int64 [cells + 1] of copies"]
    genotype: Annotated[ndarray, "int8 [copies]"]  # GT, all -1 if one is unknown
    is_phased: Annotated[ndarray, "bool [cells]"]
    depth: Annotated[ndarray, "int32 [cells]"]
    quality: Annotated[ndarray, "int32 [cells]"]  # GQ
    phase_set: Annotated[ndarray, "int64 [cells]"]  # 1-based, as in the file
    strands: Annotated[ndarray, "int32 [cells, 4]"]  # SB
    independent: Annotated[ndarray, "int32 [cells, 4]"]  # SBI, else SB
    depth_offsets: Annotated[ndarray, "int64 [cells + 1] of depths"]
    depths: Annotated[ndarray, "int32 [depths]"]  # AD
    likelihood_offsets: Annotated[ndarray, "int64 [cells + 1] of likelihoods"]
    likelihoods: Annotated[ndarray, "int32 [likelihoods]"]  # PL
    status: Annotated[ndarray, "uint8 [cells]"]  # OK, NO_LIKELIHOODS or BAD_NUMBER


@kernel
def read_cells(lines, rows, column, out):
    """Fill Cells with one sample's column of the lines `rows`."""
    text = lines.text
    depths, likelihoods = out.depths, out.likelihoods
    depth_offsets, likelihood_offsets = out.depth_offsets, out.likelihood_offsets
    strands, independent = out.strands, out.independent
    places, haplotypes = np.empty((LETTERS.shape[0], 2), np.int64), np.empty(MAX_PLOIDY, np.int8)
    genotype, copy_offsets = np.empty(MAX_PLOIDY, np.int8), out.copy_offsets
    copy_offsets[0] = depth_offsets[0] = likelihood_offsets[0] = 0
    for k in range(rows.size):
        find_values(text, lines.offsets[rows[k]], lines.offsets[rows[k] + 1], column, places)
        is_block = lines.kind[rows[k]] == BLOCK
        genotype[:], strands[k] = -1, -1
        status = OK
        copies = read_genotype(text, places[GT, 0], places[GT, 1], genotype)
        read_numbers(text, places[SB, 0], places[SB, 1], strands[k], 0)
        independent[k] = strands[k]
        read_numbers(text, places[SBI, 0], places[SBI, 1], independent[k], 0)
        quality = min(LARGEST, number_in(text, places[GQ, 0], places[GQ, 1]))
        set_ = number_in(text, places[PS, 0], places[PS, 1])
        is_phased, copies = copies < 0, abs(copies)
        if places[PS, 0] == ABSENT and places[PID, 0] != ABSENT and not is_phased:
            haplotypes[:] = -1
            if read_genotype(text, places[PGT, 0], places[PGT, 1], haplotypes) == -copies:
                is_phased = take_order(haplotypes, genotype, copies)
                set_ = leading_number(text, places[PID, 0], places[PID, 1])
        first, own = depth_offsets[k], likelihood_offsets[k]
        stop = read_numbers(text, places[AD, 0], places[AD, 1], depths, first)
        depth = depth_of(text, places, depths[first:stop])
        last = read_numbers(text, places[PL, 0], places[PL, 1], likelihoods, own)
        if last == own:
            last = read_logarithms(text, places[GL, 0], places[GL, 1], likelihoods, own)
        if is_block and last <= own + 1:
            last = weigh_block(genotype, copies, quality, depth, likelihoods, own)
        for i in range(own, last):
            if likelihoods[i] < 0:
                status = BAD_NUMBER
        names_any = places[PL, 0] != ABSENT or places[GL, 0] != ABSENT
        if not names_any and not (is_block and (places[GQ, 0] != ABSENT or depth >= 0)):
            status = NO_LIKELIHOODS
        copy_offsets[k + 1] = copy_offsets[k] + copies
        depth_offsets[k + 1], likelihood_offsets[k + 1] = stop, last
        out.genotype[copy_offsets[k] : copy_offsets[k + 1]] = genotype[:copies]
        out.is_phased[k], out.depth[k] = is_phased, min(LARGEST, depth)
        out.quality[k], out.status[k] = quality, status
        out.phase_set[k] = set_ if set_ < MAX_INTEGER else -1


@kernel
def find_values(text, at, last, column, places):
    """Find where the values of NAMES begin and end in a sample's column of the line text[at:last]."""
    tabs = 0
    while tabs < FIXED - 1:
        tabs += text[at] == TAB
        at += 1
    key = at
    while tabs < FIXED + column:
        tabs += text[at] == TAB
        at += 1
    while last > at and (text[last - 1] == NEWLINE or text[last - 1] == RETURN):
        last -= 1
    places[:, 0], places[:, 1] = ABSENT, ABSENT
    while text[key] != TAB:
        width = 0
        while text[key + width] != COLON and text[key + width] != TAB:
            width += 1
        first = at
        while at < last and text[at] != COLON and text[at] != TAB:
            at += 1
        name = name_of(text, key, width)
        if name >= 0:
            places[name, 0], places[name, 1] = first, at
        key += width + (text[key + width] == COLON)
        at += at < last and text[at] == COLON


@kernel
def name_of(text, start, width):
    """Return the number of a name in FORMAT, -1 for one that is not read."""
    for name in range(LETTERS.shape[0]):
        same = 0
        for i in range(min(width, WIDEST)):
            same += text[start + i] == LETTERS[name, i]
        if same == width and (width == WIDEST or LETTERS[name, width] == 0):
            return name
    return -1


@kernel
def depth_of(text, places, depths):
    """Return MIN_DP, else DP, else the sum of the alleles' depths."""
    depth = number_in(text, places[MIN_DP, 0], places[MIN_DP, 1])
    if depth < 0:
        depth = number_in(text, places[DP, 0], places[DP, 1])
    if depth < 0 and depths.size > 0:
        depth = 0
        for own in depths:
            depth += max(0, own)
    return depth


@kernel
def take_order(haplotypes, genotype, copies):
    """Put a genotype into the order of its alleles on haplotypes; return whether these are its alleles."""
    for copy in range(copies):
        have = want = 0
        for other in range(copies):
            have += haplotypes[other] == genotype[copy]
            want += genotype[other] == genotype[copy]
        if have != want:
            return False
    genotype[:] = haplotypes
    return True


@kernel
def weigh_block(genotype, copies, quality, depth, likelihoods, at):
    """Put PL of 0, 1, ... copies of another allele at likelihoods[at:]; return where they end. None if unknown."""
    is_known = copies > 0 and (quality >= 0 or depth >= 0)
    for copy in range(copies):
        is_known &= genotype[copy] == 0
    if not is_known:
        return at
    reads = float(depth) if quality < 0 else quality / phred_of_read(1, copies)
    for other in range(copies + 1):
        likelihoods[at + other] = int(min(float(LARGEST), reads * phred_of_read(other, copies) + 0.5))
    return at + copies + 1


@scalar
def phred_of_read(other, copies):
    """Return how much less likely a reference-base read is with this many other copies than with none."""
    share = other / copies
    return -10.0 * math.log10(((1.0 - share) * (1.0 - ERROR) + share * ERROR) / (1.0 - ERROR))
