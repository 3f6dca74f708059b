# All host functions of all libraries and objects, and their GPU code for AMD, instruction by instruction as
# llvm-objdump has them.
command -v llvm-objdump-19 >/dev/null || { echo "llvm-objdump-19 is not installed"; exit 77; }
python3 - <<'END'
import functools, glob, os, re, subprocess

def rows(text):
    """Addresses and instructions, without names and what is said behind an instruction."""
    out = []
    for line in text.splitlines():
        amd = re.match(r"\s+(.*?)\s*// 0*([0-9A-F]+): [0-9A-F]{8}", line)  # the address is behind it
        if amd:
            line = f"{amd[2].lower()}: {amd[1]}"
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

@functools.cache
def code_object(file, path, target):
    """The image that a listing of GPU code is of, as a file."""
    name = f"{len(os.listdir('.'))}.hsaco"
    subprocess.run(["minspect", "--show", f"{path}#{target}", "--output", name, file], check=True)
    return name

files = sorted(f for f in glob.glob("data/*/*") + glob.glob("data/*/*/*")
               if f.endswith((".so", ".o", ".obj", ".dll", ".dylib")))
functions = instructions = kernels = 0
for file in files:
    done = subprocess.run(["minspect", "disasm", "--all", file], capture_output=True, text=True)
    if done.returncode and not (file.startswith("data/gpu/cuda") and "nvdisasm" in done.stderr):
        print(file, done.returncode, done.stderr.strip()[:100])
        continue
    for listing in re.split(r"\n\n(?=\S)", done.stdout):
        head = re.match(r"(?:(\S+)#\S+: hsaco (\S+)\n)?([0-9a-f]{16}) <(.*)>:\n", listing)
        if not head:
            continue
        path, target, *head = head.groups()
        what = code_object(file, path, target) if path else file
        kernels += path is not None
        # Mach-O has an underscore in front of C's names
        want = rows(subprocess.run(
            ["llvm-objdump-19", "-d", "--no-show-raw-insn", "--print-imm-hex", f"--disassemble-symbols={head[1]},_{head[1]}", what],
            capture_output=True, text=True).stdout)
        if file.endswith(".dll"):  # ours count from where it is loaded
            want = [w.replace("18000", "") for w in want]
        got = rows(listing)
        # objdump goes on to the next symbol, we end where the function does
        assert got and want[:len(got)] == got, (file, head[1], [(w, g) for w, g in zip(want, got) if w != g][:3])
        size = sizes(what).get(head[1])
        if size and len(want) > len(got):
            assert int(want[len(got)].split(":")[0], 16) == int(head[0], 16) + size, (file, head[1])
        functions += 1
        instructions += len(got)
print(functions > 100, instructions > 20000, kernels)
END
