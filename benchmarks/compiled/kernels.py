"""All CUDA kernels of the package, with the types of their launches, and what their hot loops compute.

Types are NumPy's codes, `u1[]` an array of one axis, `f4[,]` of two, `(u1[] f4)` a tuple; integers of Python are i8,
floats f8. `align.batches.SeedHits` is a batch with the arrays that it declares, `pairwise.pairs.Costs(i4 i4)` one with
these.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from readwarp.call.likelihoods.pairhmm.scalar import FLOAT32, FLOAT64, Precision
from readwarp.device.lanes import FORMS, HALF2, INT32, S16X2, LaneForm
from readwarp.pairwise.scalar import GLOBAL, LOCAL

CAPABILITIES = (75, 80, 89, 90, 120)


@dataclass(frozen=True, slots=True)
class Loop:
    """The innermost loop with most `marker`s; each step of it has `per_step` instructions that match `step`."""

    marker: str
    step: str
    per_step: int
    cells: float  # per step and thread; pairs of cells when two are packed
    packed: int = 1  # cells in one lane


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    module: str
    attribute: str  # of the module: the kernel, or the factory that makes it from `options`
    arguments: str
    threads: int  # per block
    options: tuple[Any, ...] = ()
    loop: Loop | None = None
    hot: bool = True  # no stack and no spills
    capabilities: tuple[int, ...] = CAPABILITIES
    dynamic_shared: int = 0  # bytes that a launch adds to what the kernel declares
    root: str = "readwarp."

    def compiled_by(self) -> Any:
        """The kernel: readwarp's, or, of CEILINGS, Numba's dispatcher, which has the function's options."""
        from importlib import import_module

        found = attrgetter(self.attribute)(import_module(f"{self.root}{self.module}"))
        return found(*self.options) if self.options else found


SCAN = [Kernel("scan add_up", "device.gather", "add_up.grid", "i8 i8[] i8[] i4[]", 128)]
SLOTS, ENTRIES = "align.seed.cuda_slots.SeedSlots", "align.seed.scalar.Entries"
SEED = [
    Kernel(f"seed {name}", "align.seed.cuda", name, arguments, threads)
    for name, arguments, threads in (
        ("sketch_reads", f"u1[] i8[] index.syncmers.Shape {SLOTS} i4[] u1[]", 128),
        ("look_up", f"{SLOTS} {ENTRIES} i8", 128),
        ("choose", f"i8[] i8 i4[] {SLOTS} align.seed.scalar.SeedLimits u1[] i4[] i4[]", 128),
        ("emit", f"i8[] index.syncmers.Shape i4[] {SLOTS} {ENTRIES} i8[] u8[] i4[]", 32),
        ("sort_anchors", "u8[] i8[] u8[] i8[]", 32),
    )
] + [
    Kernel(
        "seed settle", "align.seed.cuda_settle", "settle",
        f"u1[] i8[] align.places.Genome i4[] {SLOTS} {ENTRIES} "
        "(index.syncmers.Shape align.seed.scalar.SeedLimits align.seed.scalar.Proof) u1[]", 32,
    )
]  # fmt: skip
LINKS = "align.chain.scalar.ChainLimits align.chain.scalar.ChainLinks"
CHAIN = [
    Kernel(f"chain {name}", "align.chain.cuda", name, arguments, threads)
    for name, arguments, threads in (
        ("chain_reads", f"i8[] align.batches.SeedHits i8[] {LINKS} i8[,] (i4[] i4[] u1[] u1[])", 32),
        ("close_up", "i8[] i8[,] align.batches.Chains", 128),
    )
]
LONG_CHAIN = [
    Kernel(
        "long link_stretches", "align.long.chain.cuda", "link_stretches",
        "u8[] i8[] i4[] align.chain.scalar.LinkRules(i4 i4 i4 i4 i4 i4 i4 i4) align.chain.scalar.ChainLinks", 32,
        loop=Loop("SHFL", "SHFL", 3, 1),
    )
]  # fmt: skip
COSTS = "pairwise.pairs.Costs(i4 i4 i4 i4 i4)"
WINDOWS = "align.extend.steps.Oriented align.batches.Candidates"
EXTEND = [
    Kernel(f"extend {name}", "align.extend.cuda", name, arguments, 128)
    for name, arguments in (
        ("orient_reads", "u1[] i8[] u1[]"),
        ("unpack_windows", "u1[] i8[] i8[] u1[]"),
        ("score_ungapped", f"{WINDOWS} u1[] {COSTS} align.batches.Scores"),
        ("trace_ungapped", f"{WINDOWS} u1[] {COSTS} align.batches.Scores align.extend.steps.UngappedSpans"),
    )
]
CORNERS = "align.long.ends.scalar.Corners"
FILL_ENDS = f"(u1[] u1[]) {CORNERS} {COSTS} (i4 i4) i8[] u4[] i4[,]"
BAND = 7, True  # cells of a thread, in bytes
ENDS = [
    Kernel(f"long fill_ends{name}", "align.long.ends.cuda", "fill_kernel", FILL_ENDS, 32, BAND, loop, capabilities=of)
    for name, loop, of in (
        (" x 7", Loop("SHFL", r"SHFL\.UP", 6, 7), CAPABILITIES[:-1]),
        (" on sm_120", None, CAPABILITIES[-1:]),  # ptxas puts the kernel's end within its loop, which is not found then
    )
] + [
    Kernel("long walk_ends", "align.long.ends.cuda", "walk_ends", "i4[,] (i4 i4) i8[] u4[] i8[] u4[] i4[]", 128),
    Kernel("long copy_ends", "align.long.ends.cuda", "copy_ends", "i1[] i8[] u4[] i8[] u4[]", 128),
]  # fmt: skip
PAIRWISE = [
    Kernel(f"pairwise {name}", "pairwise.cuda", name, arguments, 64)
    for name, arguments in (
        ("score_threads", "pairwise.pairs.Pairs i8[] i4 pairwise.pairs.Scheme i4[,,] pairwise.pairs.Ends"),
        (
            "trace_threads",
            "pairwise.pairs.Tasks i8[] pairwise.pairs.Scheme i4[,] i4[,] u1[,] pairwise.pairs.Walks u4[]",
        ),
    )
]


