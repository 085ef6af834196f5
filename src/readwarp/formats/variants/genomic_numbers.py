"""Numbers, genotypes and lists in the text of a VCF line, text[start:stop]."""

import math

from readwarp.compiler.jit import kernel

COMMA, DASH, DOT, SLASH, ZERO, NINE, E, BAR = b",-./09e|"
LARGEST = 1 << 28  # for PL, GQ, DP and AD; larger values count as this


@kernel
def is_missing(text, start, stop):
    """Return whether there is nothing, `.`, or a list of these."""
    missing = True
    for i in range(start, stop):
        missing &= text[i] == DOT or text[i] == COMMA
    return missing


@kernel
def number_in(text, start, stop):
    """Return the whole number, or -1."""
    value = 0
    if stop <= start or stop - start > 15:
        return -1
    for i in range(start, stop):
        if text[i] < ZERO or text[i] > NINE:
            return -1
        value = 10 * value + text[i] - ZERO
    return value


@kernel
def leading_number(text, start, stop):
    """Return the whole number at the start of the text, or -1."""
    last = start
    while last < stop and ZERO <= text[last] <= NINE:
        last += 1
    return number_in(text, start, last)


@kernel
def real_in(text, start, stop):
    """Return the number, such as -12.5 or -3e-05; 1 if it is none or above 0, unlike logarithms of probabilities."""
    value = scale = 0.0
    i, digits = start, 0
    is_negative = i < stop and text[i] == DASH
    i += is_negative
    while i < stop and (ZERO <= text[i] <= NINE or (text[i] == DOT and scale == 0.0)):
        if text[i] == DOT:
            scale = 1.0
        else:
            value, scale = 10.0 * value + (text[i] - ZERO), 10.0 * scale
            digits += 1
        i += 1
    if scale > 0.0:
        value /= scale
    if i < stop and text[i] | 32 == E:
        is_small = i + 1 < stop and text[i + 1] == DASH
        signed = i + 1 < stop and (is_small or text[i + 1] == DASH - 2)
        power = number_in(text, i + 1 + signed, stop)
        if power < 0:
            return 1.0
        value, i = value * 10.0 ** (-power if is_small else power), stop
    if digits == 0 or i < stop or math.isnan(value) or (value > 0.0 and not is_negative):  # NaN: 0e999
        return 1.0
    return -value


@kernel
def read_genotype(text, start, stop, genotype):
    """Fill `genotype`; return the number of its copies, negative if they are phased.

    All are -1 if one is unknown or there are too many.
    """
    copies, first = 0, start
    is_phased, is_known = False, True
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
    copies = min(copies, genotype.size) if stop > start else 0
    return -copies if is_phased and is_known else copies


@kernel
def read_numbers(text, start, stop, out, at):
    """Put the whole numbers of a list at out[at:]; return where they end. Nothing if missing, -1 for non-numbers."""
    if is_missing(text, start, stop):
        return at
    first = start
    for i in range(start, stop + 1):
        if i == stop or text[i] == COMMA:
            if at < out.size:
                out[at] = min(LARGEST, number_in(text, first, i))
            at, first = at + 1, i + 1
    return min(at, out.size)


@kernel
def read_logarithms(text, start, stop, out, at):
    """Put log10 likelihoods as PL at out[at:]; return where they end. Nothing if missing, -1 for invalid ones."""
    if is_missing(text, start, stop):
        return at
    highest, first = -1e300, start
    for i in range(start, stop + 1):
        if i == stop or text[i] == COMMA:
            highest, first = max(highest, real_in(text, first, i)), i + 1
    first = start
    for i in range(start, stop + 1):
        if i == stop or text[i] == COMMA:
            value = real_in(text, first, i)
            if at < out.size:
                out[at] = -1 if value > 0.0 else int(min(float(LARGEST), 10.0 * (highest - value) + 0.5))
            at, first = at + 1, i + 1
    return min(at, out.size)
