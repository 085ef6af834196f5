"""Genomic VCF: lines for positions without a call, in blocks of similar confidence.

    POS, END    first and last position; REF is the base at POS, ALT <NON_REF>, any allele not listed
    GT          the reference's in all copies; missing if nothing is known (no read, or no base in the reference)
    DP, MIN_DP  mean and minimum depth
    GQ, PL      the minimum over the block's positions

`piece_of` makes the lines of one window, in any thread. A window's first and last block may continue in its neighbours,
so they are kept as numbers: `BlockJoiner` takes the pieces in order, joins such blocks and returns the lines.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from readwarp.compiler.jit import kernel
from readwarp.formats.common.text import letter_of, pack_names, put_copy, put_next, put_number
from readwarp.formats.variants.calls import Bands
from readwarp.formats.variants.vcf import GENOTYPE_FIELDS, HeaderField, PlacedLine
from readwarp.ragged import replace, take

NON_REF = "<NON_REF>"
MAX_NUMBER = 21  # bytes of a number and a separator
MAX_GENOTYPE_QUALITY = 99
TAB, NEWLINE, COMMA, DOT, SLASH, ZERO, COLON = b"\t\n,./0:"
GENOMIC_INFORMATION = (
    HeaderField("END", "1", "Integer", "Last position of the block"),
    HeaderField("RAW_MQandDP", "2", "Integer", "Sum of squared mapping qualities, and number of reads"),
)
MIN_DP = HeaderField("MIN_DP", "1", "Integer", "Minimum depth of the positions in the block")
SBI = HeaderField("SBI", "4", "Integer", "SB as FS and SOR count it: reads of one strand only, once for each end")
GENOMIC_GENOTYPE_FIELDS = (*(field for field in GENOTYPE_FIELDS if field.name != "AF"), MIN_DP, SBI)


class GvcfPiece(NamedTuple):
    """A window's lines, without a first block that no record precedes, and a last block that no record follows."""

    first: Bands  # at most one block
    body: bytes
    last: Bands  # at most one block; a single block without records is `first`


def header_lines(bands: Sequence[int]) -> list[str]:
    """Return the header lines that only a genomic VCF has; bands: the lowest GQ of each band."""
    lines = [f'##ALT=<ID={NON_REF[1:-1]},Description="Any allele that is not listed">']
    for low, high in zip(bands, (*bands[1:], 100), strict=True):
        lines.append(f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)")
    return lines


def piece_of(bands: Bands, records: Sequence[PlacedLine], contigs: Sequence[str]) -> GvcfPiece:
    """Make the lines of one window from its blocks and its variant records, both in order of position."""
    text, ends = lines_of_blocks(bands, contigs[bands.contig])
    places = np.searchsorted(bands.start, [position for position, _ in records]).tolist()  # blocks before each record
    first = int(len(bands) > 0 and (not records or places[0] > 0))
    last = len(bands) - int(len(bands) > first and (not records or places[-1] < len(bands)))
    parts, done = [], first
    for place, (_, line) in zip(places, records, strict=True):
        parts += [text[ends[done] : ends[place]], line]
        done = max(done, place)
    parts.append(text[ends[done] : ends[last]])
    return GvcfPiece(take(bands, "blocks", slice(0, first)), b"".join(parts), take(bands, "blocks", slice(last, None)))


class BlockJoiner:
    """A joiner of neighbouring windows' pieces, in order, into lines; one block may be held back."""

    def __init__(self, contigs: Sequence[str]):
        self._contigs = contigs
        self._held: Bands | None = None

    def add(self, piece: GvcfPiece) -> bytes:
        out = b""
        held = self._held
        if held is None:
            held = piece.first
        elif len(piece.first):
            if continues(held, piece.first):
                held = join_blocks(held, piece.first)
            else:
                out, held = self._text(held), piece.first
        if piece.body or len(piece.last):
            out += self._text(held) + piece.body
            held = piece.last
        self._held = held if len(held) else None
        return out

    def finish(self) -> bytes:
        """Return the line of the last block, if it was held back."""
        held, self._held = self._held, None
        return b"" if held is None else self._text(held)

    def _text(self, block: Bands) -> bytes:
        return lines_of_blocks(block, self._contigs[block.contig])[0] if len(block) else b""


def continues(one: Bands, other: Bands) -> bool:
    """Return whether the block `other` continues the block `one`."""
    return bool(
        one.contig == other.contig
        and one.stop[0] == other.start[0]
        and one.band[0] == other.band[0]
        and one.ploidy[0] == other.ploidy[0]
    )


def join_blocks(one: Bands, other: Bands) -> Bands:
    copies = int(one.ploidy[0]) + 1
    return replace(
        one,
        stop=other.stop,
        depth_sum=one.depth_sum + other.depth_sum,
        min_depth=np.minimum(one.min_depth, other.min_depth),
        likelihoods=np.minimum(one.likelihoods[:, :copies], other.likelihoods[:, :copies]),
    )


def lines_of_blocks(bands: Bands, contig: str) -> tuple[bytes, list[int]]:
    """Return one line per block, and where each begins and the last ends."""
    same = pack_names([f"{contig}\t", f"\t{NON_REF}\t.\t.\tEND=", "\tGT:DP:GQ:MIN_DP:PL\t"])
    size = same.letters.size + MAX_NUMBER * (bands.likelihoods.shape[1] + 7)
    ends, out = np.zeros(len(bands) + 1, np.int64), np.empty(size * len(bands), np.uint8)
    write_blocks(bands, same, out, ends)
    return out[: ends[-1]].tobytes(), ends.tolist()


@kernel
def write_blocks(bands, same, out, ends):
    """Write the lines. same: Names of the parts shared by all lines, before POS, before END and before GT."""
    (letters, offsets), at = same, 0
    for i in range(bands.start.size):
        at = put_copy(letters, offsets[0], offsets[1], out, at)
        at = put_number(bands.start[i] + 1, out, at)
        out[at], out[at + 1] = TAB, DOT
        out[at + 2], out[at + 3] = TAB, letter_of(bands.base[i])
        at = put_copy(letters, offsets[1], offsets[2], out, at + 4)
        at = put_number(bands.stop[i], out, at)
        at = put_copy(letters, offsets[2], offsets[3], out, at)
        ploidy, likelihoods = bands.ploidy[i], bands.likelihoods[i]
        quality = np.int64(MAX_GENOTYPE_QUALITY)
        if ploidy == 0:
            out[at], out[at + 1] = DOT, COLON
            at, quality = at + 2, np.int64(0)
        for copy in range(ploidy):
            out[at], out[at + 1] = DOT if bands.band[i] < 0 else ZERO, SLASH if copy + 1 < ploidy else COLON
            at += 2
            quality = min(quality, np.int64(likelihoods[copy + 1]))
        size = bands.stop[i] - bands.start[i]
        at = put_number((2 * bands.depth_sum[i] + size) // (2 * size), out, at)
        at = put_next(COLON, quality, out, at)
        at = put_next(COLON, np.int64(bands.min_depth[i]), out, at)
        if ploidy == 0:
            out[at], out[at + 1] = COLON, DOT
            at += 2
        for copy in range(ploidy + 1 if ploidy else 0):
            at = put_next(COMMA if copy else COLON, np.int64(likelihoods[copy]), out, at)
        out[at] = NEWLINE
        at += 1
        ends[i + 1] = at
