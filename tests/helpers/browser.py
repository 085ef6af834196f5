"""Chromium without a window, spoken to through a pipe in its DevTools protocol: sizes, schemes, clicks, paper."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 60  # seconds
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"),
)


class Browser:
    """One page at a time. `heard`: what it wrote to the console, and what it asked of the network."""

    def __init__(self, *options: str):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # Chromium reads its orders from 3 and answers on 4. Both are first moved out of the way of each other.
        far = to_read + 100, to_write + 100
        moves = f"{far[0]}<&{to_read} {far[1]}>&{to_write} 3<&{far[0]} 4>&{far[1]}"
        shell = f'exec {moves}; exec "$@"'
        command = ["bash", "-c", shell, "bash", str(PROGRAM), *QUIET, f"--user-data-dir={self._folder.name}", *options]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, pass_fds=(to_read, to_write), stdout=quiet, stderr=quiet)
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._session = 0, b"", ""
        self.heard: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command; events that come before it are noted."""
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._to, json.dumps(order).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._from], [], [], PATIENCE)[0], "the browser does not answer"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        event: dict[str, Any] = json.loads(line)
        kind, facts = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.heard.append(str(facts["exceptionDetails"]))
        elif kind == "Runtime.consoleAPICalled":
            self.heard.append(str(facts["args"]))
        elif kind == "Log.entryAdded":
            self.heard.append(facts["entry"]["text"])
        elif kind == "Network.requestWillBeSent" and facts["request"]["url"].partition(":")[0] not in ("data", "blob"):
            self.heard.append(facts["request"]["url"])
        return event

    def open(self, address: str | Path, width: int = 1280, height: int = 900, **features: str) -> None:
        """Load a page. features: of media queries, such as prefers_color_scheme="dark"."""
        is_phone = width < 1000
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )
        self.send("Emulation.setTouchEmulationEnabled", enabled=is_phone)
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", media="", features=named)
        self.heard.clear()
        self.send("Page.navigate", url=address if isinstance(address, str) else address.as_uri())
        self.run("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def run(self, script: str) -> Any:
        """The value of an expression, or of its promise, in the page."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def scroll_through(self) -> None:
        """Show all of the page once, from top to bottom."""
        self.run("""(async () => {
            for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
                scrollTo({top: y, behavior: "instant"});
                await new Promise(done => setTimeout(done, 20));
            }
            scrollTo({top: 0, behavior: "instant"});
        })()""")

    def screenshot(self, path: Path) -> None:
        """The whole page."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def print(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
