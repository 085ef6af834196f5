"""The page in a real browser: phone, tablet, desktop, dark, paper, without scripts; hover, tables, links (slow).

With READWARP_SCREENSHOTS=FOLDER the pictures are kept, to be looked at.
"""

import os
import re
from pathlib import Path
from xml.etree import ElementTree

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
    return own.width && (own.left < card.left || own.right > card.right);
}).map(text => text.textContent)"""
BRIGHTNESS = """["color", "backgroundColor"].map(name =>
    getComputedStyle(document.body)[name].match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))"""
OVERLAPPING = """[...document.querySelectorAll("figure svg")].flatMap(svg => {
    const boxes = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
    const apart = (a, b) => a.right - 1 <= b.left || a.bottom - 4 <= b.top;
    const meet = (a, b) => !apart(a, b) && !apart(b, a);
    const pairs = boxes.flatMap(([text, box], n) => boxes.slice(n + 1).map(([next, far]) => [text, next, box, far]));
    return pairs.filter(([,, box, far]) => box.width && far.width && meet(box, far)).map(pair => pair.slice(0, 2));
})"""
SHOWN = """[...document.querySelectorAll("figure")].map(figure =>
    [...figure.querySelectorAll(".picture > svg")].filter(svg => svg.getBoundingClientRect().height > 60).length)"""
EDGES = """(figure => {
    const svg = [...figure.querySelectorAll(".picture > svg")].find(svg => svg.getBoundingClientRect().height);
    const [left, right, top, bottom] = svg.dataset.edges.split(" ").map(Number), place = svg.getScreenCTM();
    const ends = [[left, top], [right, bottom]].map(end => new DOMPoint(...end).matrixTransform(place));
    return ends.map(end => [end.x, end.y]);
})"""


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


def check_figures(browser: Browser) -> None:
    """Each figure shows one picture, and its texts are legible, whole and apart."""
    shown = browser.run(SHOWN)
    assert len(shown) > 15 and set(shown) == {1}
    assert browser.run(TOO_SMALL) == [] and browser.run(CUT_OFF) == [] and browser.run(OVERLAPPING) == []


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
    check_figures(browser)
    assert browser.run("document.documentElement.scrollWidth") == WIDTHS[device]
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
    ticks = browser.run("[...document.querySelectorAll('.picture text')].map(text => text.textContent)")
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
    check_figures(browser)
    assert browser.run("document.querySelectorAll('.calls tbody tr').length") == 8
    assert browser.run("document.querySelectorAll('input, button').length") == 0
    keep(browser, f"plain-{device}")


def point(browser: Browser, figure: str, across: float, down: float, kind: str = "mouseMoved", **more: object) -> str:
    """The text shown at a place of the plot, after an event of the mouse there."""
    found = f"document.getElementById('{figure}')"
    browser.run(f"{found}.scrollIntoView({{behavior: 'instant', block: 'center'}})")
    (left, top), (right, bottom) = browser.run(f"{EDGES}({found})")
    place = {"x": left + across * (right - left), "y": top + down * (bottom - top)}
    browser.send("Input.dispatchMouseEvent", type=kind, **place, **more)
    return browser.run(f"{found}.querySelector('.tip')?.innerText")


def drag(browser: Browser, figure: str, start: float, stop: float) -> None:
    point(browser, figure, start, 0.5)
    for across, kind in ((start, "mousePressed"), (stop, "mouseMoved"), (stop, "mouseReleased")):
        point(browser, figure, across, 0.5, kind, button="left", buttons=1, clickCount=1)


def test_hover_shows_values(browser, file):
    """A bar, a place along the genome, a line, two lines; nothing beside the plot."""
    browser.open(file, 1280)
    assert point(browser, "types", 0.5, 0.9) == "insertions: 2"
    assert point(browser, "phases", 0.2, 0.4) == "align: 2"
    assert re.fullmatch(r"one:[\d,]+-[\d,]+: [\d.]+", point(browser, "along", 0.3, 0.5))
    assert re.fullmatch(r"cycle \d+: \d+[\d.]+%", point(browser, "mismatches", 0.3, 0.5))
    assert re.fullmatch(r"cycle 40\nread 1: 2\d\.\d+\nread 2: 2\d\.\d+", point(browser, "quality", 0.5, 0.5))
    assert point(browser, "quality", 0.5, 1.3) is None


def test_a_tap_shows_values(browser, file):
    browser.open(file, 390)
    browser.run("document.getElementById('types').scrollIntoView({behavior: 'instant', block: 'center'})")
    (left, top), (right, bottom) = browser.run(f"{EDGES}(document.getElementById('types'))")
    place = {"x": (left + right) / 2, "y": (top + bottom) / 2}
    browser.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[place])
    browser.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert browser.run("document.querySelector('#types .tip').innerText") == "insertions: 2"


@pytest.mark.parametrize(("figure", "middle"), [("mismatches", "40"), ("qual", "20")])
def test_zoom(browser, file, figure, middle):
    """Dragging shows a part of a line, with round numbers at the axis; two clicks show all of it again."""
    browser.open(file, 1280)
    ticks = f"[...document.querySelectorAll('#{figure} .ticks text')].map(text => text.textContent)"
    before, value = browser.run(ticks), point(browser, figure, 0.5, 0.5)
    drag(browser, figure, 0.4, 0.6)
    zoomed = browser.run(ticks)
    assert zoomed != before and middle in zoomed and 2 <= len(zoomed) <= 8
    assert [float(tick) for tick in zoomed] == sorted(float(tick) for tick in zoomed)
    assert point(browser, figure, 0.5, 0.5) == value
    keep(browser, f"zoomed-{figure}")
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            point(browser, figure, 0.5, 0.5, kind, button="left", buttons=1, clickCount=count)
    assert browser.run(ticks) == before


def test_a_click_in_a_legend_hides_a_line(browser, file):
    browser.open(file, 1280)
    shown = "[...document.querySelectorAll('#quality .plot g')].map(line => getComputedStyle(line).display !== 'none')"
    click = "document.querySelector('#quality .key[data-key=\"read 2\"]').dispatchEvent(new Event('click'))"
    assert browser.run(shown) == [True, True]
    browser.run(click)
    assert browser.run(shown) == [True, False]
    assert re.fullmatch(r"cycle 40\nread 1: [\d.]+", point(browser, "quality", 0.5, 0.5))
    browser.run(click)
    assert browser.run(shown) == [True, True]


def test_a_figure_is_saved(browser, file):
    """As a file of its own, in colours that do not need the page."""
    browser.open(file, 1280, prefers_color_scheme="light")
    browser.run("""URL.createObjectURL = (create => blob => {
        blob.text().then(text => window.saved = text);
        return create(blob);
    })(URL.createObjectURL)""")
    browser.run("document.querySelector('#quality .save').click()")
    browser.run("new Promise(done => setTimeout(done, 300))")
    saved = ElementTree.fromstring(browser.run("window.saved"))
    texts = [element.text for element in saved.iter("{http://www.w3.org/2000/svg}text")]
    assert {"read 1", "read 2", "mean quality", "cycle"} <= set(texts)
    lines = list(saved.iterfind(".//{*}svg/{*}g/{*}path"))
    assert len(lines) == 2 and all("stroke: rgb(" in line.get("style") for line in lines)


def test_a_change_of_scheme_changes_colours(browser, file):
    browser.open(file, 1280, prefers_color_scheme="light")
    script = "getComputedStyle(document.querySelector('#quality .plot path')).stroke"
    light = browser.run(script)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
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
    """In the colours of the light scheme, on some pages."""
    browser.open(file, 1280, prefers_color_scheme="dark")
    browser.scroll_through()
    data = browser.print()
    assert data.startswith(b"%PDF") and 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 14
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert set(browser.run(SHOWN)) == {1}
    assert browser.run("getComputedStyle(document.documentElement).getPropertyValue('--card').trim()") == "#ffffff"
