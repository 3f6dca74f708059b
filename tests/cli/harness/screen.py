"""screen.py [--slow] COMMAND...: run a command on a terminal of 80 columns, keep what each moment of its screen showed

With --slow, for what takes two seconds: prints whether the first sign of life came in time and whether the line that
shows how far work is moved. Then whether all of it fitted, and the lines that stayed, with times and sizes as N.
"""
import os
import pty
import re
import sys
import time

options = [a for a in sys.argv[1:2] if a == "--slow"]
command = sys.argv[1 + len(options):]
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.environ["NO_COLOR"] = "1"
    os.execvp(command[0], command)
began, first, seen = time.monotonic(), None, b""
while True:
    try:
        got = os.read(fd, 65536)
    except OSError:
        break
    if not got:
        break
    first = first or time.monotonic() - began
    seen += got
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
# what is written after a carriage return is written over what stood there; ESC [ K wipes the rest
drawn = [part for part in re.split(rb"\r(?!\n)", seen)[1:] if part.startswith(b"\x1b[K") is False]
drawings = {part.split(b"\x1b[K")[0] for part in drawn}
rows, row = [], ""
for part in re.split(r"(\r\n|\r|\x1b\[K)", seen.decode()):
    if part == "\r\n":
        rows.append(row)
        row = ""
    elif part == "\r":
        row = row if row.startswith("\0") else "\0" + row
    elif part == "\x1b[K":
        row = row.lstrip("\0") if not row.startswith("\0") else ""
    elif part:
        row = part if row.startswith("\0") else row + part
rows.append(row.lstrip("\0"))
if "--slow" in options:
    print("first sign", "in time" if first and first < 1.5 else f"after {first} s",
          "moved" if len(drawings) > 2 else "stood", sorted({d.split()[0].decode() for d in drawings if d.strip()}))
print("fits" if max((len(d) for d in drawings), default=0) <= 80 else "is too wide", end="; ")
print("nothing is left" if not any(row.strip() for row in rows) else "is left:")
for row in rows:
    if row.strip():
        print(" ", re.sub(r"[0-9]+\.[0-9]+", "N", row))
sys.exit(status)
