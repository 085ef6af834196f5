"""Genomic VCF: lines for the positions without a call, in blocks of about the same confidence.

    POS, END    first and last position; REF is the base at POS, ALT <NON_REF>, any allele that is not listed
    GT          the reference's in all copies; missing where nothing is known (no read, or no base in the reference)
    DP, MIN_DP  mean and least depth
    GQ, PL      the least ones of the block's positions

`piece_of` makes the lines of one window, in any thread. A window's first and last block may go on in its neighbours, so
they are kept as numbers: `BlockJoiner` takes the pieces in order, joins such blocks and gives the lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from readwarp.batches import Bands
from readwarp.device.jit import kernel
from readwarp.formats.common.text import letter_of, put_number
from readwarp.ragged import replace, take

NON_REF = "<NON_REF>"
MOST_NUMBER = 21  # bytes of a number and a separator
MOST_GENOTYPE_QUALITY = 99
TAB, NEWLINE, COMMA, DOT, SLASH, ZERO, COLON = 9, 10, 44, 46, 47, 48, 58
Row = tuple[int, bytes]  # 0-based position and line of a variant record


@dataclass(frozen=True, slots=True)
class Piece:
    """A window's lines, without its first block where no record lies before it, and its last where none lies behind."""

    first: Bands  # of no block or of one
    body: bytes
    last: Bands  # of no block or of one; if there is one block and no record, it is `first`


def header_lines(bands: Sequence[int]) -> list[str]:
    """Header lines that a gVCF has besides; `bands`: the lowest GQ of each band."""
    lines = [
        f'##ALT=<ID={NON_REF[1:-1]},Description="Any allele that is not listed">',
        '##INFO=<ID=END,Number=1,Type=Integer,Description="Last position of the block">',
        '##FORMAT=<ID=MIN_DP,Number=1,Type=Integer,Description="Least depth of the positions of the block">',
        '##FORMAT=<ID=SB,Number=4,Type=Integer,Description="Forward and reverse reads of REF, then of the others">',
    ]
    for low, high in zip(bands, (*bands[1:], 100), strict=True):
        lines.append(f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)")
    return lines


def piece_of(bands: Bands, rows: Sequence[Row], contigs: Sequence[str]) -> Piece:
    """The lines of one window: its blocks and its variant records, both in order of position."""
    text, ends = lines_of_blocks(bands, contigs[bands.contig])
    places = np.searchsorted(bands.start, [position for position, _ in rows]).tolist()  # blocks before each record
    first = int(len(bands) > 0 and (not rows or places[0] > 0))
    last = len(bands) - int(len(bands) > first and (not rows or places[-1] < len(bands)))
    parts, done = [], first
    for place, (_, line) in zip(places, rows, strict=True):
        parts += [text[ends[done] : ends[place]], line]
        done = max(done, place)
    parts.append(text[ends[done] : ends[last]])
    return Piece(some(bands, 0, first), b"".join(parts), some(bands, last, len(bands)))


class BlockJoiner:
    """Takes the pieces of neighbouring windows in order and gives their lines; one block may be held back."""

    def __init__(self, contigs: Sequence[str]):
        self._contigs = contigs
        self._held: Bands | None = None

    def add(self, piece: Piece) -> bytes:
        out = b""
        held = self._held
        if held is None:
            held = piece.first
        elif len(piece.first):
            if touch(held, piece.first):
                held = joined(held, piece.first)
            else:
                out, held = self._text(held), piece.first
        if piece.body or len(piece.last):
            out += self._text(held) + piece.body
            held = piece.last
        self._held = held if len(held) else None
        return out

    def finish(self) -> bytes:
        """The line of the block that was held back."""
        held, self._held = self._held, None
        return b"" if held is None else self._text(held)

    def _text(self, block: Bands) -> bytes:
        return lines_of_blocks(block, self._contigs[block.contig])[0] if len(block) else b""


def some(bands: Bands, start: int, stop: int) -> Bands:
    """The blocks [start, stop)."""
    return take(bands, "blocks", slice(start, stop))


def touch(one: Bands, other: Bands) -> bool:
    """Whether the block `other` goes on with the block `one`."""
    return bool(
        one.contig == other.contig
        and one.stop[0] == other.start[0]
        and one.band[0] == other.band[0]
        and one.ploidy[0] == other.ploidy[0]
    )


def joined(one: Bands, other: Bands) -> Bands:
    copies = int(one.ploidy[0]) + 1
    return replace(
        one,
        stop=other.stop,
        depth_sum=one.depth_sum + other.depth_sum,
        min_depth=np.minimum(one.min_depth, other.min_depth),
        likelihoods=np.minimum(one.likelihoods[:, :copies], other.likelihoods[:, :copies]),
    )


def lines_of_blocks(bands: Bands, contig: str) -> tuple[bytes, list[int]]:
    """One line per block, and where each begins and the last ends."""
    constants = [contig.encode() + b"\t", f"\t{NON_REF}\t.\t.\tEND=".encode(), b"\tGT:DP:GQ:MIN_DP:PL\t"]
    ends = np.zeros(len(bands) + 1, np.int64)
    size = sum(map(len, constants)) + MOST_NUMBER * (bands.likelihoods.shape[1] + 5) + 2 * MOST_NUMBER
    out = np.empty(size * len(bands), np.uint8)
    write_blocks(
        *(bands.start, bands.stop, bands.base, bands.band, bands.ploidy),
        *(bands.depth_sum, bands.min_depth, bands.likelihoods),
        *(np.frombuffer(text, np.uint8) for text in constants),
        *(out, ends),
    )
    return out[: ends[-1]].tobytes(), ends.tolist()


@kernel
def write_blocks(
    start, stop, base, band, ploidy, depth_sum, min_depth, likelihoods, name, before_end, before_sample, out, ends
):  # fmt: skip
    at = 0
    for i in range(start.size):
        at = put_text(name, out, at)
        at = put_number(start[i] + 1, out, at)
        out[at], out[at + 1], out[at + 2], out[at + 3] = TAB, DOT, TAB, letter_of(base[i])
        at = put_text(before_end, out, at + 4)
        at = put_number(stop[i], out, at)
        at = put_text(before_sample, out, at)
        quality = np.int64(MOST_GENOTYPE_QUALITY)
        for copy in range(ploidy[i]):
            out[at], out[at + 1] = DOT if band[i] < 0 else ZERO, SLASH if copy + 1 < ploidy[i] else COLON
            at += 2
            quality = min(quality, np.int64(likelihoods[i, copy + 1]))
        size = stop[i] - start[i]
        at = put_number((2 * depth_sum[i] + size) // (2 * size), out, at)
        out[at] = COLON
        at = put_number(quality, out, at + 1)
        out[at] = COLON
        at = put_number(np.int64(min_depth[i]), out, at + 1)
        for copy in range(ploidy[i] + 1):
            out[at] = COMMA if copy else COLON
            at = put_number(np.int64(likelihoods[i, copy]), out, at + 1)
        out[at] = NEWLINE
        at += 1
        ends[i + 1] = at


@kernel
def put_text(text, out, at):
    for i in range(text.size):
        out[at + i] = text[i]
    return at + text.size
