# Names that end a text, a comment, an element or a line of documents which programs read: a parser of each form reads
# the document, and it has the parts that it has with a harmless name.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >try.py <<'END'
import csv, io, json, re, subprocess, sys, xml.etree.ElementTree as tree

try:
    import tomllib
except ImportError:
    tomllib = None # Python before 3.11

data = sys.argv[1]
plain = open(data + "/formats/01_opencl_scale.blob", "rb").read()
# as long as the name of the kernel, and as its kind
names = [b'a"];b [c="d"', b"*/int x;/*aa", b"</script><a>", b"]]><x></x><!", b"'''\nx = 1\n''", b'"""\nx = 1\n""', b"a\\\n#error x\n",
         b"|`</td>|<b>|", b"\r\n\r\na,b,c,d,", b'=cmd|"/C x"!', b"-->&lt;&a;&#", b"??/\"??/\n??/ ", b"%n%s%x%p%n%s", b"${x}$(x)`x`a"]

def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    if done.returncode < 0 or done.returncode == 70:
        print("status", done.returncode, *words)
    return done.stdout

def look(path, name):
    """What each document is like; name: how the kernel is called in it."""
    found = {}
    for action in ["json"], ["functions", "--json"], ["size", "--json"], ["verify", "--json"], ["sbom"], ["--sbom=spdx"], ["check", "--json"]:
        words = json.loads(run("minspect", *action, path))
        found["keys of " + " ".join(action)] = sorted(words)
    # XML: no element more
    drawing = tree.fromstring(run("minspect", "svg", path))
    found["elements of svg"] = [e.tag for e in drawing.iter()]
    # HTML: no element begins or ends in a name
    page = run("minspect", "html", "-", path).decode(errors="replace")
    found["elements of html"] = [len(re.findall(t, page)) for t in (r"<script", r"</script", r"<!--", r"<a>", r"<b>", r"<x>")]
    # CSV: as many cells in each line, and none that is a formula
    rows = list(csv.reader(io.StringIO(run("minspect", "size", "--csv", path).decode(), newline="")))
    found["cells of csv"] = {len(r) for r in rows}
    found["formulas of csv"] = [c for r in rows for c in r if c[:1] in "=+-@" and c]
    # Markdown: as many lines and columns
    marked = run("minspect", "size", "--markdown", path).decode()
    found["columns of markdown"] = [len(re.findall(r"(?<!\\)\|", re.sub(r"(`+).*?\1", "", line))) for line in marked.split("\n")]
    # Graphviz: strings end where they do with a harmless name
    drawn = run("minspect", "dot", "tree", path).decode()
    found["lines of dot"] = len(re.sub(r'"(\\.|[^"\\])*"', "S", drawn, flags=re.S).split("\n"))
    found["rest of dot"] = re.sub(r'"(\\.|[^"\\])*"', "S", drawn, flags=re.S)
    # C: nothing but declarations; who has a compiler compiles it
    run("minspect", "header", "-o", "h.h", path)
    checked = subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-x", "c", "h.h"], capture_output=True)
    found["header"] = checked.returncode
    subprocess.run(["rm", "-f", "h.h", "h.pyi"], check=True)
    # TOML: the name comes back, under the keys of a harmless one
    subprocess.run(["rm", "-rf", "files"], check=True)
    if not tomllib:
        return found
    said = run("mpack", "unpack", path, "-o", "files")
    try:
        manifest = tomllib.load(open("files/mpack.toml", "rb"))
        found["keys of the manifest"] = sorted(manifest), all(f["name"].encode() == name for m in manifest["module"] for f in m.get("function", []))
    except OSError:
        print("unpack:", said.decode(errors="replace")[:200])
    return found

with open("evil.blob", "wb") as f:
    f.write(plain)
want = look("evil.blob", b"scale_kernel")
for name in names:
    assert len(name) == 12, name
    with open("evil.blob", "wb") as f:
        f.write(plain.replace(b"scale_kernel", name))
    got = look("evil.blob", name)
    for key in want:
        if got.get(key) != want[key]:
            print(name, key, str(got.get(key))[:600], "not", str(want[key])[:300])
print(len(names), "names")
END
python3 try.py data
