"""Completion scripts: each shell accepts its own, and bash then knows commands, options and values."""

import shutil
import subprocess

import pytest

from helpers.command_samples import run_main


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_scripts_name_every_command(shell, capsys):
    assert run_main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("run", "align", "merge", "call", "mark-duplicates"):
        assert word in script
    if shutil.which(shell) and shell != "tcsh":
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [("readwarp al", "align"), ("readwarp align --so", "--sort"), ("readwarp align --sort n", "none")],
)
def test_bash_completes(words, expected, capsys):
    assert run_main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    typed = words.split()
    asked = f"""
    COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; COMP_LINE="{words}"; COMP_POINT={len(words)}
    function_name=$(complete -p readwarp | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    $function_name readwarp "{typed[-1]}" "{typed[-2]}" 2>/dev/null; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script + asked], capture_output=True, text=True, check=True)
    assert expected in done.stdout.split()
