"""Before windows are called, every kernel of calling is on every card, so no thread has to load one later."""

from contextlib import closing

import numpy as np
import pysam
import pytest

pytest.importorskip("numba_cuda")

from helpers.cards import two_cards
from helpers.command_samples import letters
from helpers.jobs import call_variants
from readwarp.call.likelihoods.pairhmm import cuda as pairhmm
from readwarp.call.likelihoods.pairhmm.cuda import shape_table
from readwarp.call.likelihoods.pairhmm.scalar import FLOAT32, FLOAT64
from readwarp.call.windows.resources import plan_card
from readwarp.call.windows.run import Calling
from readwarp.config import CallParameters, Resources
from readwarp.device import cuda_driver
from readwarp.device.backend import Backend
from readwarp.metrics import Metrics
from readwarp.stream.cards import open_cards

pytestmark = [pytest.mark.cards, two_cards]

BOTH, PARAMETERS = Backend("cuda", (0, 1)), CallParameters()


def test_nothing_is_left_to_be_loaded(monkeypatch):
    """This holds for reads of any length."""
    with closing(open_cards(BOTH, plan_card, 64 << 20, lambda side, _: side, Metrics())) as cards:
        cards.warm_up(pairhmm.warm_up)
    loads, load = [], cuda_driver.load
    monkeypatch.setattr(cuda_driver, "load", lambda code: loads.append(code) or load(code))
    rows = pairhmm.rows_of_all_lengths()
    lengths = np.diff(rows.offsets)
    for device in BOTH.devices:
        with BOTH.on(device):
            for read in range(lengths.size):
                haplotype = np.array([0, 700], np.int64)
                one, none = np.array([read]), np.zeros(1, np.int64)
                pairhmm.log_likelihoods(rows, pairhmm.REFERENCE[:700], haplotype, one, none)
    assert loads == []
    for precision in (FLOAT32, FLOAT64):
        table = shape_table(precision)
        met = table[lengths[lengths < table.size]]
        assert set(met // 100) | {0} == set(table // 100)  # rows of a thread, by which kernels differ


def test_calling_is_warmed_up_on_each_card_before_the_first_window(tmp_path, monkeypatch):
    genome, order = letters(2000, 1), []
    reference, alignments = tmp_path / "ref.fa", tmp_path / "reads.bam"
    reference.write_text(f">tiny\n{genome}\n")
    write_alignments(genome, alignments)
    call = Calling.call
    monkeypatch.setattr(pairhmm, "warm_up", lambda backend, *others: order.append(cuda_driver.current_device()))
    monkeypatch.setattr(Calling, "call", lambda self, window: order.append("call") or call(self, window))
    call_variants(reference, alignments, tmp_path / "o.vcf", PARAMETERS, Resources(device="cuda:0,1"))
    assert order[:2] == [0, 1] and "call" in order[2:]


def write_alignments(genome, path):
    """Reads of the genome with a deletion of three bases."""
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "tiny", "LN": len(genome)}]}
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for start in range(900, 1000, 5):
            read = pysam.AlignedSegment(out.header)
            read.query_name, read.mapping_quality = f"r{start}", 60
            read.query_sequence = genome[start:1000] + genome[1003 : start + 103]
            read.query_qualities = pysam.qualitystring_to_array("I" * 100)
            read.reference_id, read.reference_start = 0, start
            read.cigarstring = f"{1000 - start}M3D{start - 900}M" if start > 900 else "100M"
            out.write(read)
    pysam.index(str(path))
