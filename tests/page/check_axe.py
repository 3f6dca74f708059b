#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_axe.py - what axe-core finds wrong with pages of minspect --html, for people who do not see or do not point

  check_axe.py AXE.js PAGE...

AXE.js is axe.min.js. Each view of each page is looked at, light and dark, on a desk and on a phone. Prints a line a page;
1: something was found.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402


def look(b, script, page):
    found = set()
    for scheme, (width, height, mobile) in (("light", (1280, 900, False)), ("dark", (390, 844, True))):
        b.size(width, height, mobile)
        b.colours(scheme)
        b.open(page)
        b.run(script + "; true")
        for name in b.run("openTabs()"):
            b.click(f"#tab-{name}")
            # an open row, too
            b.run("(row => row && !row.classList.contains('open') && row.click())(document.querySelector('[role=tabpanel]:not([hidden]) .data-table tr[data-row]:not(.go)')); true")
            if b.run("shownTab") != name:
                b.click(f"#tab-{name}")
            found |= set(b.run("""axe.run({ exclude: [[".line + .line"], [".cell + .cell"]] }, { resultTypes: ["violations"] }).then(result => result.violations.flatMap(v => v.nodes.slice(0, 3).map(n =>
                `${v.id}: ${n.html.slice(0, 120)}`)))"""))
    return sorted(found)


def main():
    failed = False
    with open(sys.argv[1], encoding="utf-8") as file:
        script = file.read()
    with Browser() as b:
        for page in sys.argv[2:]:
            found = look(b, script, page)
            failed |= bool(found)
            print("FAIL" if found else "ok  ", os.path.basename(page), *found, sep="\n  " if found else " ", flush=True)
    sys.exit(failed)


main()
