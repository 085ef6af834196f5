"""Progress for who works in Python: bars of a notebook and a terminal, and nothing that nobody asked for."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from readwarp.errors import OutputExistsError, UsageError
from readwarp.stream import display
from readwarp.stream.display import reporting
from readwarp.stream.reporter import Progress


@pytest.fixture
def shown(monkeypatch):
    """A notebook whose outputs are kept: a list of what each shows, one after the other."""
    outputs: list[list[dict[str, str]]] = []

    def show(bundle, *, raw, display_id):
        assert raw and display_id
        outputs.append([bundle])
        return SimpleNamespace(update=lambda bundle, raw: outputs[-1].append(bundle))

    module, ipython = ModuleType("IPython.display"), ModuleType("IPython")
    module.display, ipython.display = show, module
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(display, "INTERVAL", 0.0)
    return outputs


def work(progress):
    with reporting("readwarp align", progress) as reporter:
        with reporter.progress("aligning", "reads") as meter:
            meter.advance(1000, 0.25)
            meter.advance(1000, 0.5)
        with reporter.progress("calling", "bases") as meter:
            meter.advance(7)


def test_a_notebook_shows_one_bar(shown, capsys):
    work(None)
    (bar,) = shown
    texts = [bundle["text/plain"] for bundle in bar]
    assert [text.rpartition(",")[0] for text in texts[:3]] == [
        "aligning: 1,000 reads (25%)", "aligning: 2,000 reads (50%)", "calling: 7 bases",
    ]  # fmt: skip
    assert texts[3].startswith("done after 0.") and texts[3].endswith("(calling: 7 bases)")
    assert bar[0]["text/html"].startswith('<progress max="1" value="0.250"></progress> aligning')
    assert bar[2]["text/html"].startswith('<progress max="1"></progress> calling')
    assert bar[3]["text/html"].startswith('<progress max="1" value="1.000">')
    assert capsys.readouterr() == ("", "")


def test_a_notebook_says_where_a_job_stopped(shown):
    with pytest.raises(UsageError), reporting("readwarp align", None) as reporter:
        with reporter.progress("aligning", "reads") as meter:
            meter.advance(5)
        raise UsageError("no")
    assert shown[0][-1]["text/plain"].startswith("stopped after 0.")


def test_functions_and_false_show_no_bar(shown):
    seen: list[Progress] = []
    work(seen.append)
    work(False)
    assert len(seen) == 3 and not shown


def test_scripts_are_silent_unless_asked(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    work(None)
    assert capsys.readouterr() == ("", "")
    work(True)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and [line.partition(":")[0] for line in lines[:2]] == ["aligning", "calling"]
    assert len(lines) == 3 and lines[2].startswith("done after")


def test_a_terminal_has_one_line(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.setattr(display, "INTERVAL", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    work(True)
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.endswith("\n") and err.count("\r\x1b[K") == 4


def test_the_remedy_is_that_of_python():
    remedy = r"^x.bam: already exists \(force=True replaces it\)$"
    with pytest.raises(FileExistsError, match=remedy), reporting("readwarp align", None):
        raise OutputExistsError("x.bam")


def test_a_shell_of_ipython_is_no_notebook(shown, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    work(None)
    assert not shown


NOTEBOOK = """
import readwarp.stream.display as display
display.INTERVAL = 0.0
with display.reporting("readwarp align", None) as reporter, reporter.progress("aligning", "reads") as meter:
    meter.advance(1000, 0.25)
"""


@pytest.mark.slow
def test_a_real_notebook(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (output,) = notebook.cells[0].outputs
    assert output["data"]["text/plain"].startswith("done after") and "<progress" in output["data"]["text/html"]
