"""The page in a real browser: no complaint, no request, nothing cut off, on a phone and on paper (slow).

With READWARP_SCREENSHOTS=FOLDER the pictures are kept, to be looked at.
"""

import json
import os
import re
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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

    def run(what: Path | str, *options: str) -> subprocess.CompletedProcess[str]:
        address = what if isinstance(what, str) else what.as_uri()
        profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
        command = [BROWSER, *QUIET, profile, "--enable-logging=stderr", "--v=0", *options, address]
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


class Proxy(BaseHTTPRequestHandler):
    """Serves the page under one address, and records every other request, to any host."""

    page, asked = b"", set[str]()

    def do_GET(self):
        self.asked.add(self.path)
        self.send_response(200 if self.path == ADDRESS else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.page if self.path == ADDRESS else b"")

    def do_CONNECT(self):  # https
        self.asked.add(self.path)
        self.send_error(403)

    def log_message(self, *_):
        pass


ADDRESS = "http://page.test/report.html"
MAKER = r"([\w-]+\.)*(google|googleapis|gstatic|gvt1)\.com\b"  # asked by Chromium itself, whatever the page is


@pytest.mark.parametrize("extra", ["", '<img src="http://other.test/x.png"><link rel="stylesheet" href="other.css">'])
def test_nothing_is_requested(browse, page, extra):
    """All requests go through the test's proxy, which does see those of a page that makes some (without its policy)."""
    Proxy.asked = set()
    Proxy.page = re.sub(r"<meta http-equiv=[^>]*>", "", page).replace("<body>", f"<body>{extra}").encode()
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = f"--proxy-server=http://127.0.0.1:{server.server_address[1]}"
        assert "Alignment" in browse(ADDRESS, proxy, "--dump-dom").stdout
        server.shutdown()
    asked = {url for url in Proxy.asked if not re.match(rf"(https?://)?{MAKER}", url)}
    others = {"http://other.test/x.png", "http://page.test/other.css"} if extra else set()
    assert asked == {ADDRESS} | others


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
