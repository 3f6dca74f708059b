#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browser.py - Chromium without a window, spoken to over its debugging pipe (DevTools protocol)

Nothing but Python and Chromium is needed: messages are JSON, each ended by a NUL, on the descriptors
3 and 4 of the browser.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile

KEYS = {"Escape": 27, "Enter": 13, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "ArrowLeft": 37}


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    """One browser with one page; what goes wrong in it and what it asks the network for are noted."""

    def __init__(self):
        self.problems, self.requests = [], []
        self.folder = tempfile.mkdtemp(prefix="page-")
        for again in (True, True, False):
            self.start()
            try:
                target = self.call("Target.createTarget", url="about:blank")["targetId"]
                break
            except (EOFError, BrokenPipeError):  # on a machine with much to do it ends at times before it answers
                self.stop()
                if not again:
                    raise
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")

    def start(self):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec 3<&{to_read} 4>&{to_write}; exec "$@"', "sh", find_chromium(), "--headless=new", "--no-sandbox",
             "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--force-device-scale-factor=1", "--hide-scrollbars", f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session = b"", 0, None

    def stop(self):
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)

    def close(self):
        self.session = None
        self.send("Browser.close")
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- the protocol ---

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        return self.number

    def receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise EOFError("the browser is gone")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append("console: " + " ".join(str(arg.get("value", arg)) for arg in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append("log: " + params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        number = self.send(method, **params)
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def wait_for(self, method):
        while True:
            message = self.receive()
            self.note(message)
            if message.get("method") == method:
                return message

    # --- what a user does ---

    def open(self, path):
        # from elsewhere, as some browsers keep the focus when a page is opened once more
        self.send("Page.navigate", url="about:blank")
        self.wait_for("Page.loadEventFired")
        self.problems, self.requests = [], []
        self.send("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")
        self.settle()

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.settle()

    def colours(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def media(self, name):
        self.call("Emulation.setEmulatedMedia", media=name)

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def busy(self):
        """Seconds of processor time that the page's thread took so far: of a clock, others on the machine take their part."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def settle(self):
        """Until what is waiting for the next picture is done."""
        self.run("new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 80))")

    def key(self, key):
        named = key in KEYS
        event = {"key": key, "code": key if named else "", "windowsVirtualKeyCode": KEYS[key] if named else ord(key.upper())}
        if key == "Enter":
            event["text"] = "\r"
        elif not named:
            event["text"] = key
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()
        self.settle()

    def click(self, selector):
        """In the middle of the first element that a selector finds, with the mouse."""
        box = self.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;
            e.scrollIntoView({{block: "center"}}); const b = e.getBoundingClientRect();
            return {{x: b.x + b.width / 2, y: b.y + Math.min(b.height / 2, 10)}}; }})()""")
        if not box:
            raise RuntimeError(f"nothing to click: {selector}")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **box)
        self.settle()

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
