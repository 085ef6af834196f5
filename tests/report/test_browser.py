"""The page in a real browser: phone, tablet, desktop, dark, paper, without scripts; hover, tables, links (slow).

With READWARP_SCREENSHOTS=FOLDER the pictures are kept, to be looked at.
"""

import os
import re
from pathlib import Path

import pytest

from helpers.browser import PROGRAM, Browser
from helpers.made_samples import build
from readwarp.cli import main

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
WIDTHS = {"phone": 390, "tablet": 820, "desktop": 1280}
TOO_SMALL = """[...document.querySelectorAll("svg text")].filter(text => {
    const svg = text.closest("svg"), box = svg.viewBox.baseVal;
    const scale = box && box.width ? svg.getBoundingClientRect().width / box.width : 1;
    const size = parseFloat(getComputedStyle(text).fontSize) * scale;
    return text.textContent && text.getBoundingClientRect().width && size < 8;
}).map(text => text.textContent)"""
CUT_OFF = """[...document.querySelectorAll("svg text")].filter(text => {
    const own = text.getBoundingClientRect(), card = text.closest("figure").getBoundingClientRect();
    const still = text.closest(".still"), isScrolled = still && still.scrollWidth > still.clientWidth;
    return own.width && !isScrolled && (own.left < card.left || own.right > card.right);
}).map(text => text.textContent)"""
BRIGHTNESS = """["color", "backgroundColor"].map(name =>
    getComputedStyle(document.body)[name].match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))"""
SHOWN = """(kind => [...document.querySelectorAll("figure")].filter(figure =>
    figure.querySelector("." + kind).getBoundingClientRect().height > 60).length)"""


@pytest.fixture(scope="module")
def browser():
    if PROGRAM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def file(made, page) -> Path:
    return made.folder / "report.html"


@pytest.fixture(scope="module")
def cohort(tmp_path_factory) -> Path:
    """Three samples, one of which has a long name."""
    folder = tmp_path_factory.mktemp("cohort")
    names = "one", "two", "a_rather_long_name_of_a_sample"
    folders = [str(build(folder / name, name).folder) for name in names]
    assert main(["report", *folders, "-o", str(folder / "cohort.html"), "-q", "-t", "2"]) == 0
    return folder / "cohort.html"


def keep(browser: Browser, name: str) -> None:
    if folder := os.environ.get("READWARP_SCREENSHOTS"):
        browser.screenshot(Path(folder) / f"{name}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
@pytest.mark.parametrize("which", ["file", "cohort"])
def test_devices(browser, request, which, device, scheme):
    """All is drawn, nothing is cut off or too small, the console stays empty, and nothing is asked of the network."""
    path = request.getfixturevalue(which)
    browser.open(path, WIDTHS[device], prefers_color_scheme=scheme)
    browser.scroll_through()
    keep(browser, f"{which}-{device}-{scheme}")
    assert browser.heard == [path.as_uri()]
    figures = browser.run("document.querySelectorAll('figure').length")
    assert figures > 15 and browser.run(f"{SHOWN}('live')") == figures and browser.run(f"{SHOWN}('still')") == 0
    assert browser.run("document.documentElement.scrollWidth") == WIDTHS[device]
    assert browser.run(TOO_SMALL) == [] and browser.run(CUT_OFF) == []
    ink, paper = browser.run(BRIGHTNESS)
    assert (ink < paper) == (scheme == "light")


def test_large_numbers(browser, tmp_path):
    """They fit their cards, and numbers at an axis are written in full."""
    folder = build(tmp_path / "results").folder
    assert main(["report", str(folder), "-q", "-t", "2"]) == 0
    for name, pattern, much in (
        ("x.flagstat.txt", r"^(\d+)(?= \+ 0 (?:primary|in total))", 9_000_000_000),
        ("x.depth.txt", r"^(\d+)(?=\t)", 1),
        ("x.depth.bedgraph", r"(?<=\t)([\d.]+)$", 40),
    ):
        text = (folder / name).read_text()
        grown = re.sub(pattern, lambda match: f"{float(match[1]) * 3000 + much:.0f}", text, flags=re.M)  # noqa: B023
        assert grown != text
        (folder / name).write_text(grown)
    assert main(["report", str(folder), "-q", "-t", "2", "--force"]) == 0
    browser.open(folder / "report.html", 1280)
    browser.scroll_through()
    keep(browser, "large")
    cards = browser.run(
        "[...document.querySelectorAll('.value')].map(v => [v.textContent, v.scrollWidth - v.clientWidth])"
    )
    assert max(len(text) for text, _ in cards) >= 13 and [card for card in cards if card[1] > 0] == []
    ticks = browser.run(
        "[...document.querySelectorAll('.live .xtick text, .live .ytick text')].map(t => t.textContent)"
    )
    assert any(re.fullmatch(r"\d{2,3},\d{3}", tick) for tick in ticks)
    assert not [tick for tick in ticks if re.fullmatch(r"[\d.]+[kMGµm]", tick)]


def test_three_samples_fit_a_desktop(browser, cohort):
    browser.open(cohort, 1280)
    scrolled = "document.querySelector('#overview .scroll')"
    assert browser.run(f"{scrolled}.scrollWidth <= {scrolled}.clientWidth")
    assert browser.run("document.querySelectorAll('#overview thead th').length") > 12


def test_noise_would_be_heard(browser, file):
    """A script that the policy forbids, and what is fetched where there is no policy."""
    other = file.with_name("noisy.html")
    extra = '<script>1</script><img src="http://other.test/x.png">'
    other.write_text(file.read_text().replace("</body>", f"{extra}</body>"))
    browser.open(other)
    assert sum("Content Security Policy" in text for text in browser.heard) == 2
    other.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", other.read_text()))
    browser.open(other)
    assert "http://other.test/x.png" in browser.heard
    other.unlink()


@pytest.mark.parametrize("device", WIDTHS)
def test_without_scripts(browser, file, device):
    """Every figure is a plain picture, and the calls are a table."""
    plain = file.with_name("plain.html")
    plain.write_text(re.sub(r"<script>.*?</script>", "", file.read_text(), flags=re.DOTALL))
    browser.open(plain, WIDTHS[device])
    figures = browser.run("document.querySelectorAll('figure').length")
    assert figures > 15 and browser.run(f"{SHOWN}('still')") == figures and browser.run(f"{SHOWN}('live')") == 0
    assert browser.run(TOO_SMALL) == [] and browser.run(CUT_OFF) == []
    assert browser.run("document.querySelectorAll('.calls tbody tr').length") == 8
    assert browser.run("document.querySelectorAll('input, button').length") == 0
    keep(browser, f"plain-{device}")


def hover(browser: Browser, figure: str, across: float, down: float) -> str:
    """The text shown at a place of the plot."""
    browser.run(f"document.getElementById('{figure}').scrollIntoView({{behavior: 'instant', block: 'center'}})")
    browser.run("new Promise(done => setTimeout(done, 600))")
    box = browser.run(f"""(() => {{
        const box = document.querySelector("#{figure} .live .nsewdrag").getBoundingClientRect();
        return [box.left, box.top, box.width, box.height];
    }})()""")
    place = {"x": box[0] + across * box[2], "y": box[1] + down * box[3]}
    for step in (3, 0):
        browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=place["x"] + step, y=place["y"])
    browser.run("new Promise(done => setTimeout(done, 400))")
    return browser.run(f"document.querySelector('#{figure} .hoverlayer').textContent")


