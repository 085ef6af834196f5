"""A scheme of primers that is not that of the reads is told; metrics count what begins at a primer."""

import json

import pytest

from helpers.command_samples import run_main
from helpers.making import Read, random_sequence, write_bam, write_fasta

BASES = random_sequence(1200, 3)
STEP = 250  # bases between the starts of amplicons, which overlap by 50


@pytest.mark.parametrize(("shift", "at"), [(0, 160), (3, 160), (60, 0)])
@pytest.mark.parametrize("mode", [("--ploidy", "1"), ("--mixture",)])
def test_a_scheme_of_another_version(shift, at, mode, tmp_path, capsys):
    records, rows = [], []
    for low in range(0, 1000, STEP):
        for n in range(20):
            for start, flag in ((low, 99), (low + 150, 147)):
                read = Read(start, "150M", BASES[start : start + 150], (30,) * 150, flag, name=f"r{low}.{n}")
                records.append(("c", read))
        for start, side in ((low + shift, "LEFT"), (low + 280 - shift, "RIGHT")):
            rows.append(f"c\t{start}\t{start + 20}\tp_{low}_{side}\t1\t{'-' if side == 'RIGHT' else '+'}\n")
    fasta = write_fasta(tmp_path / "ref.fa", {"c": BASES})
    bam = write_bam(tmp_path / "x.bam", {"c": len(BASES)}, sorted(records, key=lambda each: each[1].position))
    (tmp_path / "p.bed").write_text("".join(rows))
    command = ["call", fasta, bam, *mode, "--primers", tmp_path / "p.bed", "-o", tmp_path / "x.vcf"]
    assert run_main([*command, "--metrics", tmp_path / "m.json", "-q"]) == 0
    counts = json.loads((tmp_path / "m.json").read_text())["counts"]
    assert (counts["reads_at_primers"], counts["reads_beside_primers"]) == (at, 160 - at)
    said = f"readwarp: {tmp_path}/p.bed: only 0 % of reads begin at a primer: does the scheme belong to this library?\n"
    assert capsys.readouterr().err == ("" if at else said)
    assert run_main([*command[:-4], "-q", "-o", tmp_path / "y.vcf", "--metrics", tmp_path / "m.json"]) == 0
    assert "reads_at_primers" not in json.loads((tmp_path / "m.json").read_text())["counts"]
