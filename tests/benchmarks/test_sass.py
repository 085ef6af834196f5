"""The machine code of the CUDA kernels, without a GPU: spills, instructions per cell, and how these are counted."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from compiled import listing
from compiled.cards import bound, cards, clocks, lanes
from compiled.compile import compiled, tool
from compiled.kernels import CAPABILITIES, CEILINGS, KERNELS
from compiled.occupancy import occupancy, warps_held

QUICK = (90,)
EACH = [pytest.param(n, marks=pytest.mark.cards if n in QUICK else pytest.mark.weekly) for n in CAPABILITIES]
needs_compilers = pytest.mark.skipif(
    find_spec("numba_cuda") is None or tool("ptxas") is None or tool("nvdisasm") is None,
    reason="needs numba-cuda, nvidia-cuda-nvcc and nvidia-cuda-nvdisasm",
)

REGISTERS = {  # by how a kernel's name begins
    "pairhmm float32": 176, "pairhmm float64": 255, "pairwise score ": 168, "pairwise trace x": 128, "": 96,
}  # fmt: skip
ON_STACK: dict[str, int] = {}  # bytes of arrays that a thread indexes
INSTRUCTIONS = {  # kernel, capability: per cell (pair of cells when packed) at most, of these on the ALU at most
    ("pairwise score s16x2 x 24", 90): (8.2, 5.8),  # 24 to 14 columns serve queries of 97 to 512 bases
    ("pairwise score s16x2 x 20", 90): (8.3, 5.8),
    ("pairwise score s16x2 x 16", 90): (8.4, 5.8),
    ("pairwise score s16x2 x 14", 90): (8.5, 5.8),
    ("pairwise score s16x2 x 10", 90): (8.9, 5.9),
    ("pairwise score half2 x 20", 90): (11.5, 5.9),
    ("pairwise score half2 x 24", 80): (12.0, 6.3),
    ("pairwise score half2 x 20", 80): (12.0, 6.4),
    ("pairwise score half2 x 16", 80): (12.4, 6.4),
    ("pairwise score half2 x 14", 80): (12.4, 6.4),
    ("pairwise score half2 x 10", 80): (12.8, 6.5),
    ("pairwise score int32 x 20", 90): (8.3, 5.9),
    ("pairwise trace x 8", 90): (21.0, 9.7),
    ("pairwise trace x 16", 90): (18.6, 8.7),
    ("pairwise trace x 32", 90): (17.5, 8.2),
    ("long link_stretches", 90): (62.0, 42.0),  # a link
    ("long fill_ends x 7", 90): (61.0, 45.5),
    ("pairhmm float32 x 20", 90): (6.3, 0.4),
    ("pairhmm float32 x 16", 90): (6.6, 0.5),
    ("pairhmm float32 x 12", 90): (7.1, 0.7),
    ("pairhmm float32 x 8", 90): (7.8, 1.0),
    ("pairhmm float64 x 10", 90): (8.4, 1.3),
    ("pairhmm float64 x 8", 90): (8.9, 1.6),
}


@pytest.mark.xdist_group("sass")  # each capability is compiled once
@needs_compilers
@pytest.mark.parametrize("capability", EACH)
def test_no_stack_and_no_spills(capability):
    codes = compiled(capability)
    assert len(codes) == sum(capability in kernel.capabilities for kernel in KERNELS)
    for name, code in codes.items():
        assert (code.spill_stores, code.spill_loads) == (0, 0), name
        assert code.stack == ON_STACK.get(name, 0) and (code.stack == 0 or not code.kernel.hot), name
        limit = next(limit for begin, limit in REGISTERS.items() if name.startswith(begin))
        assert code.registers <= limit, (name, code.registers)
        assert code.occupancy > 0, name
        listing.by_pipe(code.listing.instructions)  # knows them all


@pytest.mark.xdist_group("sass")  # each capability is compiled once
@needs_compilers
@pytest.mark.parametrize("capability", EACH)
def test_instructions_per_cell(capability):
    codes = compiled(capability)
    for name, of in INSTRUCTIONS:
        if of == capability:
            pipes, (most, most_on_alu) = codes[name].per_cell(), INSTRUCTIONS[name, of]
            assert sum(pipes.values()) <= most, (name, pipes)
            assert pipes["alu"] <= most_on_alu, (name, pipes)
    for name, code in codes.items():
        if code.kernel.loop:
            assert sum(code.per_cell().values()) > 1, name


@pytest.mark.xdist_group("sass")
@pytest.mark.cards
@needs_compilers
def test_ceilings_are_measured_with_the_instructions_they_name():
    for capability in QUICK:
        for code in compiled(capability, list(CEILINGS)).values():
            body = listing.hot_loop(code.listing, CEILINGS[code.kernel])
            assert listing.count(body, CEILINGS[code.kernel]) > 0.95 * len(body), code.kernel.name
            assert listing.count(body, CEILINGS[code.kernel]) % 128 == 0, code.kernel.name


def test_each_limit_is_of_a_kernel():
    names = {kernel.name for kernel in KERNELS}
    assert len(names) == len(KERNELS)
    assert names >= {name for name, _ in INSTRUCTIONS} | set(ON_STACK)


TEXT = """
.text.kernel:
.L_x_0:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_9) ;
.L_x_1:
        /*0020*/                   VIADDMNMX.S16x2.RELU R4, R4, R5, R6, !PT ;
        /*0030*/                   SHFL.UP PT, R7, R4, 0x1, RZ ;