def score_tiles(form: LaneForm, columns: int) -> Kernel:
    """In each row, a thread takes two numbers from the thread before it."""
    loop = Loop(r"SHFL\.UP", r"SHFL\.UP", 2, columns, form.numbers)
    return Kernel(
        f"pairwise score {form.name} x {columns}", "pairwise.cuda_tiles", "score_kernel",
        "pairwise.cuda_tiles.Tiles u4[] i4[] i4 i4[,]", 128, (form, columns),
        loop, capabilities=CAPABILITIES_OF[form][columns in (10, 20)],
    )  # fmt: skip


CAPABILITIES_OF = {  # those that get a form first, whose shapes are all looked at; those that can run it
    S16X2: ((90, 120), (90, 120)),
    HALF2: ((80, 89), (80, 89, 90, 120)),
    INT32: ((75,), CAPABILITIES),
}
TILES = [
    *(score_tiles(form, columns) for form in FORMS for columns in (4, 6, 8, 10, 12, 14, 16, 20, 24)),
    Kernel(
        "pairwise lay_rows", "pairwise.cuda_tiles", "lay_rows", "u1[] i8[] pairwise.cuda_tiles.Tiles i4 i4", 128
    ),
]  # fmt: skip
TRACED = "pairwise.trace_plan.TraceSlots"


def trace(words: int, mode: int, name: str = "") -> Kernel:
    return Kernel(
        f"pairwise trace x {8 * words}{name}", "pairwise.cuda_trace", "trace_kernel",
        f"{TRACED} i8[,] i4[] {COSTS} i4[]", 128, (words, mode, 1), Loop("IDP", "SHFL", 2, 8 * words),
    )  # fmt: skip


LONG_TRACE = [trace(words, GLOBAL, ", global") for words in (1, 2, 4)]
TRACE = [
    *(trace(words, LOCAL) for words in (1, 2, 4)),
    Kernel(
        "pairwise walk_back", "pairwise.cuda_trace", "walk_back",
        f"{TRACED} i8[,] i4[] (i4 i4) {COSTS} i4 u4[] pairwise.pairs.Walks", 64,
    ),
    Kernel("pairwise copy_runs", "pairwise.cuda_trace", "copy_runs", f"{TRACED} i8[] u4[] u4[]", 128),
]  # fmt: skip
PLACES = "i4[,] i4[,] i4[] f8[]"
PHREDS = "(u1[] u1[] u1[] u1[] f8[])"


