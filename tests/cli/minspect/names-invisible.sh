# every character that reorders or parts lines, or that nobody sees, is escaped in every form of output, and a reader of JSON
# has the name back: names of members, tensors, files and cases
cat >try.py <<'PY'
import json, os, struct, subprocess, sys, zipfile

# Unicode 16.0, PropList.txt and DerivedCoreProperties.txt: Bidi_Control, Default_Ignorable_Code_Point; C1, Zl, Zp
RANGES = """80-9f ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 2028-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8
1bca0-1bca3 1d173-1d17a e0000-e0fff"""
POINTS = [chr(cp) for r in RANGES.split() for a, _, b in [r.partition("-")] for cp in range(int(a, 16), int(b or a, 16) + 1)]
SEEN = "é ß 漢 \U0001f600 \u0301 \u00a0"  # letters, accents, emoji, a blank: they stay
raw = set(POINTS)
NAMES = ["n%d %s %s" % (i, "".join(POINTS[i:i + 60]), SEEN) for i in range(0, len(POINTS), 60)]
print(len(POINTS), "characters")
cubin = open("data/device/sums.sm_90.cubin", "rb").read()


def wheel(path, names):
    with zipfile.ZipFile(path, "w") as z:
        for name in names:
            z.writestr(name + ".so", cubin)


# all of them through each form of a table; one of each range through all that is slower
header = json.dumps({n: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i, n in enumerate(NAMES)},
                    ensure_ascii=False).encode()
open("t.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + bytes(len(NAMES)))
wheel("all.whl", NAMES)
FEW = "x" + "".join(chr(int(r.partition("-")[0], 16)) for r in RANGES.split()) + "y"
wheel("few.whl", [FEW, "b"])
wheel(FEW + ".whl", ["a"])
open("c.toml", "w").write("[[case]]\nname = %s\nrun = %s\n" % (json.dumps(FEW[1:17]), json.dumps(FEW[1:17])))
bad = []


def run(*words, files=(), ok=True):
    done = subprocess.run(["minspect", *words], capture_output=True)
    text = (done.stdout + done.stderr).decode("utf-8")  # no byte of it is broken
    for path in files:
        text += open(path, encoding="utf-8").read()
        os.unlink(path)
    found = sorted(raw & set(text))
    if found or done.returncode == 70 or done.returncode < 0:
        bad.append((ascii(words), done.returncode, ascii("".join(found))[:80]))
    return done.stdout.decode(), text


def strings(value):
    if isinstance(value, str):
        yield value
    for v in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(v)


for path in ("t.safetensors", "all.whl"):
    run("-v", path), run("verify", path), run("size", path, "--all"), run("size", "--csv", path), run("size", "--markdown", path)
    back = "\n".join(strings(json.loads(run("--json", "-v", path)[0])))
    print(path, "as JSON:", all(name in back for name in NAMES))
    json.loads(run("--html", "o.html", path, files=["o.html"])[0] or "{}")
for path in ("few.whl", FEW + ".whl", "few.whl!/" + FEW + ".so", "none" + FEW, FEW):
    for words in (["functions"], ["functions", "--csv"], ["--json"], ["check"], ["check", "--json"], ["verify", "--json"], ["--sbom"],
                  ["--sbom=spdx"], ["--dot"], ["--diff", "few.whl!/b.so"], ["--diff", "few.whl!/b.so", "--markdown"], ["--header"],
                  ["--code-digest"], ["--show", "#" + FEW], ["--disasm", FEW], ["--extract", "out"], ["--explain", FEW], ["--run", FEW]):
        run(*words, path)
    run("--svg", path)
for words in (["--tap"], ["--json"], ["--junit", "j.xml"], []):
    run("--cases", "c.toml", "few.whl!/b.so", *words)
if os.path.exists("j.xml"):
    bad += [("j.xml", c) for c in raw & set(open("j.xml", encoding="utf-8").read())]
wheel("letters.whl", [SEEN])
print("letters stay:", all(SEEN in run(*words, "letters.whl!/%s.so" % SEEN)[1] for words in ([], ["verify"], ["size"], ["--json"])))
print("raw:", bad)
PY
python3 try.py
