"""The model of time (benchmarks/model.py): what an emulated card counts, and what the model makes of it."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
import emulated_card
from emulated_card.counted import Launched, take_launches
from helpers.cards import HAS_GPU
from readwarp.device.cuda_jit import cuda

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from compiled import listing
from compiled.cards import cards, lanes, latencies
from compiled.compile import tool
from compiled.kernels import CAPABILITIES
from modelled import bounds, machine
from modelled.flow import threads_of
from modelled.kernels import Kernel, kernels_of, short
from modelled.waits import clocks_of, registers_of

pytestmark = [
    pytest.mark.cards,
    pytest.mark.skipif(HAS_GPU, reason="counts of an emulated card"),
    pytest.mark.skipif(tool("ptxas") is None or tool("nvdisasm") is None, reason="needs ptxas and nvdisasm"),
]
H100 = next(card for card in cards() if card.name == "H100 SXM")


def counted(kernel, grid: int, block: int, *arrays: np.ndarray) -> Launched:
    """What a launch asked of the card."""
    there = [cuda.to_device(array) if isinstance(array, np.ndarray) else array for array in arrays]
    take_launches()
    emulated_card.set_checks(emulated_card.options.CHECKS["accesses"])
    try:
        kernel[grid, block](*there)
        cuda.synchronize()
    finally:
        emulated_card.set_checks(0)
    (found,) = take_launches()
    return found


@cuda.jit
def strided(values, out, stride):
    thread = cuda.grid(1)
    out[thread] = values[thread * stride]


@pytest.mark.parametrize(("stride", "sectors", "lines"), [(0, 1, 1), (1, 4, 1), (2, 8, 2), (8, 32, 8), (32, 32, 32)])
def test_sectors_and_lines_of_a_warp(stride, sectors, lines):
    values = np.zeros(64 * 32, np.int32)
    found = counted(strided, 2, 32, values, np.zeros(64, np.int32), stride)
    read, write = found.traffic["read"], found.traffic["write"]
    assert (read.requests, read.threads, read.sectors, read.lines) == (2, 64, 2 * sectors, 2 * lines)
    assert (read.of_blocks, read.of_launch) == (2 * sectors, sectors if stride == 0 else 2 * sectors)
    assert (write.requests, write.sectors, write.of_launch) == (2, 8, 8)


@cuda.jit
def banked(stride, wide, out):
    numbers, doubles = cuda.shared.array(1024, np.int32), cuda.shared.array(1024, np.float64)
    thread = cuda.threadIdx.x
    if wide:
        doubles[(thread * stride) % 1024] = 1.0
    else:
        numbers[(thread * stride) % 1024] = 1
    cuda.syncthreads()
    out[thread] = numbers[0] + doubles[0]


@pytest.mark.parametrize(
    ("stride", "wide", "passes"), [(1, 0, 1), (2, 0, 2), (3, 0, 1), (32, 0, 32), (0, 0, 1), (1, 1, 2), (2, 1, 4)]
)
def test_passes_through_shared_memory(stride, wide, passes):
    found = counted(banked, 1, 32, stride, wide, np.zeros(32))
    loads = 1 + 2  # of one word: one pass for the number, one for each half of the warp for the double
    assert (found.shared_requests, found.shared_passes - loads) == (3, passes)
    assert found.shared_least == loads + (2 if wide else 1)


@cuda.jit
def branching(out, limit):
    thread = cuda.grid(1)
    if thread % 32 < limit:
        value = 0
        for i in range(out.size):
            value = value * 3 + out[i]
        out[thread] = value


@pytest.mark.parametrize("limit", [8, 32])
def test_threads_of_a_divergent_warp(limit):
    found = counted(branching, 1, 64, np.zeros(640, np.int64), limit)
    (kernel,) = kernels_of([found], folder())
    per_run = kernel.instructions().sum(1)
    warps, threads = found.counts.T @ per_run
    assert threads / warps == pytest.approx(limit, rel=0.1)
    assert (found.counts[0] == (2, 64)).all()


def test_the_slowest_block_is_that_with_most_to_do():
    @cuda.jit
    def uneven(out):
        value = 0
        for i in range(100 if cuda.blockIdx.x == 3 else 1):
            value = value * 3 + out[i % out.size]
        out[cuda.grid(1)] = value

    found = counted(uneven, 8, 32, np.zeros(256, np.int64))
    assert found.slowest[:, 0].sum() > found.counts[:, 0].sum() / 2
    assert found.slowest[0, 0] == 1 and found.counts[0, 0] == 8


def folder() -> Path:
    from compiled.compile import kept

    return kept(90).parent / "counted"


@cuda.jit
def summed(values, rounds, out):
    """Ten multiply-adds a round. ptxas unrolls the loop and leaves a rest."""
    thread = cuda.grid(1)
    x, y = values[0], values[1]
    total = values[2]
    for _ in range(rounds):
        for _ in range(10):
            total = cuda.fma(total, x, y)
    out[thread] = total


@pytest.mark.parametrize("rounds", [1, 3, 4, 101])
def test_multiply_adds_of_an_unrolled_loop(rounds):
    found = counted(summed, 4, 64, np.ones(4, np.float32), np.int32(rounds), np.zeros(256, np.float32))
    (kernel,) = kernels_of([found], folder())
    copies = listing.count((each for block in kernel.machine.blocks for each, _ in block.instructions), "FFMA")
    ran = float(kernel.counts[:, 0] @ kernel.opcodes("FFMA"))
    assert copies > 10  # unrolled
    assert ran == pytest.approx(10 * rounds * 8, rel=0.02)


def test_lines_change_no_instruction():
    found = counted(summed, 1, 32, np.ones(4, np.float32), np.int32(1), np.zeros(32, np.float32))
    plain, _ = machine.disassembled(found.text)
    lined, _ = machine.disassembled(machine.with_lines(found.text), "-lineinfo")
    assert listing.read(plain).instructions == listing.read(lined).instructions
    blocks = machine.read(lined)
    known = {line for block in blocks for each, line in block.instructions if each.opcode == "FFMA"}
    text = found.text.split("\n")
    assert known and all("fma" in text[line - 1] for line in known)


LISTING = """
        /*0000*/                   LDG.E R2, desc[UR4][R4.64] ;
        /*0010*/              @P0 BRA `(.L_x_1) ;
.L_x_0:
        /*0020*/                   FFMA R3, R2, R2, R3 ;
        /*0030*/                   FADD R6, R7, R8 ;
        /*0040*/              @P1 BRA `(.L_x_0) ;
