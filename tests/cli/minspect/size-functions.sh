# functions of host code by size, as nm has them, and functions of byte code
cat >a.c <<'END'
static int __attribute__((noinline)) twice(int x) { volatile int y = x; return y + y; }
int __tvm_ffi_add(void *h, void *a, int n, void *r) { (void)h; (void)a; (void)r; return twice(n); }
int __tvm_ffi_also(void *h, void *a, int n, void *r) __attribute__((alias("__tvm_ffi_add")));
END
cat >b.cc <<'END'
namespace ns {
template <typename T> __attribute__((noinline)) T sum(const T *x, int n) { T s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
template double sum<double>(const double *, int);
}
extern "C" { static int __attribute__((noinline)) twice(int x) { volatile int y = x, z = x; return y * z + y; } }
extern "C" int other(int n) { return twice(n); }
END
cc -O1 -fPIC -c a.c && c++ -O1 -fPIC -c b.cc && cc -shared -nostdlib -Wl,--build-id=none -o x.so a.o b.o
cat >as_nm.py <<'END'
import json, subprocess, sys
name, table = sys.argv[1], sys.argv[2:]
said = json.loads(subprocess.run(["minspect", "--size", "--json", name], capture_output=True, text=True).stdout)["files"][0]["functions"]
places = {}
for line in subprocess.run(["nm", "-S", *table, name], capture_output=True, text=True).stdout.splitlines():
    cells = line.split()
    if len(cells) == 4 and cells[2] in "tTwW":
        places.setdefault(cells[0], (int(cells[1], 16), set()))[1].add(cells[3])
wanted = sorted(bytes for bytes, _ in places.values())
assert sorted(f["bytes"] for f in said) == wanted, (said, places)
assert [f["bytes"] for f in said] == wanted[::-1]
for f in said:
    assert any(f["name"] in names and f["bytes"] == bytes for bytes, names in places.values()), f
print(len(said), "functions,", sum(f["name"] == "twice" for f in said), "of one name,", sum("also" in f["name"] or "add" in f["name"] for f in said), "of two names")
END
python3 as_nm.py x.so
minspect --size x.so | sed -n '/^host functions/,/^[a-z]/s/.*  \(.*sum.*\)/\1/p'
minspect -v --size x.so | grep -c '_ZN2ns3sum'
minspect --size --csv x.so | grep -c ',function,'
minspect --size --filter 'tw*' x.so | sed -n '/^host functions/,$p' | grep -c twice
strip x.so && python3 as_nm.py x.so -D
# bytes of byte code: words of the instructions and where each begins, with which the payload ends
python3 - <<'END'
import json, struct, subprocess
data = open("data/formats/15_relax_cond.blob", "rb").read()
file = json.loads(subprocess.run(["minspect", "--size", "--json", "data/formats/15_relax_cond.blob"], capture_output=True, text=True).stdout)["files"][0]
word = lambda at: struct.unpack_from("<Q", data, at)[0]
fits = [8 * (word(at) + word(at + 8 + 8 * word(at))) for at in range(len(data) - 16)
        if word(at) < 1000 and at + 16 + 8 * word(at) <= len(data) and word(at) and word(at + 8) == 0
        and word(at + 8 + 8 * word(at)) < 1000 and at + 16 + 8 * (word(at) + word(at + 8 + 8 * word(at))) in range(len(data) - 24, len(data) + 1)]
said = sum(f["bytes"] for f in file["byte_code"])
print(said, said in fits, [f["name"] for f in file["byte_code"]])
END