.L_x_2:
        /*0040*/                   FFMA R8, R8, R7, R9 ;
        /*0050*/                   IMAD.MOV.U32 R9, RZ, RZ, R8 ;
        /*0060*/               @P1 EXIT ;
        /*0070*/               @P2 BRA `(.L_x_2) ;
        /*0080*/                   ISETP.GE.AND P0, PT, R0, R3, PT ;
        /*0090*/              @!P0 BRA `(.L_x_1) ;
        /*00a0*/                   EXIT ;
.L_x_9:
        /*00b0*/                   ULDC.64 UR4, c[0x0][0x118] ;
        /*00c0*/                   BRA `(.L_x_1) ;
.L_x_10:
        /*00d0*/                   BRA `(.L_x_10);
"""


def test_innermost_loops_alone():
    found = listing.read(TEXT)
    assert [each.opcode for each in found.instructions][-3:] == ["ULDC", "BRA", "BRA"]
    assert [each.predicate for each in found.instructions if each.opcode == "EXIT"] == ["@P1 ", ""]
    assert found.loops == ((4, 7),)  # not the outer one, the way back from rare code, the idle jump
    body = listing.hot_loop(found, "FFMA")
    assert [each.opcode for each in body] == ["FFMA", "IMAD", "EXIT", "BRA"]
    counts = listing.by_pipe(body)
    assert {pipe: n for pipe, n in counts.items() if n} == {"fma": 1, "imad": 1, "control": 2}
    assert listing.count(found.instructions, r"VIADDMNMX\.S16x2") == 1
    with pytest.raises(LookupError, match="no loop with DFMA"):
        listing.hot_loop(found, "DFMA")


def test_pipes():
    expected = {"VIMNMX3": "alu", "PRMT": "alu", "HADD2": "half", "IMAD": "imad", "LDS": "memory", "SHFL": "memory"}
    expected |= {"UIADD3": "uniform", "R2UR": "uniform", "BSSY": "control", "DFMA": "fp64", "MUFU": "special"}
    assert {opcode: listing.pipe_of(opcode) for opcode in expected} == expected
    with pytest.raises(LookupError, match="WARPDANCE"):
        listing.pipe_of("WARPDANCE")


@pytest.mark.parametrize(
    ("capability", "registers", "shared", "threads", "warps"),
    [
        (75, 64, 0, 128, 32),
        (75, 32, 32768, 64, 4),
        (80, 32, 0, 32, 32),  # 32 blocks at most
        (80, 64, 0, 128, 32),
        (80, 65, 0, 128, 28),  # 72 registers each in fact
        (80, 255, 0, 128, 8),
        (86, 40, 0, 96, 48),
        (89, 48, 0, 128, 40),
        (90, 168, 0, 64, 12),
        (90, 128, 49152, 256, 16),
        (90, 32, 100 * 1024, 128, 8),
        (120, 40, 0, 256, 48),
    ],
)
def test_warps_as_the_occupancy_calculator_has_them(capability, registers, shared, threads, warps):
    assert warps_held(capability, registers, shared, threads) == warps


def test_bounds_of_cards():
    rate = {card.name: card.multiprocessors * card.clock * 2 * lanes(card.capability)["fma"] for card in cards()}
    published = {"T4": 8.1, "A100 SXM": 19.5, "L4": 30.3, "L40S": 91.6, "H100 SXM": 66.9, "RTX 5090": 104.8}
    for name, tera in published.items():  # of 10^12 FP32 operations per second
        assert rate[name] / 1000 == pytest.approx(tera, rel=0.01), name
    assert {card.capability for card in cards()} == set(CAPABILITIES)
    h200 = next(card for card in cards() if card.name == "H200 SXM")
    counts = dict.fromkeys(listing.PIPES, 0.0) | {"alu": 5.5, "fma": 1.5}
    assert clocks(counts, 90) == (5.5 / 64, "alu")
    assert bound(h200, counts, packed=2) == (pytest.approx(132 * 1.98 * 2 * 64 / 5.5), "alu")
    assert clocks(dict.fromkeys(listing.PIPES, 0.0) | {"fma": 96, "imad": 32, "half": 64}, 89) == (1.5, "fma")
    assert occupancy(90, 168, 0, 64) == 12 / 64
