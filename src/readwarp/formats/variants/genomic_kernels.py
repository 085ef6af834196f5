"""Lines of a genomic VCF: where they are and what they span, and the numbers of a sample's column."""

from typing import Annotated, NamedTuple

from numpy import ndarray

from readwarp.device.jit import kernel

TAB, NEWLINE, RETURN, COMMA, DOT, SLASH, ZERO, NINE = 9, 10, 13, 44, 46, 47, 48, 57
COLON, SEMICOLON, LESS, EQUALS, GREATER, BAR, ASTERISK, M = 58, 59, 60, 61, 62, 124, 42, 77
MAX_COPIES = 8  # alleles of a GT
FIXED = 9  # columns before the samples'

BLOCK, VARIANT = 0, 1  # kinds of lines
OK, BAD_LINE, NO_NON_REF, UNSORTED, NO_LIKELIHOODS, BAD_NUMBER = range(6)  # status of a line

# Names in FORMAT as numbers; of the longer ones, only MIN_DP is read.
GT, DP, GQ, PS, SB, AD, PL = (256 * ord(name[0]) + ord(name[1]) for name in ("GT", "DP", "GQ", "PS", "SB", "AD", "PL"))
MIN_DP, OTHER_NAME = 1, 0


class Lines(NamedTuple):
    """Whole lines of one contig in order of position."""

    text: Annotated[ndarray, "uint8 [letters]"]
    offsets: Annotated[ndarray, "int64 [lines + 1] of letters"]
    begin: Annotated[ndarray, "int64 [lines]"]  # first base that it spans, 0-based in the contig
    end: Annotated[ndarray, "int64 [lines]"]  # after the last one
    kind: Annotated[ndarray, "uint8 [lines]"]  # BLOCK of reference or VARIANT

    def __len__(self) -> int:
        return self.begin.size

    def fields(self, line: int) -> list[bytes]:
        return self.text[self.offsets[line] : self.offsets[line + 1]].tobytes().rstrip(b"\r\n").split(b"\t")


class Scan(NamedTuple):
    """What else is found out about lines."""

    name_stop: Annotated[ndarray, "int64 [lines]"]  # where the name of the contig stops, in the text
    is_other: Annotated[ndarray, "bool [lines]"]  # it is of another contig than the line before
    status: Annotated[ndarray, "uint8 [lines]"]  # OK, BAD_LINE ...


class Cells(NamedTuple):
    """One sample's values on some lines. What is not there is -1."""

    genotype: Annotated[ndarray, "int8 [cells, 8]"]  # MAX_COPIES
    is_phased: Annotated[ndarray, "bool [cells]"]
    depth: Annotated[ndarray, "int32 [cells]"]  # MIN_DP, else DP
    quality: Annotated[ndarray, "int32 [cells]"]  # GQ
    phase_set: Annotated[ndarray, "int64 [cells]"]  # 1-based as in the file
    strands: Annotated[ndarray, "int32 [cells, 4]"]  # SB
    depth_offsets: Annotated[ndarray, "int64 [cells + 1] of depths"]
    depths: Annotated[ndarray, "int32 [depths]"]  # AD
    likelihood_offsets: Annotated[ndarray, "int64 [cells + 1] of likelihoods"]
    likelihoods: Annotated[ndarray, "int32 [likelihoods]"]  # PL
    status: Annotated[ndarray, "uint8 [cells]"]  # OK, NO_LIKELIHOODS or BAD_NUMBER


@kernel
def scan_lines(columns, non_ref, lines, scan):
    """Fill Lines and Scan of a text of whole lines, each with so many columns and with `non_ref` or <*> as last ALT."""
    text, count, at = lines.text, 0, 0
    while at < text.size:
        stop = at
        while text[stop] != NEWLINE:
            stop += 1
        lines.offsets[count] = at
        last = count - 1 if count else 0
        scan_line(at, stop, columns, non_ref, lines, scan, count)
        size, first = scan.name_stop[count] - at, lines.offsets[last]
        is_other = count == 0 or scan.name_stop[last] - first != size
        for i in range(0 if is_other else size):
            if text[at + i] != text[first + i]:
                is_other = True
                break
        scan.is_other[count] = is_other
        if scan.status[count] == OK and not is_other and lines.begin[count] < lines.begin[last]:
            scan.status[count] = UNSORTED
        count += 1
        at = stop + 1
    lines.offsets[count] = text.size


@kernel
def scan_line(at, stop, columns, non_ref, lines, scan, row):
    """One line, text[at:stop], into the arrays at `row`."""
    text = lines.text
    if stop > at and text[stop - 1] == RETURN:
        stop -= 1
    field, first, tabs = 0, at, 0
    status, name_stop, begin, end, kind = OK, stop, 0, 0, BLOCK
    for i in range(at, stop + 1):
        if i < stop and text[i] != TAB:
            continue
        tabs += 1
        if field == 0:
            name_stop = i
        elif field == 1:
            begin = number_in(text, first, i) - 1
        elif field == 3:
            end = begin + i - first
        elif field == 4:
            last = i
            while last > first and text[last - 1] != COMMA:
                last -= 1
            kind = BLOCK if last == first else VARIANT
            if not is_non_ref(text, last, i, non_ref):
                status = NO_NON_REF
        elif field == 7 and kind == BLOCK:
            known = end_in(text, first, i)
            end = known if known > 0 else end
        field, first = field + 1, i + 1
    if tabs != columns or begin < 0 or end <= begin or name_stop == at:
        status = BAD_LINE
    lines.begin[row], lines.end[row], lines.kind[row] = begin, end, kind
    scan.name_stop[row], scan.status[row] = name_stop, status


