"""MultiQC reads what lies beside the BAM and the VCF, and runs our module (slow: it is a large program)."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


PLUGIN = Path(__file__).parents[2] / "packaging" / "multiqc"


def run_multiqc(folder: Path, output: Path, *python_path: Path) -> dict:
    """The content of multiqc_data.json."""
    pytest.importorskip("multiqc", reason="needs MultiQC: pip install '.[workflows]'")
    command = [sys.executable, "-m", "multiqc", "--quiet", "--outdir", str(output), str(folder)]
    path = os.pathsep.join([*map(str, python_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads((output / "multiqc_data" / "multiqc_data.json").read_text())


def test_multiqc_reads_every_text(made, page, tmp_path):
    data = run_multiqc(made.folder, tmp_path)
    found = data["report_saved_raw_data"]
    tables = ("samtools_stats", "samtools_flagstat", "samtools_idxstats", "bcftools_stats", "readwarp_phases_plot")
    assert all(list(found[f"multiqc_{table}"]) == ["x"] for table in tables)
    assert found["multiqc_samtools_stats"]["x"]["reads_mapped"] == 1140
    assert found["multiqc_bcftools_stats"]["x"]["number_of_SNPs"] == 3
    assert found["multiqc_readwarp_phases_plot"]["x"]["align"] == 2.0
    general = data["report_general_stats_data"]
    assert {"reads_per_second": 12345, "variants_pass": 6}.items() <= general["custom_content"]["x"].items()


def test_our_module_takes_the_place_of_custom_content(made, page, tmp_path):
    """Installed as `pip install` would install it, with the entry points of its pyproject.toml."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    installed = tmp_path / "site" / f"multiqc_readwarp-{project['version']}.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    )
    (installed / "entry_points.txt").write_text("\n".join(groups))
    data = run_multiqc(made.folder, tmp_path / "out", installed.parent, PLUGIN)
    general = data["report_general_stats_data"]
    assert "custom_content" not in general
    (row,) = general["readwarp"].values()
    assert row["variants"] == 6 and row["depth"] == 30.5 and row["reads_per_second"] == 12345 and row["memory"] == 1.5
    found = data["report_saved_raw_data"]
    assert list(found["multiqc_readwarp"]) == [made.folder.name]
    assert {"readwarp_phases_plot", "readwarp_variants_plot"} <= set(data["report_plot_data"])
    assert data["report_data_sources"]["readwarp"]
