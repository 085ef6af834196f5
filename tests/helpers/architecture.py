"""Draw docs/architecture.svg: rooms and imports, the path of a read and of a region (tests/test_architecture.py)."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import combinations, pairwise, permutations, product
from typing import NamedTuple

from helpers.layers import LAYERS, LEVEL, PACKAGE, ROOT, SOURCES, imports, room_of, room_of_file

*ROWS, BAR, _GENERATED = LAYERS  # what a build writes is not drawn
PICTURE = ROOT / "docs" / "architecture.svg"
WIDTH, MARGIN, BOX_HEIGHT = 880, 14, 50.0
Edge = tuple[str, str]
Place = tuple[float, float]

ROOMS = {
    "cli": "options, messages, exit codes",
    "run": "a whole sample",
    "caller": "the command call",
    "cohort": "genomic VCFs to one VCF",
    "somatic": "any fraction of molecules",
    "structural": "long indels of long reads",
    "align": "reads to alignments",
    "call": "alignments to variants",
    "molecules": "reads to consensus reads",
    "report": "results to a page",
    "pairwise": "Smith-Waterman",
    "finish": "sorting, duplicates",
    "index": "seeds of a reference",
    "stream": "batches in planned memory",
    "device": "cards, memory, launches",
    "compiler": "kernels to machine code, by Numba; SIMD lanes",
    "formats": "files to batches and back",
    "rules": "bases, CIGARs, hashes",
}


class Step(NamedTuple):
    """A box of a flow: a folder of src/readwarp, what it makes, and its column and row."""

    folder: str
    makes: str
    column: int
    row: int = 0


READ = {
    "in": Step("formats", "ReadBatch", 0),
    "seed": Step("align/seed", "SeedHits", 1),
    "chain": Step("align/chain", "Chains", 2),
    "pair": Step("align/pair", "Candidates", 3),
    "extend": Step("align/extend", "Scores", 4),
    "records": Step("align/records", "Alignments", 5),
    "finish": Step("finish", "sorted, marked", 6),
    "out": Step("formats", "SAM, BAM", 7),
}
READ_LOOPS = {("pair", "extend"): "rescue of mates", ("extend", "records"): "tracebacks of the best"}
REGION = {
    "in": Step("formats", "AlignedReads", 0),
    "mates": Step("call/reads/mates", "fragments", 1),
    "pileup": Step("call/candidates", "Pileup", 2),
    "sites": Step("call/candidates/sites", "Sites", 3),
    "evidence": Step("call/likelihoods/evidence", "Likelihoods", 4),
    "genotypes": Step("call/records/genotypes", "Calls", 6),
    "out": Step("formats", "VCF, gVCF", 7),
    "regions": Step("call/candidates/regions", "Regions", 3, 1),
    "haplotypes": Step("call/likelihoods/haplotypes", "Haplotypes", 4, 1),
    "pairhmm": Step("call/likelihoods/pairhmm", "log10 P", 5, 1),
    "alleles": Step("call/likelihoods/alleles", "Likelihoods", 6, 1),
    "confidence": Step("call/records/confidence", "Bands", 2, 1),
}
REGION_WAYS = (
    ("in", "mates", "pileup", "sites", "evidence", "genotypes", "out"),
    ("sites", "regions", "haplotypes", "pairhmm", "alleles", "genotypes"),
    ("pileup", "confidence"),
)
REGION_DETOUR = ("confidence", "out")  # below the others

STYLE = """
svg { --paper: #ffffff; --ink: #1f2933; --soft: #52606d; --line: #7b8794; --box: #e6f4f1; --edge: #0f766e; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #1b1f27; --ink: #e4e7eb; --soft: #a3adb9; --line: #7b8794; --box: #17353a; --edge: #2dd4bf; }
}
text { font: 14px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
text.title { font-size: 18px; font-weight: 600; text-anchor: start; }
tspan.small { font-size: 12.5px; font-weight: 400; fill: var(--soft); }
text.name { font-weight: 600; }
text.small { font-size: 11.5px; fill: var(--soft); }
rect.paper { fill: var(--paper); }
rect.box { fill: var(--box); stroke: var(--edge); stroke-width: 1.3; }
path.arrow { fill: none; stroke: var(--line); stroke-width: 1.6; }
path.head { fill: var(--line); }
"""


def draw() -> str:
    """The picture as SVG."""
    rooms, rooms_stop = draw_rooms(56)
    read, read_stop = draw_read(rooms_stop + 62)
    region, stop = draw_region(read_stop + 62)
    height = stop + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        'aria-label="The rooms of readwarp, the way of a read and the way of a region">',
        "<!-- made by tests/helpers/architecture.py -->",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
        'orient="auto-start-reverse"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        f'<rect class="paper" width="{WIDTH}" height="{height:g}" rx="10"/>',
        heading(36, "Rooms", "An arrow is an import; one that follows from others is left out."),
        *rooms,
        heading(rooms_stop + 42, "A read", "In batches; below each step is what it makes."),
        *read,
        heading(read_stop + 42, "A region", "In windows of the reference; a substitution alone takes the upper way."),
        *region,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


# Rooms


def draw_rooms(top: float) -> tuple[list[str], float]:
    """Draw layers as rows, the last one as a bar; return the elements and where they end."""
    edges = reduced(room_imports())
    rows, pitch, whole = ordered(edges), 104.0, WIDTH - 2 * MARGIN
    x = columns(rows)
    places = {room: (x[room], top + pitch * level + BOX_HEIGHT / 2) for level, row in enumerate(rows) for room in row}
    widths = {room: whole if len(row) == 1 else min(200, whole / len(row) - 20) for row in rows for room in row}
    lines = [import_arrow(edge, edges, places, widths) for edge in sorted(edges)]
    for room, place in places.items():
        lines += box(place, (widths[room], BOX_HEIGHT), room, ROOMS[room])
    y = top + pitch * len(rows)
    lines += box((WIDTH / 2, y), (whole, BOX_HEIGHT), ", ".join(sorted(BAR)), "for all rooms")
    return lines, y + BOX_HEIGHT / 2


def columns(rows: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """x of each room in a centred row."""
    pitch = {len(row): min(WIDTH / 3.1, (WIDTH - 2 * MARGIN) / len(row)) for row in rows}
    return {room: WIDTH / 2 + (i - (len(row) - 1) / 2) * pitch[len(row)] for row in rows for i, room in enumerate(row)}


def room_imports() -> set[Edge]:
    """(importing room, imported room) in all layers except the last."""
    found = set()
    for path in SOURCES:
        here = room_of_file(path)
        found |= {(here, there) for module in imports(path) if (there := room_of(module)) and there != here}
    return {(a, b) for a, b in found if a in ROOMS and b in ROOMS}


def reduced(edges: set[Edge]) -> set[Edge]:
    """The edges without those that a longer path between the same rooms implies."""
    reach = set(edges)
    for middle, a, b in product(ROOMS, repeat=3):  # Warshall
        if (a, middle) in reach and (middle, b) in reach:
            reach.add((a, b))
    return {(a, b) for a, b in edges if not any((a, c) in reach and (c, b) in reach for c in ROOMS)}


def ordered(edges: set[Edge]) -> list[tuple[str, ...]]:
    """The rooms of each layer from left to right, ordered so that arrows are short and seldom cross."""
    drawn = sorted(edges)  # in one order, so that sums are rounded alike

    def cost(rows: Sequence[tuple[str, ...]]) -> float:
        x = columns(rows)
        bent = sum(abs(x[a] - x[b]) * (10 if abs(LEVEL[a] - LEVEL[b]) != 1 else 1) for a, b in drawn) / WIDTH * 3
        between = [edge for edge in drawn if LEVEL[edge[0]] != LEVEL[edge[1]]]
        return bent + sum((x[a] - x[c]) * (x[b] - x[d]) < 0 for (a, b), (c, d) in combinations(between, 2))

    return list(min(product(*(permutations(sorted(rooms)) for rooms in ROWS)), key=cost))


def import_arrow(edge: Edge, edges: Iterable[Edge], places: dict[str, Place], widths: dict[str, float]) -> str:
    """From the lower side of one room to the upper side of another, or between neighbours of a row."""
    (a, b), half = edge, BOX_HEIGHT / 2
    (x0, y0), (x1, y1) = places[a], places[b]
    if y0 == y1:
        side = 1 if x1 > x0 else -1
        return arrow(f"M{x0 + side * widths[a] / 2:g} {y0:g}H{x1 - side * (widths[b] / 2 + 1):g}")
    down = [(c, d) for c, d in sorted(edges) if places[c][1] != places[d][1]]
    leaving = sorted((d for c, d in down if c == a), key=lambda d: places[d][0])
    coming = sorted((c for c, d in down if d == b), key=lambda c: places[c][0])
    x1 += 26 * (coming.index(a) - (len(coming) - 1) / 2)
    x0 = x1 if widths[a] > WIDTH / 2 else x0 + 26 * (leaving.index(b) - (len(leaving) - 1) / 2)
    y0, y1 = y0 + half, y1 - half - 1
    return arrow(f"M{x0:g} {y0:g}C{x0:g} {y0 + 40:g} {x1:g} {y1 - 40:g} {x1:g} {y1:g}")


# Flows


def draw_read(top: float) -> tuple[list[str], float]:
    places = grid(READ, top, 0)
    size = ((WIDTH - 2 * MARGIN) / 7 - 20, BOX_HEIGHT)
    lines = [straight(places[a], places[b], size) for a, b in pairwise(READ)]
    for (a, b), text in READ_LOOPS.items():
        (x0, y), (x1, _) = places[a], places[b]
        low, middle = y + size[1] / 2, (x0 + x1) / 2
        bend = f"C{x1 - 32:g} {low + 26:g} {x0 + 32:g} {low + 26:g}"
        lines.append(arrow(f"M{x1 - 26:g} {low:g}{bend} {x0 + 26:g} {low + 1:g}"))
        lines.append(text_at(middle, low + 36, text, "small"))
    lines += boxes(READ, places, size)
    return lines, top + size[1] + 36


def draw_region(top: float) -> tuple[list[str], float]:
    pitch = 80.0
    places = grid(REGION, top, pitch)
    size = ((WIDTH - 2 * MARGIN) / 8 - 17, BOX_HEIGHT)
    lines = [straight(places[a], places[b], size) for way in REGION_WAYS for a, b in pairwise(way)]
    (x0, y0), (x1, y1) = (places[name] for name in REGION_DETOUR)
    half = size[1] / 2
    lines.append(arrow(f"M{x0:g} {y0 + half:g}V{y0 + half + 22:g}H{x1:g}V{y1 + half + 1:g}"))
    lines += boxes(REGION, places, size)
    return lines, top + pitch + size[1] + 22


def grid(steps: dict[str, Step], top: float, pitch: float) -> dict[str, Place]:
    """Centres of the boxes."""
    column = (WIDTH - 2 * MARGIN) / (1 + max(step.column for step in steps.values()))
    return {
        name: (MARGIN + (step.column + 0.5) * column, top + BOX_HEIGHT / 2 + step.row * pitch)
        for name, step in steps.items()
    }


def boxes(steps: dict[str, Step], places: dict[str, Place], size: Place) -> list[str]:
    return [
        line for name, step in steps.items() for line in box(places[name], size, step.folder.split("/")[-1], step.makes)
    ]


def straight(start: Place, stop: Place, size: Place) -> str:
    """From the side of a box to the facing side of another one in its row or its column."""
    (x0, y0), (x1, y1) = start, stop
    if y0 == y1:
        return arrow(f"M{x0 + size[0] / 2:g} {y0:g}H{x1 - size[0] / 2 - 1:g}")
    side = 1 if y1 > y0 else -1
    return arrow(f"M{x0:g} {y0 + side * size[1] / 2:g}V{y1 - side * (size[1] / 2 + 1):g}")


# Elements


def heading(y: float, title: str, text: str) -> str:
    rest = f'<tspan class="small" dx="14">{escape(text)}</tspan>'
    return f'<text class="title" x="{MARGIN}" y="{y:g}">{escape(title)}{rest}</text>'


def box(place: Place, size: Place, name: str, text: str) -> list[str]:
    (x, y), (width, height) = place, size
    corner = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}"'
    return [
        f'<rect class="box" {corner} rx="7"/>',
        text_at(x, y - 3, name, "name"),
        text_at(x, y + 15, text, "small"),
    ]


def text_at(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def arrow(path: str) -> str:
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def stale_names() -> set[str]:
    """Folders and types of READ and REGION that src/readwarp does not have."""
    steps = (*READ.values(), *REGION.values())
    classes = {name for path in SOURCES for name in re.findall(r"^class (\w+)", path.read_text(), re.M)}
    types = {name for step in steps for name in re.findall(r"\b[A-Z][a-z]\w+", step.makes)}
    return types - classes | {step.folder for step in steps if not (PACKAGE / step.folder).is_dir()}
