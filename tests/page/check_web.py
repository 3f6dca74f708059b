#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_web.py - minspect in a browser beside minspect: the same answers about every file, and no connection

  check_web.py PAGE MINSPECT [FILE...]

PAGE is what make web builds. FILE: other files than those of tests/data. Prints a line a check, ends with
"N passed, N failed, N skipped"; 77: there is no Chromium.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, find_chromium  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE_BYTES_MAX = 6 << 20
passed = failed = 0


def check(name, got, wanted=True):
    global passed, failed
    if got == wanted:
        passed += 1
        return True
    failed += 1
    print(f"FAIL {name}: {str(got)[:300]!r}, not {str(wanted)[:300]!r}")
    return False


class Page:
    """The page, open in a browser."""

    def __init__(self, browser, path):
        self.b = browser
        browser.open(path)

    def node(self, selector):
        root = self.b.call("DOM.getDocument")["root"]["nodeId"]
        return self.b.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]

    def ask(self, line, paths):
        """(status, text of the answer, what stands in the line of state)"""
        self.b.run(f"(delete document.body.dataset.status, byId('line').value = {json.dumps(line)}, 0)")
        # an input that is given the files that it has says nothing of it
        self.b.run("byId('files').value = ''")
        self.b.call("DOM.setFileInputFiles", nodeId=self.node("#files"), files=[os.path.abspath(p) for p in paths])
        for _ in range(6000):
            status = self.b.run("document.body.dataset.status ?? null")
            if status is not None:
                return int(status), self.b.run("answer.text()"), self.b.run("byId('state').textContent")
            time.sleep(0.02)
        raise RuntimeError(f"{line} {paths}: no answer in two minutes")


def framed(b, script):
    """The value of an expression in the frame, which may have a process of its own."""
    b.settle()
    targets = [t for t in b.call("Target.getTargets", filter=[{"type": "iframe"}])["targetInfos"] if t["url"].startswith("blob:")]
    outer = b.session
    if targets:
        b.session = None
        b.session = b.call("Target.attachToTarget", targetId=targets[0]["targetId"], flatten=True)["sessionId"]
        value = b.run(script)
        b.session = outer
        return value
    frame = b.call("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
    world = b.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    return b.call("Runtime.evaluate", expression=script, contextId=world, returnByValue=True)["result"].get("value")


def native(program, line, paths):
    folder, names = os.path.dirname(os.path.abspath(paths[0])), [os.path.basename(p) for p in paths]
    done = subprocess.run([os.path.abspath(program), *line.split(), *names], cwd=folder, capture_output=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace").strip()


def same(page, program, line, paths, given=None):
    """The same status, answer and errors; line: what is typed, given: what the program on this machine is given."""
    name = f"{line} {' '.join(os.path.relpath(p, HERE) for p in paths)}"
    status, text, state = page.ask(line, paths)
    wanted_status, wanted_text, wanted_errors = native(program, given or line, paths)
    if check(f"{name}: exit status", status, wanted_status):
        check(f"{name}: answer", text, wanted_text)
    if wanted_errors:
        check(f"{name}: errors", state, wanted_errors)


def fixtures():
    data = os.path.join(HERE, "..", "data")
    kinds = ("formats/*", "gpu/*", "relax/*", "archive/*", "weights/*", "legacy/*", "cuda/*", "rocm/*")
    files = [f for kind in kinds for f in sorted(glob.glob(os.path.join(data, kind)))]
    # what is text for people or a listing of another tool is no input
    return [f for f in files if os.path.isfile(f) and not re.search(r"\.(md|txt|toml|py|sh|json|log)$", f)]


def main():
    path, program, files = sys.argv[1], sys.argv[2], sys.argv[3:] or fixtures()
    if not find_chromium():
        print("skip web: no Chromium")
        print("0 passed, 0 failed, 1 skipped")
        return 77
    check("the page is at most 6 MiB", os.path.getsize(path) <= PAGE_BYTES_MAX)
    with Browser() as b, tempfile.TemporaryDirectory() as work:
        page = Page(b, path)
        for file in files:
            for line in ("--json", "functions --json", "verify --json", "size"):
                same(page, program, line, [file])
        for line in ("html", ""):
            status, text, _ = page.ask(line, files[:1])
            check(f"{line or 'nothing'}: the page of minspect", (status, text.startswith("<!DOCTYPE html>"), text.rstrip().endswith("</html>")), (0, True, True))
            check("which a frame of its own origin shows", b.run("document.querySelector('iframe').sandbox.contains('allow-same-origin')"), False)
            check("and its script runs", framed(b, "document.querySelectorAll('[role=tab]').length > 2"))
        check("no problem in the console", b.problems, [])
        pair = [os.path.join(work, os.path.basename(f)) for f in files[:2]]
        for copy, source in zip(pair, files):
            shutil.copyfile(source, copy)
        same(page, program, "diff", pair)
        same(page, program, "verify", pair)
        # SHA-256, and MD5 of the shards of a model
        same(page, program, "sbom", pair[:1])
        cache = os.path.join(HERE, "..", "data", "weights", "cache")
        same(page, program, "verify", [os.path.join(cache, name) for name in sorted(os.listdir(cache))])
        status, _, state = page.ask("run main", files[:1])
        check("code is not run", (status != 0, "runs no code" in state), (True, True))
        status, _, state = page.ask("html -o taken.html", files[:1])
        check("no file is written", (status != 0, "writes no file" in state), (True, True))

        odd = [os.path.join(work, name) for name in ("-o", "<b>&x.so", "a b.so", "empty.so")]
        for name in odd[:3]:
            with open(name, "wb") as out, open(files[0], "rb") as source:
                out.write(source.read())
        open(odd[3], "wb").close()
        for name in odd[1:]:
            same(page, program, "verify", [name])
        check("a name that looks like an option is a file", page.ask("verify", odd[:1])[0], native(program, "verify", [os.path.join(work, "a b.so")])[0])
        check("no request but the page", sorted({url.split(":")[0] for url in b.requests}), ["blob", "file"])
        check("one page, and what it made itself", [url for url in b.requests if not url.startswith("blob:") and not url.endswith(os.path.basename(path))], [])
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
