#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py - actions on large files: do they keep to the law of memory, and take no time that is quadratic?

  measure.py [--figures] FILE ACTION...

An ACTION is a command line in one word, in which FILE stands for the file and OUT for a path that is not there
yet: 'minspect --json FILE'. Each may take 64 MiB and four times FILE, as --max-memory promises, and 2 s of
processor time in user mode: the system's depends on the file system. A line for each says whether it keeps to
that, and with --figures what it took. A refusal is not good enough.
"""
import os
import shutil
import subprocess
import sys

TIME_S = 2.0


def run(words):
    """Status, MiB and seconds of a command that a small process starts: a large one counts as what it starts."""
    ask = ("import os, sys\n"
           "pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)\n"
           "_, status, usage = os.wait4(pid, 0)\n"
           "print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, usage.ru_utime, file=sys.stderr)\n")
    with open("said", "wb") as said:
        done = subprocess.run([sys.executable, "-S", "-c", ask, *words], stdout=said, stderr=subprocess.PIPE, check=True)
    lines = done.stderr.decode(errors="replace").splitlines()
    status, peak, seconds = lines[-1].split()
    return int(status), int(peak) / 1024, float(seconds), " ".join(lines[:-1])


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def main(arguments):
    figures = arguments[0] == "--figures"
    file, *actions = arguments[figures:]
    law = 64 + 4 * os.path.getsize(file) / (1 << 20)
    for action in actions:
        words = [{"FILE": file, "OUT": "out"}.get(word, word) for word in action.split()]
        status, peak, seconds, text = run(words)
        remove("out")
        wrong = []
        if status not in (0, 1):
            wrong.append("status %d: %s" % (status, text[:200]))
        if peak > law:
            wrong.append("%.1f MiB, the law is %.1f" % (peak, law))
        if seconds > TIME_S:
            wrong.append("%.1f s" % seconds)
        took = " (%.1f MiB, %.2f s)" % (peak, seconds) if figures else ""
        print(file, action, ("; ".join(wrong) or "ok") + took, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
