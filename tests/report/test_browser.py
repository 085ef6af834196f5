"""The page in a real browser: no complaint, no request, nothing cut off, on a phone and on paper (slow).

With READWARP_SCREENSHOTS=FOLDER the pictures are kept, to be looked at.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"),
)
SCHEMES = {"light": "1", "dark": "0"}
PROBE = """<script>
addEventListener("load", () => {
  const small = [...document.querySelectorAll("svg text")].map(t => parseFloat(getComputedStyle(t).fontSize)
    * t.closest("svg").getBoundingClientRect().width / t.closest("svg").viewBox.baseVal.width);
  const cut = [...document.querySelectorAll("svg text")].filter(t => {
    const own = t.getBoundingClientRect(), card = t.closest("figure").getBoundingClientRect();
    return own.width && (own.left < card.left || own.right > card.right);
  }).map(t => t.textContent);
  const ink = getComputedStyle(document.body).color, paper = getComputedStyle(document.body).backgroundColor;
  document.body.dataset.probe = JSON.stringify({
    width: innerWidth, needed: document.documentElement.scrollWidth, smallest: Math.min(...small), cut, ink, paper,
    empty: [...document.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().height < 60).length,
  });
});
</script></body>"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    if BROWSER is None:
        pytest.skip("needs Chromium: apt-get install chromium")

    def run(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
        profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
        command = [BROWSER, *QUIET, profile, "--enable-logging=stderr", "--v=0", *options, path.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def file(made, page, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page)
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [360, 1280])
def test_screenshots(browse, file, tmp_path, width, scheme):
    """The console stays empty, and the picture is more than one colour."""
    kept = Path(os.environ.get("READWARP_SCREENSHOTS") or tmp_path) / f"report-{width}-{scheme}.png"
    options = (f"--window-size={width},5000", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}")
    done = browse(file, *options, f"--screenshot={kept}")
    assert "CONSOLE" not in done.stderr
    assert kept.stat().st_size > 50_000


def test_the_console_would_be_heard(browse, file):
    other = file.with_name("noisy.html")
    other.write_text(file.read_text().replace("</body>", "<script>1</script></body>"))
    assert "CONSOLE" in browse(other, "--dump-dom").stderr  # the page's own policy forbids the script


def test_nothing_is_requested(browse, file, tmp_path):
    log = tmp_path / "net.json"
    browse(file, f"--log-net-log={log}", "--dump-dom")
    asked = set(re.findall(r'"url":"(\w+:[^"]{0,60})', log.read_text()))
    assert any(url.startswith("file:") for url in asked)
    assert not {url for url in asked if url.startswith(("http", "ws"))} - browsers_own(asked)


def browsers_own(asked: set[str]) -> set[str]:
    """What Chromium asks of its maker whatever the page is."""
    return {url for url in asked if re.match(r"https?://([\w.-]+\.)?(google|googleapis|gstatic|gvt1)\.com", url)}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [500, 1280])  # a window of less is not made without a screenshot
def test_nothing_is_cut_off_or_too_small(browse, file, width, scheme):
    probed = file.with_name(f"probe-{width}-{scheme}.html")
    text = re.sub(r"<meta http-equiv=[^>]*>", "", file.read_text())
    probed.write_text(text.replace("</body>", PROBE))
    options = (f"--window-size={width},900", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}")
    dom = browse(probed, *options, "--virtual-time-budget=3000", "--dump-dom").stdout
    found = json.loads(re.search(r'data-probe="([^"]*)"', dom)[1].replace("&quot;", '"'))
    assert found["needed"] <= found["width"], found
    assert found["cut"] == [] and found["empty"] == 0
    assert found["smallest"] >= 8
    inks, papers = [sum(map(int, re.findall(r"\d+", found[name])[:3])) for name in ("ink", "paper")]
    assert (inks < papers) == (scheme == "light")


def test_paper(browse, file, tmp_path):
    pdf = tmp_path / "report.pdf"
    browse(file, f"--print-to-pdf={pdf}")
    text = pdf.read_bytes()
    assert text.startswith(b"%PDF") and 2 <= len(re.findall(rb"/Type\s*/Page\b", text)) <= 12
