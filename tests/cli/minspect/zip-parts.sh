# Of a large library in an archive the listing keeps in memory what it reads, and says the same as of a library that
# is not compressed; it takes no more time than to unpack it. What is broken is said in the words that a small
# library has.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
command -v objcopy >/dev/null || { echo "objcopy is not installed"; exit 77; }
cat >make.py <<'PY'
import os, random, struct, subprocess, zipfile

def library(name, source, megabytes):
    """A library with a large section, so that its tables are at the end; half of it can be compressed."""
    with open("section", "wb") as f:
        for _ in range(megabytes // 2):
            f.write(random.Random(megabytes).randbytes(1 << 20) + bytes(1 << 20))
    subprocess.run(["objcopy", "--add-section", ".large=section", "--set-section-flags", ".large=noload,readonly",
                    source, name], check=True)

def archive(name, members, method):
    with zipfile.ZipFile(name, "w", method, compresslevel=1) as z:
        for member in members:
            z.write(member, "pkg/" + member)

library("module.so", "data/formats/01_opencl_scale.so", 160)
library("cuda.so", "data/gpu/cuda.so", 40)
library("hip.so", "data/gpu/hip.so", 40)
archive("stored.whl", ["module.so", "cuda.so", "hip.so"], zipfile.ZIP_STORED)
archive("packed.whl", ["module.so", "cuda.so", "hip.so"], zipfile.ZIP_DEFLATED)

archive("good.whl", ["cuda.so"], zipfile.ZIP_DEFLATED)
good = open("good.whl", "rb").read()
directory = good.index(b"PK\1\2")

def damaged(name, *changes):
    data = bytearray(good)
    for at, what in changes:
        data[at:at + len(what)] = what
    open(name, "wb").write(data)

damaged("sum.whl", (directory + 16, b"\0\0\0\0"))
damaged("data.whl", (good.index(b"pkg/cuda.so") + 11, b"\7"))
damaged("shorter.whl", (directory + 24, struct.pack("<I", 30 << 20)))
damaged("longer.whl", (directory + 24, struct.pack("<I", 50 << 20)))
damaged("cut.whl", (directory + 20, struct.pack("<I", directory // 2)))
damaged("encrypted.whl", (directory + 8, b"\1"))
damaged("claims.whl", (directory + 24, b"\xf0\xff\xff\xff"))
PY
python3 make.py
minspect packed.whl | tail -n +2
minspect --json stored.whl | sed 's/stored\.whl/packed.whl/; /bytes"/d' >stored.json
minspect --json packed.whl | sed '/bytes"/d' | diff stored.json - && echo "the same"
for f in sum data shorter longer cut encrypted claims; do
	minspect $f.whl || echo "status $?"
done
minspect --max-memory 24MiB good.whl || echo "status $?"
cat >measure.py <<'PY'
import os
output = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
pid = os.posix_spawnp("minspect", ["minspect", "--json", "packed.whl"], os.environ, file_actions=output)
_, status, usage = os.wait4(pid, 0)
peak = usage.ru_maxrss / 1024
print("packed.whl", "status %d" % status, "ok" if peak < 80 else "%.0f MiB, its largest library has 160" % peak)
PY
python3 measure.py
