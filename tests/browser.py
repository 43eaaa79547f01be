"""Headless Chromium driven as a person would: keys, the pointer, the size of the window. By its debugging pipe."""

import base64
import json
import os
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, "Tab": 9, " ": 32, "PageUp": 33}


class FolderServer:
    """A folder on a server of this machine, for what a browser does not load from files: modules, for one."""

    def __init__(self, path):
        handler = partial(FolderHandler, directory=path)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self):
        Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class FolderHandler(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    extensions_map: ClassVar = {".html": "text/html", ".mjs": "text/javascript", "": "application/octet-stream"}

    def log_message(self, *_):
        pass


class Browser:
    """One tab. Commands are those of the Chrome DevTools Protocol; messages end in a zero byte."""

    def __init__(self, folder):
        to_read, write = os.pipe()
        read, to_write = os.pipe()
        self.said, self.requests = [], []
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")
        # The browser reads commands from file 3 and answers on file 4.
        script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        command = ["bash", "-c", script, "bash", shutil.which("chromium"), *options, f"--user-data-dir={folder}"]
        self.process = subprocess.Popen(
            command, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self.write, self.read = os.fdopen(write, "wb", buffering=0), os.fdopen(read, "rb")
        self.rest, self.n_sent, self.session, self.loaded = b"", 0, None, False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **arguments):
        """Return the answer to a command."""
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": arguments}
        if self.session:
            message["sessionId"] = self.session
        self.write.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.n_sent:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def open(self, path, *, width=1200, height=900, dark=False, media=""):
        """Show a file, and wait until it is loaded."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.show(path.as_uri())

    def show(self, address):
        """Show what is at an address, and wait until it is loaded."""
        self.said, self.requests, self.loaded = [], [], False
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self._next()

    def run(self, script):
        """Return what an expression comes to in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, times=1):
        """Press a key on whatever has the focus."""
        code = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": KEYS[key]}
        for _ in range(times):
            text = {"text": " "} if key == " " else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def point(self, x, y):
        """Move the pointer to a place in the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, start, end):
        """Press the button at one place and let it go at another."""
        common = {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **common)
        for part in (0.25, 0.5, 0.75, 1.0):
            x, y = (a + part * (b - a) for a, b in zip(start, end, strict=True))
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, buttons=1, **common)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **common)

    def click(self, x, y):
        self.drag((x, y), (x, y))

    def screenshot(self, path, *, whole=False):
        """Save what is shown, or the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(600)
        self.write.close()
        self.read.close()

    def _next(self):
        """Return the next message; what the page says in between is kept."""
        while b"\0" not in self.rest:
            got = os.read(self.read.fileno(), 1 << 20)
            assert got, "chromium is gone"
            self.rest += got
        message, _, self.rest = self.rest.partition(b"\0")
        event = json.loads(message)
        if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.said.append(event["params"])
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        self.loaded |= event.get("method") == "Page.loadEventFired"
        return event
