# SPDX-License-Identifier: Apache-2.0
"""libmpk-run: what it weighs, by room, and what it takes to run a small model."""
import collections
import pathlib
import re
import subprocess

KIB = 1024
LIMIT = 400 * KIB


def room_of(path):
    """The room of an object of the build: its name in an archive says its file alone."""
    return "/".join(path.split("/")[1:3]) if path.startswith("lib/") else path.split("/")[0]


def shares(link_map):
    """Bytes of each object in what is loaded, as the linker lists them."""
    text = link_map.read_text()
    text = text[text.index("Linker script and memory map"):]
    total, section = collections.Counter(), ""
    for line in text.splitlines():
        if found := re.match(r" (\.[\w.$]+)$", line):
            section = found.group(1)
        elif found := re.match(r" (\.[\w.$]+)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S+)\((\S+)\)$", line):
            name, address, size, _, member = found.groups()
            section = name or section
            if int(address, 16) and not section.startswith((".debug", ".comment", ".note")):
                total[section.split(".")[-1], member] += int(size, 16)
    return total


def by_room(build):
    """Functions are found again in the objects that define them."""
    rooms = {}
    for made in sorted((build / "run").rglob("*.o")):
        rooms.setdefault(made.name, []).append(str(made.relative_to(build / "run").with_suffix("")))
    where = {}
    for name, paths in rooms.items():
        if len(paths) == 1:
            where[None, name] = room_of(paths[0])
            continue
        for path in paths:
            listing = subprocess.run(["readelf", "-W", "-S", build / "run" / (path + ".o")], check=True,
                                     capture_output=True, text=True).stdout
            for section in re.findall(r"\] \.\S*?\.?([\w$]+) +(?:PROGBITS|NOBITS)", listing):
                where.setdefault((section, name), room_of(path))
            where.setdefault((None, name), room_of(path))
    total = collections.Counter()
    for (section, member), size in shares(build / "librun/libmpk-run.so.0.map").items():
        total[where.get((section, member)) or where.get((None, member), "other")] += size
    return total


def library(b, root):
    """Size, share of each room; open, find, first call, a call."""
    build = pathlib.Path(b.bin).parent
    stripped = b.path("stripped.so")
    subprocess.run(["strip", "-o", stripped, str(build / "librun/libmpk-run.so.0")], check=True)
    size = pathlib.Path(stripped).stat().st_size
    row = {"group": "library", "what": "libmpk-run.so.0, stripped", "bytes": size, "goal": "640 KiB",
           "met": size <= LIMIT, "rooms": dict(by_room(build).most_common())}
    b.rows.append(row)
    print(f"{row['what']:<46} {size / KIB:>6.1f} KiB  {'met' if row['met'] else 'MISSED'}: {row['goal']}", flush=True)
    for room, share in row["rooms"].items():
        print(f"  {room:<44} {share / KIB:>6.1f} KiB", flush=True)
    for model, function in (("relax/gelu.so", "forward"), ("formats/06_relax_vm.so", "main")):
        done = subprocess.run([build / "tests/bench/native/run_step", root / "tests/data" / model, function],
                              check=True, capture_output=True, text=True).stdout.split()
        opened, found, first, call = map(float, done[:4])
        b.rows.append({"group": "library", "what": model, "open_seconds": opened, "find_seconds": found,
                       "first_call_seconds": first, "call_seconds": call, "resident_bytes": int(done[4])})
        print(f"  {model:<28} open {opened * 1e6:.0f} us, find {found * 1e6:.0f} us, first call {first * 1e6:.0f} us, "
              f"a call {call * 1e6:.2f} us, {int(done[4]) / KIB:.0f} KiB more", flush=True)
