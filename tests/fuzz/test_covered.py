"""Every argument and option that reads a file is in a campaign, or is said here not to be."""

import argparse
from pathlib import Path

import pytest

from readwarp.cli import build_parser

PLACES = ("--targets", "--exclude-regions")
ALIGNED, CALLED = ("--alt", "--adapter"), (*PLACES, "--alleles", "--primers", "--ploidy-bed")
KNOWN = ("--population", "--panel-of-normals")
CAMPAIGNS = {  # file -> command, and what is damaged there
    "test_bam": {"merge": ["alignments"], "align": ["reads"], "call": ["alignments"]},
    "test_call_outputs": {"call": ["alignments"], "report": ["--bam"], "run": ["reads"]},
    "test_known": {"panel": ["inputs"], "call": KNOWN},
    "test_lists": {
        "call": [*CALLED, "--file-list"],
        "genotype": ["--file-list"],
        "panel": ["--file-list"],
        "align": ALIGNED,
        "report": ["--vcf", "--metrics", "--reference", "--targets"],
    },
    "test_molecules": {"consensus": ["alignments"]},
    "test_reference": {"index": ["reference"], "pairwise": ["queries", "targets"]},
    "test_rwx": {"align": ["reference"], "call": ["reference"]},
    "test_vcf": {"genotype": ["inputs"]},
}
EXCEPTIONS = {  # why -> command, and what
    "align and call read it by the same code": {
        "run": ["reference", "--index", *ALIGNED, "--adapter2", *CALLED, *KNOWN]
    },
    "call reads them by the same code": {"genotype": ["reference", *PLACES]},
    "the index is read as reference, too": {"align": ["--index"], "doctor": ["--index"]},
    "as --adapter": {"align": ["--adapter2"]},
    "for CRAM, which htslib reads and writes; tests/fuzz/test_cram.py": {
        "merge": ["--reference"],
        "consensus": ["--reference"],
        "align": ["--input-reference"],
        "run": ["--input-reference"],
    },
    "a folder": {"report": ["folders"]},
}
WRITTEN = {"--output", "--log", "--metrics", "--bam-output", "--haplotag", "--consensus", "--sv", "--statistics"}
NAMED_OTHERWISE = {"--adapter", "--adapter2"}  # of what may be files and are not called FILE
NO_FILE = {("completion", "shell")}


def read_files():
    """(command, argument or option) of all that names a file to be read."""
    parser = build_parser(every=True)
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction)).choices
    for command, own in commands.items():
        for action in own._actions:
            name = next((option for option in action.option_strings if option[:2] == "--"), action.dest)
            is_written = name in WRITTEN and (command, name) != ("report", "--metrics")
            is_file = not action.option_strings or action.type is Path or action.metavar == "FILE"
            if (is_file or name in NAMED_OTHERWISE) and not is_written and (command, name) not in NO_FILE:
                yield command, name


def pairs(table):
    return [(command, name) for commands in table.values() for command, names in commands.items() for name in names]


def test_all_that_reads_a_file_is_in_a_campaign():
    assert {*read_files()} == {*pairs(CAMPAIGNS), *pairs(EXCEPTIONS)}
    assert not {*pairs(CAMPAIGNS)} & {*pairs(EXCEPTIONS)}


@pytest.mark.parametrize("file", CAMPAIGNS)
def test_campaigns_give_them(file):
    text = Path(__file__).with_name(f"{file}.py").read_text()
    short = {"--targets": "-L"}
    for command, names in CAMPAIGNS[file].items():
        given = [short.get(name, name) for name in names if name[:2] == "--"]
        assert [word for word in (command, *given) if f'"{word}"' not in text] == []
