"""readwarp report on the command line."""

import json
import shutil

import pytest

from helpers.made_samples import build
from readwarp.cli import main


def run_main(*words) -> int:
    return main([str(word) for word in words])


@pytest.fixture
def made_texts(made, page, tmp_path):
    """A copy of the folder with its texts, so that no tool need run."""
    target = tmp_path / "results"
    shutil.copytree(made.folder, target)
    (target / "report.html").unlink()
    return target


def test_a_folder(made_texts, capsys):
    assert run_main("report", made_texts, "--title", "Mine") == 0
    assert capsys.readouterr().out == f"{made_texts / 'report.html'}\n"
    assert "<h1>Mine</h1>" in (made_texts / "report.html").read_text()
    assert run_main("report", made_texts) == 2
    assert "already exists" in capsys.readouterr().err
    assert run_main("report", made_texts, "--force", "-q") == 0
    assert capsys.readouterr().out == ""


def test_numbers_for_multiqc_lie_beside_the_metrics(made_texts):
    assert run_main("report", made_texts, "-q") == 0
    general, phases = (json.loads((made_texts / f"x.readwarp{part}_mqc.json").read_text()) for part in ("", "_phases"))
    assert general["data"] == {
        "x": {
            "reads_per_second": 12345,
            "wall_seconds": 4.5,
            "peak_memory_gb": 1.5,
            "mean_depth": 30.5,
            "variants_pass": 6,
        }
    }
    assert phases["data"]["x"] == {"start": 1.0, "align": 2.0, "sort": 0.5, "call": 1.0}


def test_two_folders_and_a_named_file(made_texts, tmp_path):
    shutil.copytree(made_texts, tmp_path / "other")
    vcf = made_texts / "x.vcf"
    named = shutil.copy(vcf, tmp_path / "named.vcf")
    page = tmp_path / "page.html"
    words = [made_texts, tmp_path / "other", "--vcf", named, "--statistics", tmp_path, "-o", page, "-q", "-t", "2"]
    assert run_main("report", *words) == 0
    text = page.read_text()
    for name in ("results/x", "other/x", "named"):
        assert f'">{name}</a></th>' in text
    assert "<h1>3 samples</h1>" in text
    for name in ("named.vcf.stats.txt", "results_x.stats.txt", "other_x.vcf.stats.txt", "other_x.readwarp_mqc.json"):
        assert (tmp_path / name).is_file()


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        ([], 2, "nothing to report"),
        (["--bam", "a.bam", "--bam", "b.bam", "--vcf", "a.vcf", "-o", "x.html"], 2, "equal numbers of --bam, --vcf"),
        (["--bam", "absent.bam", "-o", "x.html"], 3, "absent.bam"),
    ],
)
def test_refusals(tmp_path, monkeypatch, capsys, words, code, reason):
    monkeypatch.chdir(tmp_path)
    assert run_main("report", *words) == code
    assert reason in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_fails_leaves_no_page(tmp_path, capsys):
    folder = build(tmp_path / "results").folder
    (folder / "x.vcf").write_text("no VCF\n")
    before = sorted(folder.iterdir())
    assert run_main("report", folder, "-q", "-t", "1") == 3
    assert f"{folder / 'x.vcf'}: bcftools view: " in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "text",
    [
        '{"counts": 5}',
        '{"phase_seconds": {"align": "x"}}',
        '{"gpu": [1]}',
        '{"wall_seconds": 1e999}',
        "[" * 100_000,
        "{",
    ],
)
def test_metrics_that_cannot_be(made_texts, capsys, text):
    (made_texts / "metrics.json").write_text(text)
    assert run_main("report", made_texts) == 3
    assert f"{made_texts / 'metrics.json'}: is not a metrics file of readwarp" in capsys.readouterr().err


def test_metrics_that_are_none(made_texts, capsys):
    (made_texts / "metrics.json").write_text("[1]")
    assert run_main("report", made_texts) == 3
    assert "metrics.json: is not a metrics file" in capsys.readouterr().err
