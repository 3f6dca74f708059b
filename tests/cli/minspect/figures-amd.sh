# What the instructions of AMD's kernels do, by kernel and source line, as llvm-objdump and llvm-dwarfdump list them
command -v llvm-objdump-19 >/dev/null || { echo "llvm-objdump-19 is not installed"; exit 77; }
python3 - <<'END'
import collections, glob, json, os, re, subprocess

WIDTHS = {"ubyte": 1, "sbyte": 1, "byte": 1, "u8": 1, "i8": 1, "b8": 1, "ushort": 2, "sshort": 2, "short": 2, "u16": 2, "i16": 2,
          "b16": 2, "dword": 4, "b32": 4, "dwordx2": 8, "b64": 8, "dwordx3": 12, "b96": 12, "dwordx4": 16, "b128": 16}
SPACES = {"flat": "generic", "ds": "shared"}

def count(work, name):
    """Adds an instruction by its name alone."""
    work["all"] += 1
    if re.match("v_(mfma|smfmac|wmma|swmmac)", name):
        work["tensor"] += 1
    elif "_atomic_" in name or re.match("ds_(add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|cmpst)", name):
        work["atomic"] += 1
    elif access := re.match("(flat|global|scratch|buffer|ds)_(load|read|store|write)(_?2(?:st64|addr)?(?:_stride64)?)?_(?:d16_)?(?:hi_)?([a-z]+[0-9]*(?:x[0-9])?)", name):
        space, what, two, width = access.groups()
        what = "load" if what in ("load", "read") else "store"
        work[f"{SPACES.get(space, space)}_{what}_{WIDTHS[width] * (2 if two else 1)}"] += 1

def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

def listed(file):
    """Address, line and name of each instruction. objdump -l passes over rows of line 0, so the line table tells the lines."""
    rows = [(int(row[1], 16), int(row[2])) for row in (re.match(r"(0x[0-9a-f]{16})\s+(\d+) ", row) for row in
                                                      output("llvm-dwarfdump-19", "--debug-line", file)) if row]
    for row in output("llvm-objdump-19", "-d", "--no-show-raw-insn", file):
        if code := re.match(r"\s+([a-z]\w+).*// ([0-9A-F]{12}):", row):
            address = int(code[2], 16)
            yield address, ([0] + [line for at, line in rows if at <= address])[-1], code[1]

def flat(figures):
    return +collections.Counter({**{name: figures[name] for name in ("all", "tensor", "async", "atomic")}, **figures["memory"]})

for file in sorted(glob.glob("data/gpu/*.hsaco")):
    code = list(listed(file))
    for listing in json.loads("\n".join(output("minspect", "disasm", "--json", "--all", file)))["files"][0]["listings"]:
        kernel, = listing["kernels"]
        wanted = collections.defaultdict(collections.Counter)
        for address, line, name in code:
            if listing["address"] <= address < listing["address"] + listing["bytes"]:
                count(wanted[line], name)
        whole = sum(wanted.values(), collections.Counter())
        assert flat(kernel["instructions"]) == whole, (file, kernel["name"], flat(kernel["instructions"]), whole)
        lines = {line["line"]: flat(line["instructions"]) for line in kernel["lines"]}
        assert not lines or lines == {line: +work for line, work in wanted.items() if line}, (file, lines)
        print(f"{os.path.basename(file)} {kernel['name']}: {whole['all']} instructions, {len(lines)} lines")
END
minspect disasm lines data/gpu/lines.gfx942.hsaco | head -8
minspect functions -v data/gpu/lines.gfx803.hsaco
