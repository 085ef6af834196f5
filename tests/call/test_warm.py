"""Before windows are called, every kernel of calling is on every card; then no thread has to load one."""

import numpy as np
import pytest
from numba.cuda.cudadrv.driver import Context

from helpers.cards import two_cards
from readwarp.call import pipeline, warm
from readwarp.call.pairhmm import cuda as pairhmm
from readwarp.call.pairhmm.cuda_pairs import shape_table
from readwarp.call.pairhmm.precision import FLOAT32, FLOAT64
from readwarp.call.pileup import cuda as pileup
from readwarp.call.window import Caller
from readwarp.config import CallParameters, Resources
from readwarp.device.backend import Backend
from readwarp.device.workspaces import Workspaces
from readwarp.metrics import Metrics

pytestmark = two_cards

BOTH, PARAMETERS = Backend("cuda", (0, 1)), CallParameters()


@pytest.fixture
def workspaces():
    made = Workspaces(BOTH, 1, 32 << 20)
    yield made
    made.close()


def test_nothing_is_left_to_be_loaded(workspaces, monkeypatch):
    """Whatever the lengths of reads are, and with events that are moved or without."""
    warm.warm_up(BOTH, workspaces, PARAMETERS)
    loads, load = [], Context.create_module_image
    monkeypatch.setattr(Context, "create_module_image", lambda *given: loads.append(given) or load(*given))
    rows, reads = warm.rows_of_all_lengths(), warm.read_with_insertion()
    lengths = np.diff(rows.offsets)
    for device in BOTH.devices:
        with BOTH.on(device):
            pileup.count_window(reads, warm.REFERENCE, 0, warm.REFERENCE.size, PARAMETERS)
            for read in range(lengths.size):
                haplotype = np.array([0, 700], np.int64)
                one, none = np.array([read]), np.zeros(1, np.int64)
                pairhmm.log_likelihoods(rows, warm.REFERENCE[:700], haplotype, one, none)
    assert loads == []
    for precision in (FLOAT32, FLOAT64):
        table = shape_table(precision)
        met = table[lengths[lengths < table.size]]
        assert set(met // 100) | {0} == set(table // 100)  # rows of a thread, by which kernels differ


def test_calling_is_warmed_up_on_each_card_before_the_first_window(tmp_path, monkeypatch):
    from readwarp.cli.precompile import TinyGenome, letters, write_alignments

    genome, order = TinyGenome.make(), []
    reference, alignments = tmp_path / "ref.fa", tmp_path / "reads.bam"
    reference.write_text(f">tiny\n{letters(genome.bases)}\n")
    write_alignments(genome, alignments)
    call = Caller.call
    monkeypatch.setattr(pipeline, "warm_up", lambda backend, *others: order.append(backend.devices))
    monkeypatch.setattr(Caller, "call", lambda self, window: order.append("call") or call(self, window))
    resources = Resources(device="cuda:0,1")
    pipeline.call_variants(reference, alignments, str(tmp_path / "o.vcf"), PARAMETERS, resources, Metrics())
    assert order[0] == (0, 1) and "call" in order[1:]
