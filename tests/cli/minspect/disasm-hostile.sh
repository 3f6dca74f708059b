# Code that is none, tables that lie: an answer or an error, within time and memory.
python3 - <<'END'
import random, subprocess

random.seed(16)
statuses = set()
for name in ("data/formats/03_cuda_ptx.so", "data/objects/host.arm64.o", "data/objects/host.x86_64.obj",
             "data/embedded/embedded.so", "data/formats/06_relax_vm.blob"):
    whole = open(name, "rb").read()
    for i in range(24):
        bytes_ = bytearray(whole)
        for _ in range(random.choice((1, 20, 400))):
            bytes_[random.randrange(len(bytes_))] = random.randrange(256)
        open("x", "wb").write(bytes_[:random.choice((len(bytes_), random.randrange(len(bytes_))))])
        done = subprocess.run(["minspect", "--disasm", "x"], capture_output=True, timeout=60)
        assert done.returncode in (0, 3, 4, 5, 6), (name, i, done.returncode, done.stderr)
        assert b"\033" not in done.stdout and b"\033" not in done.stderr, (name, i)
        statuses.add(done.returncode)
print(0 in statuses, 4 in statuses)
END
