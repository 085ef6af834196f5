"""Decompressed BAM records of a region to arrays; byte offsets as in the SAM specification, section 4.2."""

import numpy as np

from readwarp.device.jit import kernel
from readwarp.rules.hashes import hash_of

MORE, DONE, UNSORTED, BROKEN, MISFIT, BEYOND = 0, 1, 2, 3, 4, 5  # how a scan ended
INDEX_WINDOW = 14  # bits: an index has an entry for 16 kb
UNKNOWN, UNWANTED = -1, -2  # sample of a read: of no read group that the header knows, of one that is not called
FIXED = 36  # bytes before the name, block_size included
NIBBLES = np.full(16, 4, np.uint8)  # =ACMGRSVTWYHKDBN -> 0-4
NIBBLES[[1, 2, 4, 8]] = 0, 1, 2, 3
CONSUMES_REFERENCE = np.array([1, 0, 1, 1, 0, 0, 0, 1, 1], np.uint8)  # MIDNSHP=X
CONSUMES_READ = np.array([1, 1, 0, 0, 1, 0, 0, 1, 1], np.uint8)
AUX_WIDTHS = np.zeros(128, np.uint8)
for _letters, _width in (("AcC", 1), ("sS", 2), ("iIf", 4)):
    AUX_WIDTHS[[ord(letter) for letter in _letters]] = _width


@kernel
def number_at(raw, place, width):
    """Little-endian unsigned integer."""
    value = np.int64(0)
    for i in range(width):
        value |= np.int64(raw[place + i]) << (8 * i)
    return value


@kernel
def signed_at(raw, place):
    """Little-endian int32."""
    value = number_at(raw, place, 4)
    return value - (1 << 32) if value >> 31 else value


@kernel
def cigar_place(raw, place):
    return place + FIXED + np.int64(raw[place + 12])


@kernel
def spans(raw, place):
    """(one behind the last aligned reference base of the record, how many bases of the read its CIGAR takes).

    -1 bases where the CIGAR has an operation that is none.
    """
    cigar, stop, bases, is_known = cigar_place(raw, place), signed_at(raw, place + 8), np.int64(0), True
    for i in range(number_at(raw, place + 16, 2)):
        operation = number_at(raw, cigar + 4 * i, 4)
        kind, length = operation & 15, operation >> 4
        if kind < 9:
            stop += CONSUMES_REFERENCE[kind] * length
            bases += CONSUMES_READ[kind] * length
        else:
            is_known = False
    return stop, bases if is_known else np.int64(-1)


@kernel
def reference_end(raw, place):
    return spans(raw, place)[0]


@kernel
def read_group_hash(raw, place, end):
    """Hash of the value of RG:Z, 0 without one."""
    length = number_at(raw, place + 20, 4)
    i = cigar_place(raw, place) + 4 * number_at(raw, place + 16, 2) + (length + 1) // 2 + length
    while i + 3 < end:
        kind, is_group, i = raw[i + 2], raw[i] == 82 and raw[i + 1] == 71, i + 3
        if kind == 90 or kind == 72:  # Z H
            start = i
            while i < end and raw[i]:
                i += 1
            if is_group:
                return hash_of(raw, start, i)
            i += 1
        elif kind == 66:  # B
            i += 5 + AUX_WIDTHS[raw[i] & 127] * number_at(raw, i + 1, 4)
        else:
            i += max(1, AUX_WIDTHS[kind & 127])
    return np.uint64(0)


@kernel
def sample_of(raw, place, end, groups, samples):
    """The sample that the record's read group belongs to, UNKNOWN for another group or none; 0 where no group is given.

    `groups` uint64 in ascending order: hashes of the read groups; `samples` int16: of each.
    """
    if groups.size == 0:
        return 0
    own = read_group_hash(raw, place, end)
    low, high = 0, groups.size
    while low < high:
        middle = (low + high) // 2
        if groups[middle] < own:
            low = middle + 1
        else:
            high = middle
    if low < groups.size and groups[low] == own:
        return np.int64(samples[low])
    return UNKNOWN


@kernel
def is_whole(raw, place, end):
    """The parts of the record fit its size."""
    length = number_at(raw, place + 20, 4)
    parts = FIXED + np.int64(raw[place + 12]) + 4 * number_at(raw, place + 16, 2) + (length + 1) // 2 + length
    return raw[place + 12] > 0 and place + parts <= end