.L_x_1:
        /*0050*/                   STG.E desc[UR4][R4.64], R3 ;
        /*0060*/                   EXIT ;
.L_x_2:
        /*0070*/                   BRA `(.L_x_2);
"""


def test_blocks_of_a_listing():
    blocks = machine.read(LISTING)
    assert [len(block.instructions) for block in blocks] == [2, 3, 2]
    named = {block.instructions[0][0].opcode: block for block in blocks}
    assert sorted(blocks[aim].instructions[0][0].opcode for aim in blocks[0].following) == ["FFMA", "STG"]
    assert named["STG"].ends and not named["STG"].following and not named["FFMA"].ends


def test_a_jump_through_a_table_leads_to_all_its_aims():
    jump = '@P0 BRX R16 -0xa50  (*"BRANCH_TARGETS .L_x_1,.L_x_2"*);'
    code = LISTING.replace("@P1 BRA `(.L_x_0) ;", jump)
    blocks = machine.read(code)
    (block,) = (block for block in blocks if block.instructions[-1][0].opcode == "BRX")
    aims = [blocks[aim].instructions[0][0].opcode for aim in block.following]
    assert sorted(aims) == ["BRA", "STG", "STG"]  # the second time, because some threads pass by


def test_a_jump_that_is_not_known_is_named():
    with pytest.raises(LookupError, match="BRX"):
        machine.read('        /*0000*/                   BRX R2 -0x10 (*"INDIRECT"*);\n')


def test_threads_from_lines():
    blocks = machine.read(LISTING)
    for number, block in enumerate(blocks):  # a line for each instruction
        block.instructions[:] = [(each, 10 * number + i + 1) for i, (each, _) in enumerate(block.instructions)]
    loop = next(n for n, block in enumerate(blocks) if block.instructions[0][0].opcode == "FFMA")
    ran = {line: 100.0 for block in blocks for _, line in block.instructions}
    ran |= {line: 5000.0 for _, line in blocks[loop].instructions}
    ran[10 * loop + 2] = 100.0  # an instruction that was moved out of the loop, or so its line says
    found = threads_of(blocks, ran, 100.0)
    assert found[loop] == pytest.approx(5000, rel=0.01) and found[0] == pytest.approx(100, rel=0.01)
    assert found.sum() == pytest.approx(5200, rel=0.01)


