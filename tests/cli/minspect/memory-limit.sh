# Whatever a file claims, an inspection takes at most 64 MiB and four times its bytes: a chain of 100,000
# modules, and a gigabyte of zeros in a megabyte. What needs more is refused, and says how to get it.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >try.py <<'END'
import gzip, io, os, resource, struct, subprocess, sys, tarfile

def u64(*values):
    return struct.pack("<%dQ" % len(values), *values)

def chain(n):
    rows = list(range(n)) + [n - 1]
    body = u64(len(rows), *rows) + u64(n - 1, *range(1, n))
    body += (u64(4) + b"kind" + u64(1) + b"x") * n
    return u64(len(body)) + body

def bomb():
    info = tarfile.TarInfo("devc.o")
    info.size = 1 << 30
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as z:
        z.write(info.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(1 << 10):
            z.write(bytes(1 << 20))
    return out.getvalue()

open("chain.blob", "wb").write(chain(100000))
open("bomb.tar.gz", "wb").write(bomb())
for name in "chain.blob", "bomb.tar.gz":
    law = 64 * 1024 + 4 * os.path.getsize(name) // 1024
    for action in ["--verify"], ["--functions"], ["--size"], ["--json"], []:
        pid = os.posix_spawnp("minspect", ["minspect", *action, name], os.environ,
                              file_actions=[(os.POSIX_SPAWN_OPEN, i, "said", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600) for i in (1, 2)])
        _, status, usage = os.wait4(pid, 0)
        with open("said", "rb") as said: # what a large parent holds would count as the child's
            text = said.read(4096)
            said.seek(max(0, os.path.getsize("said") - 4096))
            text = (text + said.read()).decode(errors="replace")
        refused = "out of memory" in text or "when unpacked" in text
        ok = usage.ru_maxrss <= law and os.waitstatus_to_exitcode(status) == (4 if refused else 0)
        print(name, *action, "within the law" if ok else ("%d KiB, law %d, %s" % (usage.ru_maxrss, law, text[-300:])))
END
python3 try.py
python3 "$ROOT/tests/large/make.py" . broken.blob # an error for each of 100,000 modules
minspect --json broken.blob >/dev/null || echo "status $?"
minspect --max-memory none --json broken.blob | grep -o '"problem"' | wc -l
minspect --max-memory 16MiB --json chain.blob >/dev/null || echo "status $?"
minspect --json --max-memory none chain.blob | wc -l
minspect --all --max-memory 2GiB chain.blob | wc -l
minspect --json chain.blob | wc -l
minspect --max-memory lots chain.blob || echo "status $?"
minspect --run f --max-memory 1GiB chain.blob || echo "status $?"
