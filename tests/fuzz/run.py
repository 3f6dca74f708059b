#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py --smoke | --time SECONDS | --rounds HOURS [TARGET...] - run the fuzzers in out/fuzz

--smoke makes the number of runs that the table `targets` says of each target, from the seeds, the same runs each
time, as many targets at once as there are processors. --time runs each for so long, one after the other, and keeps
what covers new code in out/fuzz/corpus. --rounds goes on for hours, in turns that get longer. A find stands in
out/fuzz/found, and the last line says how many of the targets had none.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.environ.get("FUZZ_OUT", "out/fuzz")  # programs, seeds, corpora, finds
TOTALS = os.path.join(OUT, "totals.json")
Target = collections.namedtuple("Target", "name longest runs words")


def targets(names):
    found = []
    with open(os.path.join(HERE, "targets"), encoding="ascii") as table:
        for line in table:
            if line.strip() and not line.startswith("#"):
                name, longest, runs, words = line.split()
                found.append(Target(name, int(longest), int(runs), words))
    sources = {f[:-2] for f in os.listdir(HERE) if f.startswith("fuzz_") and f.endswith(".c")}
    if sources != {t.name for t in found}:
        sys.exit("run.py: tests/fuzz/targets and the sources differ: %s" %
                 " ".join(sorted(sources ^ {t.name for t in found})))
    unknown = set(names) - sources
    if unknown:
        sys.exit("run.py: no target %s" % " ".join(sorted(unknown)))
    return [t for t in found if not names or t.name in names]


def command(target, folders, more):
    program = os.path.join(OUT, "tests/fuzz", target.name)
    words = [program, "-max_len=%d" % target.longest, "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1",
             "-artifact_prefix=%s/found/%s-" % (OUT, target.name), *more]
    if target.words != "-":
        words.append("-dict=%s" % os.path.join(HERE, target.words + ".dict"))
    return words + folders


def stat(text, name):
    found = re.search(r"stat::%s:\s+(\d+)" % name, text)
    return int(found.group(1)) if found else 0


def run(target, folders, more):
    """Returns whether nothing was found, and what the run says of itself."""
    with subprocess.Popen(command(target, folders, more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        text = child.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime  # the machine may have others to serve
    for line in sorted(set(re.findall(r"^.*runtime error:.*$", text, re.MULTILINE))):
        print(line)
    covered = re.findall(r"cov: (\d+) ft: (\d+)", text)
    result = {"runs": stat(text, "number_of_executed_units"), "seconds": seconds,
              "edges": int(covered[-1][0]) if covered else 0, "features": int(covered[-1][1]) if covered else 0}
    if status:
        print("FAIL %s, status %d\n%s" % (target.name, child.returncode, text[-6000:]), flush=True)
    else:
        print("%-20s %10d runs %8d a second  %6d edges %7d features" %
              (target.name, result["runs"], result["runs"] / max(seconds, 0.001), result["edges"], result["features"]),
              flush=True)
    return status == 0, result


def smoke(target):
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        return run(target, [scratch, os.path.join(OUT, "seed", target.name)],
                   ["-runs=%d" % target.runs, "-seed=1", "-len_control=0"])[0]


def series(target, seconds):
    corpus = os.path.join(OUT, "corpus", target.name)
    os.makedirs(corpus, exist_ok=True)
    good, result = run(target, [corpus, os.path.join(OUT, "seed", target.name)], ["-max_total_time=%d" % seconds])
    totals = {}
    if os.path.exists(TOTALS):
        with open(TOTALS, encoding="ascii") as f:
            totals = json.load(f)
    row = totals.setdefault(target.name, {"runs": 0, "seconds": 0, "edges": 0, "features": 0, "finds": 0})
    row["runs"] += result["runs"]
    row["seconds"] += int(result["seconds"])
    row["edges"] = max(row["edges"], result["edges"])
    row["features"] = max(row["features"], result["features"])
    row["finds"] += not good
    with open(TOTALS, "w", encoding="ascii") as f:
        json.dump(totals, f, indent=1)
    return good


def rounds(chosen, hours):
    end, seconds, bad = time.monotonic() + hours * 3600, 20, set()
    while time.monotonic() < end:
        for t in chosen:
            left = int(end - time.monotonic())
            if left > 1 and t.name not in bad and not series(t, min(seconds, left)):
                bad.add(t.name)
        seconds = min(seconds * 2, 600)
    return [t.name not in bad for t in chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--smoke", action="store_true")
    how.add_argument("--time", type=int)
    how.add_argument("--rounds", type=float)
    parser.add_argument("target", nargs="*")
    options = parser.parse_args()
    chosen = targets(options.target)
    os.makedirs(os.path.join(OUT, "found"), exist_ok=True)
    shutil.rmtree(os.path.join(OUT, "seed"), ignore_errors=True)
    subprocess.run([sys.executable, os.path.join(HERE, "seed.py"), os.path.join(OUT, "seed"), "tests/data"], check=True)
    if options.smoke:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            good = list(pool.map(smoke, sorted(chosen, key=lambda t: -t.runs)))
    elif options.rounds:
        good = rounds(chosen, options.rounds)
    else:
        good = [series(t, options.time) for t in chosen]
    print("%d passed, %d failed, 0 skipped" % (good.count(True), good.count(False)))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
