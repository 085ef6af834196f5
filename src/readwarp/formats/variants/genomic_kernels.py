"""Lines of a genomic VCF: where they are and what they span, and the numbers of a sample's column."""

from readwarp.device.jit import kernel

TAB, NEWLINE, COMMA, DOT, SLASH, ZERO, NINE, COLON, SEMICOLON, EQUALS, BAR = 9, 10, 44, 46, 47, 48, 57, 58, 59, 61, 124
MOST_COPIES = 8  # alleles of a GT
FIXED = 9  # columns before the samples'

BLOCK, VARIANT = 0, 1  # kinds of lines
OK, BAD_LINE, NO_NON_REF, UNSORTED, NO_LIKELIHOODS, BAD_NUMBER = range(6)  # status of a line


@kernel
def scan_lines(text, non_ref, columns, line, name_stop, is_other, begin, end, kind, status):
    """Fill the arrays for every line of `text` (whole lines); how many there are.

    line, name_stop: where a line and its contig's name start and stop; is_other: it is another contig's than the line
    before. [begin, end) is what the line spans, 0-based. `columns`: how many a line has; `non_ref`: the letters of the
    allele that stands for all others; <*> does too.
    """
    count, at = 0, 0
    while at < text.size:
        stop = at
        while text[stop] != NEWLINE:
            stop += 1
        line[count] = at
        last = count - 1 if count else 0
        scan_line(text, at, stop, non_ref, columns, count, name_stop, begin, end, kind, status)
        size = name_stop[count] - at
        is_other[count] = count == 0 or name_stop[last] - line[last] != size
        for i in range(0 if is_other[count] else size):
            if text[at + i] != text[line[last] + i]:
                is_other[count] = True
                break
        if status[count] == OK and not is_other[count] and begin[count] < begin[last]:
            status[count] = UNSORTED
        count += 1
        at = stop + 1
    line[count] = text.size
    return count


@kernel
def scan_line(text, at, stop, non_ref, columns, row, name_stop, begin, end, kind, status):
    """One line, text[at:stop], into the arrays at `row`."""
    if stop > at and text[stop - 1] == 13:  # CRLF
        stop -= 1
    field, first, tabs = 0, at, 0
    status[row], name_stop[row], begin[row], end[row], kind[row] = OK, stop, 0, 0, BLOCK
    for i in range(at, stop + 1):
        if i < stop and text[i] != TAB:
            continue
        tabs += 1
        if field == 0:
            name_stop[row] = i
        elif field == 1:
            begin[row] = number_in(text, first, i) - 1
        elif field == 3:
            end[row] = begin[row] + i - first
        elif field == 4:
            last = i
            while last > first and text[last - 1] != COMMA:
                last -= 1
            kind[row] = BLOCK if last == first else VARIANT
            if not is_non_ref(text, last, i, non_ref):
                status[row] = NO_NON_REF
        elif field == 7 and kind[row] == BLOCK:
            known = end_in(text, first, i)
            end[row] = known if known > 0 else end[row]
        field, first = field + 1, i + 1
    if tabs != columns or begin[row] < 0 or end[row] <= begin[row] or name_stop[row] == at:
        status[row] = BAD_LINE


@kernel
def is_non_ref(text, start, stop, non_ref):
    if stop - start == 3:
        return text[start] == 60 and text[start + 1] == 42 and text[start + 2] == 62  # <*>
    if stop - start != non_ref.size:
        return False
    same = 0
    for i in range(non_ref.size):
        same += text[start + i] == non_ref[i]
    return same == non_ref.size


@kernel
def number_in(text, start, stop):
    """The whole number text[start:stop]; -1 where it is none."""
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
def read_cells(
    text, start, stop, column, genotype, is_phased, depth, quality, phase_set, strands, depths, depth_offsets,
    likelihoods, likelihood_offsets, status,
):  # fmt: skip
    """The numbers of one sample's column of lines text[start[k]:stop[k]]; values that are not there are -1.

    genotype int8 [k, MOST_COPIES]; depth: MIN_DP, else DP; quality: GQ; strands: SB, int32 [k, 4]; `depths` (AD) and
    `likelihoods` (PL) take the values of one line after the other.
    """
    depth_offsets[0] = likelihood_offsets[0] = 0
    for k in range(start.size):
        at, tabs, last = start[k], 0, stop[k]
        while tabs < FIXED - 1:
            tabs += text[at] == TAB
            at += 1
        key = at
        while tabs < FIXED + column:
            tabs += text[at] == TAB
            at += 1
        while last > at and (text[last - 1] == NEWLINE or text[last - 1] == 13):
            last -= 1
        genotype[k], is_phased[k], strands[k] = -1, False, -1
        depth[k] = quality[k] = phase_set[k] = -1
        depth_offsets[k + 1], likelihood_offsets[k + 1] = depth_offsets[k], likelihood_offsets[k]
        status[k], has_least, has_likelihoods = OK, False, False
        is_more = True
        while text[key] != TAB:
            width = 0
            while text[key + width] != COLON and text[key + width] != TAB:
                width += 1
            name = 256 * text[key] + text[key + 1] if width == 2 else 77 if width == 6 and text[key] == 77 else 0
            key += width + (text[key + width] == COLON)
            first = at
            while at < last and text[at] != COLON and text[at] != TAB:
                at += 1
            has_likelihoods |= name == 20556  # PL
            if is_more:
                if name == 18260:  # GT
                    is_phased[k] = read_genotype(text, first, at, genotype[k])
                elif name == 77 or (name == 17488 and not has_least):  # MIN_DP, DP
                    depth[k], has_least = number_in(text, first, at), name == 77
                elif name == 18257:  # GQ
                    quality[k] = number_in(text, first, at)
                elif name == 20563:  # PS
                    phase_set[k] = number_in(text, first, at)
                elif name == 21314:  # SB
                    read_numbers(text, first, at, strands[k], 0)
                elif name == 16708:  # AD
                    depth_offsets[k + 1] = read_numbers(text, first, at, depths, depth_offsets[k])
                elif name == 20556:
                    likelihood_offsets[k + 1] = read_numbers(text, first, at, likelihoods, likelihood_offsets[k])
            is_more = at < last and text[at] == COLON
            at += is_more
        for i in range(likelihood_offsets[k], likelihood_offsets[k + 1]):
            if likelihoods[i] < 0:
                status[k] = BAD_NUMBER
        if not has_likelihoods:
            status[k] = NO_LIKELIHOODS


@kernel
def read_genotype(text, start, stop, genotype):
    """Fill `genotype`; whether its copies are phased. Nothing is filled where one is unknown or there are too many."""
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
    """The whole numbers of a list -> out[at:], where they end; none for `.`, -1 for what is no number."""
    if stop == start or (stop == start + 1 and text[start] == DOT):
        return at
    first = start
    for i in range(start, stop + 1):
        if i == stop or text[i] == COMMA:
            if at < out.size:
                out[at] = number_in(text, first, i)
            at, first = at + 1, i + 1
    return min(at, out.size)
