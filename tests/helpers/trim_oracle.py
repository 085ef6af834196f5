"""Trimming in plain Python, one read at a time, straight from the contract of `readwarp.align.trim`."""

from readwarp.align.trim.batch import MASK

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
PREFIX, LEAST_ADAPTER = 16, 8


def reverse_complement(bases: str) -> str:
    return bases.translate(COMPLEMENT)[::-1]


def mismatches(a: str, b: str) -> int:
    return sum(x != y or x == "N" for x, y in zip(a, b, strict=True))


def misfits(bases: str, adapter: str) -> int:
    """Bases that a letter of the adapter does not stand for; N in the adapter stands for any."""
    codes = {"A": 1, "C": 2, "G": 4, "T": 8, "N": 0}
    return sum(y != "N" and not codes[x] & MASK[y] for x, y in zip(bases, adapter, strict=False))


def overlap(first: str, last: str, fragment: int) -> tuple[str, str]:
    """What both mates say about the bases of the fragment that they share, on the first read's strand."""
    start, stop = max(0, fragment - len(last)), min(fragment, len(first))
    return first[start:stop], reverse_complement(last[fragment - stop : fragment - start])


def begins(bases: str, adapter: str) -> bool:
    n = min(len(bases), len(adapter), PREFIX)
    return misfits(bases[:n], adapter[:n]) <= n // 4


def goes_on(first: str, last: str, adapters, last_adapters) -> bool:
    """Whether what lies beyond a fragment may be adapter."""
    n = min(len(first), len(last), 12)
    if not first and not last:
        return True
    if n and mismatches(first[:n], last[:n]) <= n // 4:
        return True
    return (first and any(begins(first, a) for a in adapters)) or (last and any(begins(last, a) for a in last_adapters))


def fits_at_an_end(first: str, last: str, fragment: int) -> bool:
    """Whether 16 bases of the overlap at one end of the fragment differ in at most 2."""
    if len(first) < PREFIX or len(last) < PREFIX:
        return False
    ends = []
    if fragment <= len(first):
        ends.append((first[fragment - PREFIX : fragment], reverse_complement(last[:PREFIX])))
    if fragment <= len(last):
        ends.append((last[fragment - PREFIX : fragment], reverse_complement(first[:PREFIX])))
    return any(mismatches(*end) <= 2 for end in ends)


def fragment_of(first: str, last: str, adapters, last_adapters) -> int:
    """The length of the fragment if it is shorter than the longer read or as long, 0 else; or a longer one that is as
    good."""
    longer, short = max(len(first), len(last)), []
    for fragment in range(PREFIX, longer + 1):
        a, b = overlap(first, last, fragment)
        m = mismatches(a, b)
        may_end = goes_on(first[fragment:], last[fragment:], adapters, last_adapters)
        if len(a) >= 10 * m and may_end and fits_at_an_end(first, last, fragment):
            short.append((len(a) - 10 * m, fragment, m, len(a)))
    if not short or max(short)[1] == longer:
        return max(short)[1] if short else 0
    _, found, m, n = max(short)
    for fragment in range(longer, len(first) + len(last) - PREFIX + 1):
        a, b = overlap(first, last, fragment)
        differ = mismatches(a, b)
        begins_or_ends = min(mismatches(a[:PREFIX], b[:PREFIX]), mismatches(a[-PREFIX:], b[-PREFIX:])) <= 2
        is_as_good = differ * n <= m * len(a) or len(a) - 10 * differ > n - 10 * m
        if len(a) >= PREFIX and is_as_good and begins_or_ends:
            return fragment
    return found


def fits_at(bases: str, adapter: str) -> bool:
    n = min(len(bases), len(adapter))
    return misfits(bases[:n], adapter[:n]) <= n // 10


def adapter_in(bases: str, adapters, least: int) -> int | None:
    """Where the first adapter begins."""
    for place in range(len(bases)):
        for adapter in adapters:
            n = min(len(bases) - place, len(adapter))
            here = bases[place : place + n]
            is_long = n >= min(least, len(adapter))
            if is_long and misfits(here, adapter[:n]) <= n // 10 and misfits(here[:16], adapter[:16]) <= 2:
                later = range(place, min(place + n, len(bases) - min(least, len(adapter)) + 1))
                moved = [at for at in later if adapter[at - place :] == adapter[: len(adapter) - at + place]]
                differ = {at: misfits(bases[at:], adapter) for at in moved}
                return min((at for at in moved if fits_at(bases[at:], adapter)), key=lambda at: (differ[at], at))
    return None


def poly_g(bases: str) -> int:
    """The length of the read without its poly-G tail."""
    score, best, kept = 0, 0, len(bases)
    for i in reversed(range(len(bases))):
        score += 1 if bases[i] == "G" else -2
        if score > best:
            best, kept = score, i
        if score <= best - 10:
            break
    return kept if best >= 10 else len(bases)


def good(qualities: list[int], limit: int) -> int:
    """The length of the read without its end of low quality."""
    total, most, kept = 0, 0, len(qualities)
    for i in reversed(range(len(qualities))):
        total += limit - qualities[i]
        if total < 0:
            break
        if total > most:
            most, kept = total, i
    return kept


def cuts_of(reads: list[tuple[str, list[int]]], adapters, last_adapters, always_g: bool, limit: int) -> list[list[int]]:
    """Bases cut off a single read or two mates: by mates, adapter, poly-G, quality."""
    kept, reason = [len(bases) for bases, _ in reads], 1
    if len(reads) == 1:
        place = adapter_in(reads[0][0], adapters, LEAST_ADAPTER)
        kept = [len(reads[0][0]) if place is None else place]
    else:
        (first, _), (last, _) = reads
        fragment = fragment_of(first, last, adapters, last_adapters)
        if 0 < fragment < max(kept):
            kept, reason = [min(length, fragment) for length in kept], 0
        else:
            places = [adapter_in(first, adapters, PREFIX), adapter_in(last, last_adapters, PREFIX)]
            known = [place for place in places if place is not None]
            if known:
                kept = [
                    min(length, known[0] if place is None else place)
                    for length, place in zip(kept, places, strict=True)
                ]
    out = []
    for (bases, qualities), end in zip(reads, kept, strict=True):
        row = [0, 0, 0, 0]
        row[reason] = len(bases) - end
        if end == len(bases) and always_g:
            end = poly_g(bases)
            row[2] = len(bases) - end
        row[3] = end - (good(qualities[:end], limit) if limit else end)
        out.append(row)
    return out
