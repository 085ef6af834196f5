"""MultiQC reads what lies beside the BAM and the VCF (slow: it is a large program)."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_multiqc_reads_every_text(made, page, tmp_path):
    pytest.importorskip("multiqc", reason="needs MultiQC: pip install '.[dev]'")
    command = [sys.executable, "-m", "multiqc", "--quiet", "--outdir", str(tmp_path), str(made.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "multiqc_data" / "multiqc_data.json").read_text())
    found = data["report_saved_raw_data"]
    tables = ("samtools_stats", "samtools_flagstat", "samtools_idxstats", "bcftools_stats", "readwarp_phases_plot")
    assert all(list(found[f"multiqc_{table}"]) == ["x"] for table in tables)
    assert found["multiqc_samtools_stats"]["x"]["reads_mapped"] == 1140
    assert found["multiqc_bcftools_stats"]["x"]["number_of_SNPs"] == 3
    assert found["multiqc_readwarp_phases_plot"]["x"]["align"] == 2.0
    general = data["report_general_stats_data"]
    assert {"reads_per_second": 12345, "variants_pass": 6}.items() <= general["custom_content"]["x"].items()