def pair_hmm(rows: int, precision: Precision) -> Kernel:
    """A step hands two numbers on, in as many shuffles of 32 bits each as they are wide."""
    is_narrow = precision is FLOAT32
    bits, opcode = (32, "FFMA") if is_narrow else (64, "DFMA")
    arguments = f"{'(u1[] f4[,])' if is_narrow else PHREDS} u1[] i4[,] {PLACES}"
    loop, name = Loop(opcode, "SHFL", bits // 16, rows), f"pairhmm float{bits} x {rows}"
    return Kernel(name, "call.likelihoods.pairhmm.cuda_sums", "sum_kernel", arguments, 32, (rows, precision), loop)


PAIR_HMM = [
    *(pair_hmm(rows, precision) for precision in (FLOAT32, FLOAT64) for rows in precision.rows),
    Kernel("pairhmm fill_table", "call.likelihoods.pairhmm.cuda_sums", "fill_table", f"{PHREDS} i8[] f4[,]", 32),
    Kernel("pairhmm copy_between", "call.likelihoods.pairhmm.cuda", "copy_between", "u1[] i8 u1[]", 128),
    Kernel("pairhmm find_unknown", "call.likelihoods.pairhmm.cuda", "find_unknown", "u1[] i8[] u1[]", 128),
    Kernel("pairhmm find_small", "call.likelihoods.pairhmm.cuda_sums", "find_small", f"i8 f8 {PLACES}", 64),
]

CEILINGS = {  # of benchmarks/gpu.py: a loop full of one kind of instruction, and its name
    Kernel(f"issue {name}", "oncard.ceilings", "issue_kernel", f"i4 {number}[] {number}[]", 256, (name,),
           Loop(opcode, opcode, 1, 1), capabilities=capabilities, root=""): opcode
    for name, number, opcode, capabilities in (
        ("FP32 multiply-add", "f4", "FFMA", CAPABILITIES),
        ("integer multiply-add", "u4", "IMAD", CAPABILITIES),
        ("DPX 16-bit", "u4", r"VIADDMNMX\.S16", (90,)),
        ("half2 add", "u4", "HADD2|HFMA2", (80, 89, 90, 120)),
        ("half2 add and maximum", "u4", "HADD2|HFMA2|HMNMX2|VHMNMX", (80, 89, 90, 120)),
    )
}  # fmt: skip

CODES = [
    Kernel("codes find_highest", "device.cuda_codes", "find_highest", "u1[] i4[]", 256),
    Kernel("codes replace_codes", "device.cuda_codes", "replace_codes", "u1[] i8 i8 u1[]", 256),
]
TRIAL = [Kernel("trial", "device.trial", "square", "i8[]", 32)]
BLOCKS = [Kernel("blocks lay_blocks", "finish.cuda_blocks", "lay_blocks", "u1[] i8[] u1[,] i8[] u1[]", 256)]

READS, RECORDS = "formats.common.reads.ReadBatch", "formats.alignments.records.AlignmentBatch"
CHOICES, LAID = "align.records.choose.TracedChoices", "align.records.tags.RecordRows"
NAMES, ENCODED = "formats.common.text.Names", "formats.alignments.encoded.Encoded"


def each_row(module: str, name: str, arguments: str) -> Kernel:
    return Kernel(f"rows {name}", module, f"{name}.grid", f"i8 {arguments}", 128)


def ragged_rows(module: str, name: str, arguments: str, made: str) -> list[Kernel]:
    """The room of each row; then its values, in that room, and where they belong, unless rows fill their rooms.

    Where their number is known, all at once.
    """
    scanned = "i8[] i8[]"  # words of tiles, and offsets
    if name in ("merge_offsets", "put_in_order", "list_line_ends"):
        return [Kernel(f"rows {name}.at_once", module, f"{name}.at_once.grid", f"i8 {scanned} {arguments} {made}", 128)]
    from importlib import import_module

    is_exact = getattr(import_module(f"readwarp.{module}"), name).is_exact
    rooms = each_row(module, f"{name}.rooms", f"{scanned} {arguments}")
    apart = each_row(module, f"{name}.apart", f"{'' if is_exact else scanned} i8[] {arguments} {made}")
    return [rooms, apart, *([] if is_exact else [each_row(module, f"{name}.close", f"i8[] i8[] {made} {made}")])]


BUILD, TAGS, SIGNATURES = "align.records.build", "align.records.tags", "finish.signatures"
PAIR, CHOOSE, LEFT = "align.pair", "align.records.choose", "align.extend.steps"
CHAINS, CANDIDATES, SCORES = (f"align.batches.{name}" for name in ("Chains", "Candidates", "Scores"))
SCORED = "align.places.Places"
TEXT, RECORDS_OF_TEXT = "formats.reads.fastx_text.Text", "formats.reads.raw.FastxRecords"
PARSE = [
    *ragged_rows("formats.reads.fastx_text", "list_line_ends", "u1[]", "formats.reads.fastx_text.LineEnds"),
    each_row("formats.reads.fastx", "measure_fastq", f"{TEXT} i8[] (i8 i8) {RECORDS_OF_TEXT} u1[]"),
    Kernel("rows add_up of records", "device.gather", "add_up.grid", "i8 i8[] i8[] i8[]", 128),
    each_row("formats.reads.fastx", "fill_reads", f"{TEXT} {RECORDS_OF_TEXT} (i8 i8) (u1[] i8) {READS} u1[]"),
    each_row("formats.reads.fastx", "compare_names", "u1[] i8[] u1[]"),
]
WINDOW_PLAN = f"{READS} {CHAINS} i8[] {PAIR}.plan.PlanRules {PAIR}.plan.ChainRanks"
RANKED = f"({CHOOSE}.Ranking {CHOOSE}.Winners)"
PLACE_ROWS = [
    each_row("align.seed.again", "judge_chains", f"{READS} {CHAINS} i8 b1 u1[]"),
    *ragged_rows("formats.common.reads", "list_reads", f"i8[] {READS}", "formats.common.reads.SomeReads"),
    each_row("align.seed.again", "put_repetitive", "i8[] i4[] i4[]"),
    each_row("align.batches", "gather_chains.copy", f"i8[] {CHAINS} {CHAINS} {CHAINS}"),
    each_row("align.batches", "gather_candidates.copy", f"i8[] {CANDIDATES} {CANDIDATES} {CANDIDATES}"),
    each_row("align.batches", "gather_scores.copy", f"i8[] {SCORES} {SCORES} {SCORES}"),
    *ragged_rows("device.gather", "merge_offsets", "i8[] i8[] i8", "device.gather.MergedRows"),
    each_row("align.places", "find_start", f"{CANDIDATES} {SCORES} ((i8 i8 i8) (i8 i8)) i8[] i4[] i4[]"),
    each_row(f"{PAIR}.plan", "add_mate_scores", WINDOW_PLAN),
    *ragged_rows(f"{PAIR}.plan", "plan_windows", WINDOW_PLAN, CANDIDATES),
    *ragged_rows(f"{PAIR}.parts", "plan_ends", f"i8[] {SCORED} i8[] {PAIR}.parts.PartRules", CANDIDATES),
    *ragged_rows(LEFT, "list_left", f"i8[] {CANDIDATES} {SCORES} i8", f"{LEFT}.LeftCandidates"),
    each_row(LEFT, "put_end", f"{LEFT}.LeftCandidates pairwise.pairs.Ends {CANDIDATES} {SCORES}"),
    *ragged_rows(
        LEFT, "put_extension",
        f"{CANDIDATES} {SCORES} {LEFT}.UngappedSpans i8[] pairwise.pairs.Traces", "align.batches.Extensions"
    ),
    each_row(f"{PAIR}.rescue", "seek", f"{READS} u1[] {SCORED} i8[] {PAIR}.rescue.RescueRules u1[]"),
    *ragged_rows(f"{PAIR}.rescue", "list_places", f"i8[] {SCORED}", SCORED),
    each_row(
        CHOOSE, "place_template",
        f"{READS} {SCORED} i8[] {CHOOSE}.ChoiceRules {CHOOSE}.Ranking {CHOOSE}.Winners"
    ),
    *ragged_rows(
        CHOOSE, "list_choices", f"{READS} i4[] {SCORED} {CHOOSE}.PlaceRules {RANKED}", f"{CHOOSE}.Choices"
    ),
]  # fmt: skip
ROWS = [
    each_row(BUILD, "place_in_shown", f"i8[] i8[] {CHOICES}"),
    *ragged_rows(BUILD, "lay_rows", f"i8[] i8[] {CHOICES} {BUILD}.Layout", LAID),
    each_row(BUILD, "fill_place", f"{LAID} {CHOICES} i8[] {RECORDS}"),
    each_row(BUILD, "fill_mate", f"{READS} {LAID} {CHOICES} i8 {RECORDS}"),
    *ragged_rows(BUILD, "put_cigar", f"{READS} u1[] {LAID} {CHOICES} {BUILD}.CigarForm", f"{TAGS}.RecordCigars"),
    *ragged_rows(TAGS, "put_tags", f"{READS} {TAGS}.TagContext {LAID} {CHOICES} {RECORDS}", f"{TAGS}.RecordTags"),
    *ragged_rows("formats.alignments.sam", "put_record", f"{READS} {RECORDS} {NAMES}", ENCODED),
    each_row("finish.order", "set_coordinate_key", f"{ENCODED} i8 i8[]"),
    *ragged_rows("finish.order", "put_in_order", f"{ENCODED} i8[] i4[,] i8", ENCODED),
    *ragged_rows("finish.groups", "list_starts", ENCODED, "finish.groups.GroupStarts"),
    each_row("finish.signatures", "sign_record", f"{ENCODED} {SIGNATURES}.Libraries b1 {SIGNATURES}.Signatures"),
]  # fmt: skip

KERNELS = (
    *SCAN,
    *SEED,
    *CHAIN,
    *LONG_CHAIN,
    *EXTEND,
    *ENDS,
    *PAIRWISE,
    *TILES,
    *TRACE,
    *LONG_TRACE,
    *PAIR_HMM,
    *CODES,
    *TRIAL,
    *BLOCKS,
    *PARSE,
    *PLACE_ROWS,
    *ROWS,
)