def test_hover_shows_values(browser, file):
    """A bar, a place along the genome, a line."""
    browser.open(file, 1280)
    shown = hover(browser, "types", 0.5, 0.9)
    assert shown == "insertions: 2"
    assert re.fullmatch(r"one:[\d,]+-[\d,]+: [\d.]+", hover(browser, "along", 0.3, 0.5))
    assert re.fullmatch(r"\d+[\d.]+%", hover(browser, "mismatches", 0.3, 0.5))


def test_a_change_of_scheme_changes_colours(browser, file):
    browser.open(file, 1280, prefers_color_scheme="light")
    browser.scroll_through()
    script = "document.querySelector('#depth .js-line').style.stroke"
    light = browser.run(script)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.run("new Promise(done => setTimeout(done, 400))")
    assert light and browser.run(script) not in ("", light)


def test_calls_are_sorted_and_filtered(browser, file):
    browser.open(file, 1280)
    column = "[...document.querySelectorAll('.calls tbody tr:not([hidden])')].map(row => row.cells[{}].textContent)"

    def click(title: str) -> None:
        buttons = "[...document.querySelectorAll('.calls th button')]"
        browser.run(f"{buttons}.find(button => button.textContent === '{title}').click()")

    click("QUAL")
    assert browser.run(column.format(4)) == ["500", "250", "90", "80", "80", "40", "3", "2"]
    click("QUAL")
    assert browser.run(column.format(4))[:2] == ["2", "3"]
    click("place")
    assert browser.run(column.format(0))[0] == "one:100"

    def look_for(words: str) -> list[str]:
        script = "document.querySelector('#calls input')"
        browser.run(f"{script}.value = '{words}'; {script}.dispatchEvent(new Event('input'))")
        return browser.run(column.format(0))

    assert look_for("indel pass 1/1") == ["one:500"]
    assert browser.run("document.querySelector('#calls output').textContent") == "1 of 8"
    assert len(look_for("")) == 8


def test_a_link_opens_the_sample(browser, cohort):
    browser.open(cohort, 1280)
    assert browser.run("document.getElementById('sample-2').open") is False
    browser.run("document.querySelector('#overview tbody tr:nth-child(2) a').click()")
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert browser.run("document.getElementById('sample-2').open") is True


def test_paper(browser, file):
    """The plain pictures, in the colours of the light scheme, on some pages."""
    browser.open(file, 1280, prefers_color_scheme="dark")
    browser.scroll_through()
    data = browser.print()
    assert data.startswith(b"%PDF") and 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 14
    browser.send("Emulation.setEmulatedMedia", media="print")
    figures = browser.run("document.querySelectorAll('figure').length")
    assert browser.run(f"{SHOWN}('still')") == figures and browser.run(f"{SHOWN}('live')") == 0
    assert browser.run("getComputedStyle(document.documentElement).getPropertyValue('--card').trim()") == "#ffffff"