def instruction(text: str) -> listing.Instruction:
    (found,) = listing.read(f"        /*0000*/                   {text} ;").instructions
    return found


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("IADD3 R5, P1, R4, 0x1, RZ", {"R5", "P1"}, {"R4"}),
        ("ISETP.GE.AND P0, PT, R2, R3, P2", {"P0"}, {"R2", "R3", "P2"}),
        ("LDG.E.64 R2, desc[UR4][R6.64+0x8]", {"R2", "R3"}, {"UR4", "R6", "R7"}),
        ("STS.128 [R4+UR5], R8", set(), {"R4", "UR5", "R8"}),
        ("SHFL.UP PT, R5, R4, 0x1, RZ", {"R5"}, {"R4"}),
        ("SEL R2, R3, R4, P0", {"R2"}, {"R3", "R4", "P0"}),
    ],
)
def test_registers_of_an_instruction(text, written, read):
    assert registers_of(instruction(text)) == (written, read)


def block_of(*texts: str, loops: bool = False) -> machine.Block:
    return machine.Block([(instruction(text), 0) for text in texts], [0] if loops else [])


def test_clocks_of_chains_loads_and_loops():
    latency = {**latencies(90), "global": 500.0}
    chain = block_of(*["FADD R2, R2, R3"] * 10)
    beside = block_of(*(f"FADD R{n}, R30, R31" for n in range(10)))
    assert clocks_of(chain, 1, latency) == 10 * latency["arithmetic"]
    assert clocks_of(beside, 1, latency) == 9 + latency["arithmetic"]
    loads = block_of("LDG.E R2, [R8.64]", "LDG.E R3, [R8.64+0x4]", "FADD R4, R2, R3")
    assert clocks_of(loads, 1, latency) == 501 + latency["arithmetic"]
    ahead = block_of("FADD R4, R2, R4", "LDG.E R2, [R8.64]", loops=True)  # what the next turn uses
    assert clocks_of(ahead, 0, latency) == 501


def test_what_bounds_a_launch():
    found = counted(summed, 4, 64, np.ones(4, np.float32), np.int32(400), np.zeros(256, np.float32))
    (kernel,) = kernels_of([found], folder())
    made = bounds.times(kernel, H100)
    turns = 4000 * latencies(90)["arithmetic"]  # one after the other: each needs the one before
    assert made.bound in ("latency", "longest") and made.alone >= turns / H100.clock * 1e-3
    assert made.alone == pytest.approx(turns / H100.clock * 1e-3, rel=0.2)
    assert made.shared < made.alone / 100  # eight warps on 132 multiprocessors
    wide = counted(summed, 132 * 16, 128, np.ones(4, np.float32), np.int32(4), np.zeros(132 * 16 * 128, np.float32))
    (full,) = kernels_of([wide], folder())
    assert bounds.times(full, H100).by["issue"] > 100 * bounds.times(kernel, H100).by["issue"] / 132 / 50


def test_twice_the_work_takes_twice_as_long():
    """This concerns the bounds that count work: a launch's own counts are used, not those of all launches."""
    some = [
        counted(summed, 264, 64, np.ones(4, np.float32), np.int32(rounds), np.zeros(264 * 64, np.float32))
        for rounds in (100, 200)
    ]
    (kernel,) = kernels_of(some, folder())
    each = [bounds.times(Kernel(**{**fields(kernel), "launches": [launch]}), H100) for launch in some]
    assert each[1].by["pipe"] == pytest.approx(2 * each[0].by["pipe"], rel=0.05)
    assert sum(one.by["issue"] for one in each) == pytest.approx(bounds.times(kernel, H100).by["issue"])


def fields(kernel: Kernel) -> dict[str, object]:
    return {name: getattr(kernel, name) for name in Kernel.__slots__}


def test_each_capability_has_rates_and_latencies():
    for capability in CAPABILITIES:
        assert lanes(capability)["issue"] == 128
        known = latencies(capability)
        assert known["arithmetic"] < known["shared"] <= known["first_level"] < known["second_level"] < known["memory"]


def test_names_of_kernels():
    assert short("_ZN8readwarp5align6extend5steps7put_end4gridB3v1E") == "put_end"
    assert short("_ZN8readwarp5align7records4tags8put_tags5apart4gridB3v1E") == "put_tags.apart"
    assert short("_ZN8readwarp5align4seed4cuda7look_upB2v8B104cw51E5ArrayIyLi1E") == "look_up"
    assert (
        short("_ZN8readwarp8pairwise10cuda_trace12trace_kernel12_3clocals_3e15fill_directionsB3v8E")
        == "fill_directions"
    )
