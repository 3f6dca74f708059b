# All host functions of all libraries and objects, instruction by instruction as llvm-objdump has them.
command -v llvm-objdump-19 >/dev/null || { echo "llvm-objdump-19 is not installed"; exit 77; }
python3 - <<'END'
import functools, glob, re, subprocess

def rows(text):
    """Addresses and instructions, without names and what is said behind an instruction."""
    out = []
    for line in text.splitlines():
        if not re.match(r" *[0-9a-f]+:", line):
            continue
        line = re.sub(r"\s+(//|##?|@|;) .*$", "", line)
        out.append(re.sub(r"\s+", " ", re.sub(r" <[^>]*>", "", line)).strip())
    return out

@functools.cache
def sizes(file):
    lines = subprocess.run(["llvm-nm-19", "-SP", "--defined-only", file], capture_output=True, text=True).stdout
    lines += subprocess.run(["llvm-nm-19", "-DSP", "--defined-only", file], capture_output=True, text=True).stdout
    words = [line.split() for line in lines.splitlines()]
    return {w[0]: int(w[3], 16) for w in words if len(w) == 4}

files = sorted(f for f in glob.glob("data/*/*") + glob.glob("data/*/*/*")
               if f.endswith((".so", ".o", ".obj", ".dll", ".dylib")))
functions = instructions = 0
for file in files:
    done = subprocess.run(["minspect", "--disasm", file], capture_output=True, text=True)
    if done.returncode:
        print(file, done.returncode, done.stderr.strip()[:100])
        continue
    for listing in re.split(r"\n(?=[0-9a-f]{16} <)", done.stdout):
        head = re.match(r"([0-9a-f]{16}) <(.*)>:\n", listing)
        if not head:
            continue
        # Mach-O has an underscore in front of C's names
        want = rows(subprocess.run(
            ["llvm-objdump-19", "-d", "--no-show-raw-insn", "--print-imm-hex", f"--disassemble-symbols={head[2]},_{head[2]}", file],
            capture_output=True, text=True).stdout)
        if file.endswith(".dll"):  # ours count from where it is loaded
            want = [w.replace("18000", "") for w in want]
        got = rows(listing)
        # objdump goes on to the next symbol, we end where the function does
        assert got and want[:len(got)] == got, (file, head[2], [(w, g) for w, g in zip(want, got) if w != g][:3])
        size = sizes(file).get(head[2])
        if size and len(want) > len(got):
            assert int(want[len(got)].split(":")[0], 16) == int(head[1], 16) + size, (file, head[2])
        functions += 1
        instructions += len(got)
print(functions > 100, instructions > 20000)
END
