"""The image's entry point: readwarp's commands for people, whole commands for workflow engines."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "entrypoint.sh"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["align", "ref.fa", "a b.fq"], "readwarp:align:ref.fa:a b.fq"),
        (["--version"], "readwarp:--version"),
        ([], "readwarp"),
        (["readwarp", "call", "ref.fa"], "readwarp:call:ref.fa"),
        (["/bin/bash", "-c", "readwarp doctor"], "readwarp:doctor"),
        (["sh", "-c", "echo of its own"], "of its own"),
    ],
)
def test_what_is_run(words, said, tmp_path):
    tool = tmp_path / "readwarp"
    tool.write_text('#!/bin/bash\nIFS=:; echo "readwarp${*:+:$*}"\n')
    tool.chmod(0o755)
    surroundings = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", SCRIPT, *words], env=surroundings, text=True, capture_output=True)
    assert done.stdout.strip() == said
