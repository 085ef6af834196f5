"""PairHMM on one core: cells per second of readwarp, and of the same recurrence in plain C, compiled in the same run.

    python benchmarks/pairhmm.py [--save]

Prints 10^9 cells (read bases x haplotype bases) per second of processor time (GCUPS, best of several rounds that
alternate) and with --save adds its rows to benchmarks/results/pairhmm.csv. "Kernel" is the vector recurrence alone
(`cpu.sum_group`); "pairs" is `cpu.log_likelihoods`: equal pairs, order, row constants, lanes, logarithms, and float64
where float32 is too small. "Regions" are sets as in variant calling: 40 reads of 60-150 bases, 2-10 haplotypes of
150-300. "Plain C": one pair after another, row by row, `cc -O3 -march=native` (gcc vectorises M and X, not Y).
"""

import argparse
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rates import Contest, best_rates, report, save
from readwarp.call.likelihoods.pairhmm import ReadRows, cpu
from readwarp.call.likelihoods.pairhmm.cpu import LaneSpace, sum_group
from readwarp.call.likelihoods.pairhmm.scalar import COLUMNS
from readwarp.compiler.simd import lanes

RESULTS = Path(__file__).parent / "results" / "pairhmm.csv"
SIZES = ((60, 100), (100, 200), (148, 200), (148, 300))

PLAIN_C = """
#ifdef __x86_64__  /* without subnormal numbers, which would make it 6 times slower in float */
#define BEGIN unsigned was = __builtin_ia32_stmxcsr(); __builtin_ia32_ldmxcsr(was | 0x8040);
#define END __builtin_ia32_ldmxcsr(was);
#else
#define BEGIN
#define END
#endif
void sums(const unsigned char *x, const REAL *rows, long R, const unsigned char *y, long H, REAL *s, double *out)
{ /* rows: 1 - e, e / 3, o, extension of each base; s: space for 6 (H + 1) */
    REAL *M = s, *X = s + H + 1, *Y = s + 2 * (H + 1), *m = s + 3 * (H + 1), *v = s + 4 * (H + 1), *w = s + 5 * (H + 1);
    REAL o = 0, e = 0, straight = 0, close = 1;
    BEGIN
    for (long j = 0; j <= H; j++) { M[j] = X[j] = 0; Y[j] = START / H; }
    for (long i = 0; i < R; i++) {
        REAL same = rows[4 * i], other = rows[4 * i + 1];
        m[0] = w[0] = 0; v[0] = o * M[0] + e * X[0];
        for (long j = 1; j <= H; j++) {
            m[j] = (x[i] == y[j - 1] ? same : other) * (straight * M[j - 1] + close * (X[j - 1] + Y[j - 1]));
            v[j] = o * M[j] + e * X[j];
        }
        o = rows[4 * i + 2]; e = rows[4 * i + 3]; straight = 1 - 2 * o; close = 1 - e;
        for (long j = 1; j <= H; j++) w[j] = o * m[j - 1] + e * w[j - 1];
        REAL *t = M; M = m; m = t; t = X; X = v; v = t; t = Y; Y = w; w = t;
    }
    double sum = 0;
    for (long j = 1; j <= H; j++) sum += M[j] + X[j];
    *out = sum / START;
    END
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="add rows to benchmarks/results/pairhmm.csv")
    options = parser.parse_args()
    sets = {f"{length} x {size}": simulated(length, size) for length, size in SIZES} | {"regions": regions()}
    contests: dict[str, Contest] = {}
    for real in (np.float32, np.float64):
        contests[f"kernel: 148 x 200, {real.__name__}"] = kernel(148, 200, real)
    for name, batch in sets.items():
        contests[f"pairs: {name}"] = whole(batch)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("100 x 200", "regions"):
            contests |= {f"plain C: {name}, {kind}": c for kind, c in plain(sets[name], Path(folder)).items()}
        best = best_rates(contests)
    report(best)
    if options.save:
        save(best, RESULTS)


def batch_of(reads: list[np.ndarray], haplotypes: list[np.ndarray], pairs: list[tuple[int, int]]) -> tuple:
    """The arguments of log_likelihoods; qualities 2 to 40, most of them high."""
    rng = np.random.default_rng(3)
    offsets, sizes = (np.cumsum([0, *map(len, side)]).astype(np.int64) for side in (reads, haplotypes))
    bases = np.concatenate(reads).astype(np.uint8)
    qualities = (40 - np.minimum(38, rng.exponential(4, bases.size))).astype(np.uint8)
    wrong = rng.random(bases.size) < 10.0 ** (-0.1 * qualities)
    bases[wrong] = (bases[wrong] + rng.integers(1, 4, int(wrong.sum()))) % 4
    gaps = np.full(bases.size, 45, np.uint8), np.full(bases.size, 10, np.uint8)
    read, haplotype = np.array(pairs, np.int32).T
    rows = ReadRows(bases, qualities, *gaps, offsets)
    return rows, np.concatenate(haplotypes).astype(np.uint8), sizes, read.copy(), haplotype.copy()


def simulated(length: int, size: int) -> tuple:
    """1024 reads, each with 4 of 64 haplotypes that differ by a substitution or two."""
    rng = np.random.default_rng(1)
    haplotypes = [rng.integers(0, 4, size) for _ in range(16)]
    haplotypes = [np.where(rng.random(size) < 0.01, rng.integers(0, 4, size), h) for h in haplotypes for _ in range(4)]
    homes = rng.integers(0, 16, 1024)
    starts = rng.integers(0, size - length + 1, 1024)
    reads = [haplotypes[4 * home][start : start + length] for home, start in zip(homes, starts, strict=True)]
    return batch_of(reads, haplotypes, [(r, 4 * home + k) for r, home in enumerate(homes) for k in range(4)])


def regions() -> tuple:
    rng = np.random.default_rng(2)
    reads, haplotypes, pairs = [], [], []
    for _ in range(60):
        size, number = rng.integers(150, 301), rng.integers(2, 11)
        home = rng.integers(0, 4, size)
        first = len(haplotypes)
        for _ in range(number):
            cut, indel = rng.integers(20, size - 20), rng.integers(0, 6)
            changed = np.where(rng.random(size) < 0.01, rng.integers(0, 4, size), home)
            haplotypes.append(np.concatenate((changed[:cut], changed[cut + indel :])))
        for _ in range(40):
            source = haplotypes[first + rng.integers(0, number)]
            length = min(int(rng.integers(60, 151)), len(source))
            start = rng.integers(0, len(source) - length + 1)
            pairs += [(len(reads), first + k) for k in range(number)]
            reads.append(source[start : start + length])
    return batch_of(reads, haplotypes, pairs)


def whole(batch: tuple) -> Contest:
    rows, _, sizes, read, haplotype = batch
    cells = int((np.diff(rows.offsets)[read] * np.diff(sizes)[haplotype]).sum())
    return lambda: cpu.log_likelihoods(*batch), cells


def kernel(length: int, size: int, real: type) -> Contest:
    count = lanes(real)
    rng, width = np.random.default_rng(1), max(count, 8)
    haplotype = rng.integers(0, 4, (size, width)).astype(np.int8)
    terms = np.array([0.999, 3e-4, 0.25, 3e-5, 3e-5, 0.1, 0.1, 1e-37])[None, :, None] * np.ones(
        (length, COLUMNS, count)
    )
    symbols = np.empty(count, np.int32 if real is np.float32 else np.int64)
    above, insertion, sums = np.empty(size * count, real), np.empty(size * count, real), np.empty(count, real)
    scale = np.full(count, 1e30, real)
    bases, numbers = haplotype[:length].ravel(), terms.astype(real).ravel()
    space = LaneSpace(numbers, above, insertion, np.empty(count, np.int64))

    def call() -> None:
        for _ in range(40):
            sum_group(bases, haplotype.ravel(), space, length, size, scale, symbols, sums)

    return call, 40 * length * size * count


def plain(batch: tuple, folder: Path) -> dict[str, Contest]:
    """The first pairs of a set in plain C, float and double; empty if there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return {}
    (folder / "plain.c").write_text(PLAIN_C)
    contests: dict[str, Contest] = {}
    for kind, real, start in (("float", np.float32, "0x1p100f"), ("double", np.float64, "0x1p900")):
        library = folder / f"{kind}.so"
        options = ["-O3", "-march=native", "-shared", "-fPIC", f"-DREAL={kind}", f"-DSTART={start}"]
        subprocess.run([compiler, *options, str(folder / "plain.c"), "-o", str(library)], check=True)
        contests[kind] = plain_call(ctypes.CDLL(str(library)).sums, batch, real)
    return contests