@kernel
def is_non_ref(text, start, stop, non_ref):
    if stop - start == 3:
        return text[start] == LESS and text[start + 1] == ASTERISK and text[start + 2] == GREATER
    if stop - start != non_ref.size:
        return False
    same = 0
    for i in range(non_ref.size):
        same += text[start + i] == non_ref[i]
    return same == non_ref.size


@kernel
def number_in(text, start, stop):
    """The whole number text[start:stop], -1 if it is none."""
    value = 0
    if stop <= start or stop - start > 15:
        return -1
    for i in range(start, stop):
        if text[i] < ZERO or text[i] > NINE:
            return -1
        value = 10 * value + text[i] - ZERO
    return value


@kernel
def end_in(text, start, stop):
    """The number of END in INFO; 0 where there is none."""
    i = start
    while i + 4 < stop:
        if text[i] == 69 and text[i + 1] == 78 and text[i + 2] == 68 and text[i + 3] == EQUALS:
            last = i + 4
            while last < stop and text[last] != SEMICOLON:
                last += 1
            return number_in(text, i + 4, last)
        while i < stop and text[i] != SEMICOLON:
            i += 1
        i += 1
    return 0


@kernel
def read_cells(lines, rows, column, out):
    """Fill Cells with the numbers of one sample's column of the lines `rows`."""
    text, depth_offsets, likelihood_offsets = lines.text, out.depth_offsets, out.likelihood_offsets
    depth_offsets[0] = likelihood_offsets[0] = 0
    for k in range(rows.size):
        at, tabs, last = lines.offsets[rows[k]], 0, lines.offsets[rows[k] + 1]
        while tabs < FIXED - 1:
            tabs += text[at] == TAB
            at += 1
        key = at
        while tabs < FIXED + column:
            tabs += text[at] == TAB
            at += 1
        while last > at and (text[last - 1] == NEWLINE or text[last - 1] == RETURN):
            last -= 1
        out.genotype[k], out.is_phased[k], out.strands[k] = -1, False, -1
        depth = quality = phase_set = -1
        depth_offsets[k + 1], likelihood_offsets[k + 1] = depth_offsets[k], likelihood_offsets[k]
        status, has_min_depth, has_likelihoods = OK, False, False
        is_more = True
        while text[key] != TAB:
            width = 0
            while text[key + width] != COLON and text[key + width] != TAB:
                width += 1
            name = name_of(text, key, width)
            key += width + (text[key + width] == COLON)
            first = at
            while at < last and text[at] != COLON and text[at] != TAB:
                at += 1
            has_likelihoods |= name == PL
            if is_more:
                if name == GT:
                    out.is_phased[k] = read_genotype(text, first, at, out.genotype[k])
                elif name == MIN_DP or (name == DP and not has_min_depth):
                    depth, has_min_depth = number_in(text, first, at), name == MIN_DP
                elif name == GQ:
                    quality = number_in(text, first, at)
                elif name == PS:
                    phase_set = number_in(text, first, at)
                elif name == SB:
                    read_numbers(text, first, at, out.strands[k], 0)
                elif name == AD:
                    depth_offsets[k + 1] = read_numbers(text, first, at, out.depths, depth_offsets[k])
                elif name == PL:
                    likelihood_offsets[k + 1] = read_numbers(text, first, at, out.likelihoods, likelihood_offsets[k])
            is_more = at < last and text[at] == COLON
            at += is_more
        for i in range(likelihood_offsets[k], likelihood_offsets[k + 1]):
            if out.likelihoods[i] < 0:
                status = BAD_NUMBER
        out.depth[k], out.quality[k], out.phase_set[k] = depth, quality, phase_set
        out.status[k] = status if has_likelihoods else NO_LIKELIHOODS


@kernel
def name_of(text, start, width):
    """A name in FORMAT as a number."""
    if width == 2:
        return 256 * text[start] + text[start + 1]
    return MIN_DP if width == 6 and text[start] == M else OTHER_NAME


@kernel
def read_genotype(text, start, stop, genotype):
    """Fill `genotype` -> whether its copies are phased. All are -1 where one is unknown or there are too many."""
    copies, is_phased, first, is_known = 0, False, start, True
    for i in range(start, stop + 1):
        if i < stop and text[i] != SLASH and text[i] != BAR:
            continue
        is_phased |= i < stop and text[i] == BAR
        allele = number_in(text, first, i)
        is_known &= 0 <= allele < 127 and copies < genotype.size
        if is_known:
            genotype[copies] = allele
        copies, first = copies + 1, i + 1
    if not is_known:
        genotype[:] = -1
    return is_phased and is_known


@kernel
def read_numbers(text, start, stop, out, at):
    """The whole numbers of a list -> out[at:], where they end; none for `.`, -1 for what is not a number."""
    if stop == start or (stop == start + 1 and text[start] == DOT):
        return at
    first = start
    for i in range(start, stop + 1):
        if i == stop or text[i] == COMMA:
            if at < out.size:
                out[at] = number_in(text, first, i)
            at, first = at + 1, i + 1
    return min(at, out.size)