@kernel
def scan(
    raw, place, last, contig, contig_length, start, stop, excluded, min_mapping_quality, groups, group_samples,
    places, samples,
):  # fmt: skip
    """Find the usable records that overlap [start, stop) of a contig; those without bases or CIGAR are not usable.

    Later steps index bases and reference by CIGARs without a look at bounds, so a usable record must have as many bases
    as its CIGAR takes, and lie within its contig.
    `raw` uint8 decompressed bytes, a record begins at `place`; `last` the position of the record before. Their places
    go to `places` (int64) and their samples to `samples` (int16, UNKNOWN among them), both large enough for all
    records. `groups`, `group_samples`: see `sample_of`.
    -> (usable records, place of the first record not looked at, its position, how the scan ended: MORE, DONE, UNSORTED,
    BROKEN for a record that does not fit its size, MISFIT for one whose CIGAR does not fit its bases, BEYOND)
    """
    found = 0
    while place + FIXED <= raw.size:
        end = place + 4 + number_at(raw, place, 4)
        if end > raw.size:
            break
        if not is_whole(raw, place, end):
            return found, place, last, BROKEN
        own_contig, position = signed_at(raw, place + 4), signed_at(raw, place + 8)
        if own_contig < 0 or own_contig > contig or (own_contig == contig and position >= stop):
            return found, place, last, DONE
        if own_contig == contig:
            if position < last:
                return found, place, last, UNSORTED
            last = position
            usable = raw[place + 13] >= min_mapping_quality and not number_at(raw, place + 18, 2) & excluded
            length = number_at(raw, place + 20, 4)
            if usable and length > 0 and number_at(raw, place + 16, 2) > 0:
                end_of_alignment, bases = spans(raw, place)
                if bases != length:
                    return found, place, last, MISFIT
                if position < 0 or end_of_alignment > contig_length:
                    return found, place, last, BEYOND
                sample = sample_of(raw, place, end, groups, group_samples) if end_of_alignment > start else UNWANTED
                if sample != UNWANTED:
                    places[found], samples[found] = place, sample
                    found += 1
        place = end
    return found, place, last, MORE


@kernel
def add_to_index(raw, place, contig, position, block_begins, block_places, first_window, starts):
    """Enter the whole records from `place` on: each window of 16 kb gets the virtual offset of its first record.

    `contig`, `position`: of the record before. `block_begins`, `block_places` int64: of each block, where it begins in
    `raw` and in the file; `first_window` int64 [contigs + 1]; `starts` uint64 [windows], 0 none yet.
    -> (place of the first record that is not whole, contig and position of the last one, MORE | UNSORTED | BROKEN)
    """
    block, contigs = 0, first_window.size - 1
    while place + FIXED <= raw.size:
        end = place + 4 + number_at(raw, place, 4)
        if end > raw.size:
            break
        own, start = signed_at(raw, place + 4), signed_at(raw, place + 8)
        if own >= contigs or not is_whole(raw, place, end):
            return place, contig, position, BROKEN
        if own >= 0 and (own < contig or (own == contig and start < position)):
            return place, contig, position, UNSORTED
        contig, position = own if own >= 0 else contigs, start
        while block + 1 < block_begins.size and block_begins[block + 1] <= place:
            block += 1
        if own >= 0 and start >= 0:
            offset = block_places[block] << 16 | (place - block_begins[block])
            last = max(start, reference_end(raw, place) - 1) >> INDEX_WINDOW
            for window in range(first_window[own] + (start >> INDEX_WINDOW), first_window[own] + last + 1):
                if window < first_window[own + 1] and starts[window] == 0:
                    starts[window] = offset
        place = end
    return place, contig, position, MORE


@kernel
def measure(raw, places, cigar_offsets, read_offsets):
    """Fill the offsets (int64 [n + 1]) of the records' CIGARs and bases."""
    cigar_offsets[0] = read_offsets[0] = 0
    for i in range(places.size):
        cigar_offsets[i + 1] = cigar_offsets[i] + number_at(raw, places[i] + 16, 2)
        read_offsets[i + 1] = read_offsets[i] + number_at(raw, places[i] + 20, 4)


@kernel
def decode(raw, places, cigar_offsets, read_offsets, numbers, name_hash, cigar, bases, qualities):
    """Fill the arrays of AlignedReads; `numbers` int64 [n, 4]: position, reference stop, flag, mapping quality."""
    for i in range(places.size):
        place = places[i]
        numbers[i, 0], numbers[i, 1] = signed_at(raw, place + 8), reference_end(raw, place)
        numbers[i, 2], numbers[i, 3] = number_at(raw, place + 18, 2), raw[place + 13]
        name_stop = cigar_place(raw, place)
        name_hash[i] = hash_of(raw, place + FIXED, name_stop - 1)
        for j in range(cigar_offsets[i + 1] - cigar_offsets[i]):
            cigar[cigar_offsets[i] + j] = number_at(raw, name_stop + 4 * j, 4)
        first, length = read_offsets[i], read_offsets[i + 1] - read_offsets[i]
        sequence = name_stop + 4 * (cigar_offsets[i + 1] - cigar_offsets[i])
        for j in range(length // 2):  # unsigned indices: no test for negative ones
            byte = raw[np.uint64(sequence + j)]
            bases[np.uint64(first + 2 * j)] = NIBBLES[byte >> 4]
            bases[np.uint64(first + 2 * j + 1)] = NIBBLES[byte & 15]
        if length & 1:
            bases[first + length - 1] = NIBBLES[raw[sequence + length // 2] >> 4]
        sequence += (length + 1) >> 1
        for j in range(length):
            qualities[np.uint64(first + j)] = raw[np.uint64(sequence + j)]