def plain_call(function: Callable, batch: tuple, real: type) -> Contest:
    rows, haplotypes, sizes, read, haplotype = batch
    error, opening, extending = (10.0 ** (-0.1 * x) for x in (rows.qualities, rows.gap_open, rows.gap_extend))
    terms = np.stack((1 - error, error / 3, opening, extending), axis=1).astype(real)
    space, out = np.empty(6 * (int(np.diff(sizes).max()) + 1), real), ctypes.c_double()
    calls, cells = [], 0
    for r, h in zip(read[:400].tolist(), haplotype[:400].tolist(), strict=True):
        begin, length, size = int(rows.offsets[r]), int(np.diff(rows.offsets)[r]), int(np.diff(sizes)[h])
        numbers = ctypes.c_long(length), ctypes.c_void_p(haplotypes.ctypes.data + int(sizes[h])), ctypes.c_long(size)
        places = rows.bases.ctypes.data + begin, terms.ctypes.data + 4 * begin * terms.itemsize
        pointers = [ctypes.c_void_p(place) for place in places]
        calls.append((*pointers, *numbers, ctypes.c_void_p(space.ctypes.data), ctypes.byref(out)))
        cells += length * size

    def call(alive: tuple = (terms, space)) -> None:
        for arguments in calls:
            function(*arguments)

    return call, cells


if __name__ == "__main__":
    main()
