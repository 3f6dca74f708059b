#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forge - called code that attacks its caller, at random

  forge.py --bin DIR [--count N] [--seed S]

Each of N seeds is one run of `minspect --run` or `--cases` on a library (forge.c) that writes where its process
reports, as the seed says. Whatever it does:

- the program ends by no signal and with a status of the manual's, never 70, within a second of its --timeout;
- a result that the function does not give is not found equal to what --expect says;
- what is printed is text: no control character;
- of --cases, calls before and behind the attack have their results.

The last line is "N passed, N failed, N skipped".
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NEVER = 0x5eed5eed5eed5eed  # no number that forge.c writes
TIMEOUT_S, LIMIT_S = 0.5, 2.5
TRIES = 3  # a seed does the same each time: late every time is the program's doing, once may be the machine's
STATUSES = set(range(0, 10))
CASES = """
[[case]]
name = "before"
run = "honest"
args = [{{ input = "i64=1" }}]
expect = ["2"]
[[case]]
name = "attack"
run = "forge"
args = [{{ input = "i64={seed}" }}]
expect = ["{never}"]
timeout = {timeout}
[[case]]
name = "behind"
run = "honest"
args = [{{ input = "i64=41" }}]
expect = ["42"]
"""


def commands(seed, folder):
    """Forms of the same attack: a plain call, as JSON, isolated, while the library loads, among cases."""
    run = ["--run", "forge", "--input", "i64=%d" % seed, "--expect", "%d" % NEVER, "--timeout", "%g" % TIMEOUT_S]
    cases = os.path.join(folder, "cases-%d.toml" % seed)
    forms = [run, run + ["--json"], run + ["--isolate"], run, ["--cases", cases, "--tap"],
             ["--cases", cases, "--tap", "--isolate"]]
    form = seed % len(forms)
    if "--cases" in forms[form]:
        with open(cases, "w", encoding="ascii") as file:
            file.write(CASES.format(seed=seed, never=NEVER, timeout=TIMEOUT_S))
    return forms[form], {"FORGE_AT_LOAD": str(seed)} if form == 3 else {}


def wrong_with(words, status, out):
    if status not in STATUSES:
        return "status %d" % status
    if status == 0:
        return "the forged result passed"
    if any(c < 0x20 and c not in (0x09, 0x0a) or c == 0x7f for c in out):
        return "control characters"
    if "--cases" in words:
        lines = out.decode(errors="replace").splitlines()
        for verdict in ("ok 1 - before", "not ok 2 - attack", "ok 3 - behind"):
            if not any(line.startswith(verdict) for line in lines):
                return "no '%s'" % verdict
    return None


def run(options, folder, words, more):
    """What is wrong, and seconds."""
    started = time.monotonic()
    with subprocess.Popen([os.path.join(options.bin, "minspect")] + words + [os.path.join(folder, "forge.so")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, **more)) as child:
        try:
            out, _ = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            return "no end within 30 s", 0
        seconds = time.monotonic() - started
        wrong = wrong_with(words, child.returncode, out)
    return wrong and "%s\n%s" % (wrong, out.decode(errors="replace")[-400:]), seconds


def one(task):
    options, seed, folder = task
    words, more = commands(seed, folder)
    for _ in range(TRIES):
        wrong, seconds = run(options, folder, words, more)
        if wrong or seconds <= TIMEOUT_S + LIMIT_S:
            break
        wrong = "%.1f s" % seconds
    return wrong and "seed %d: %s: %s" % (seed, " ".join(words), wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forge-") as folder:
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o",
                        os.path.join(folder, "forge.so"), os.path.join(HERE, "forge.c")], check=True)
        tasks = [(options, options.seed + i, folder) for i in range(options.count)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [line for line in pool.map(one, tasks) if line]
    for line in wrong:
        print("FAIL", line)
    print("%d passed, %d failed, 0 skipped" % (options.count - len(wrong), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
