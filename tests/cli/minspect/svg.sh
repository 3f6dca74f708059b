# a picture of where the bytes are: well-formed, alone, of boxes that fill what they are in
cat >look.py <<'END'
import re, sys
import xml.etree.ElementTree as tree

NAME = "{http://www.w3.org/2000/svg}"
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    root = tree.fromstring(text.encode())
    boxes = root.findall(f"{NAME}g")
    inside = all(0 <= float(r.get("x")) and float(r.get("x")) + float(r.get("width")) <= 1200 and 0 <= float(r.get("y"))
                 and float(r.get("y")) + float(r.get("height")) <= 800 for g in boxes for r in g.findall(f"{NAME}rect"))
    top = [(g.find(f"{NAME}title").text.split("\n")[-1], r) for g in boxes for r in g.findall(f"{NAME}rect")]
    top = [(t, r) for t, r in top if re.match("section|host code|debug", t)]
    share = lambda r: 100 * float(r.get("width")) * float(r.get("height")) / (1160 * 702)
    wrong = [t for t, r in top if abs(share(r) - float(re.search(r"([0-9.]+) %", t).group(1))) > 0.2]
    print(path, "titles", all(g.find(f"{NAME}title").text for g in boxes), "inside", inside)
    print(" ", "no script, no reference:", not re.search(r"<script|href|url\(|@import|\bon\w+=", text), "dark:", "prefers-color-scheme:dark" in text)
    print(" ", "areas that are not the shares:", wrong)
    for kind in ("device", "code of a device", "kernel", "function", "tensor"):
        titles = sorted(g.find(f"{NAME}title").text for g in boxes if g.find(f"{NAME}title").text.split("\n")[-1].startswith(kind + ","))
        print(" ", f"{kind}:", *[t.split("\n")[0] for t in titles[:3]])
END

minspect --svg data/relax/gelu_opencl.so -o model.svg
minspect svg data/gpu/cuda.so >gpu.svg
minspect svg data/embedded/embedded.so -o embedded.svg
minspect svg data/formats/15_relax_cond.blob -o blob.svg
python3 look.py model.svg gpu.svg embedded.svg blob.svg

# names are no markup, and what is no character of XML is escaped
printf 'x' >text.bin
cat >hostile.toml <<'END'
[package]
name = "hostile"
[[module]]
id = "a"
kind = "</title><script>alert(1)</script>&\u0007\uffff"
payload = "text.bin"
END
mpack build -q hostile.toml -o hostile.blob
minspect svg hostile.blob -o hostile.svg
python3 look.py hostile.svg

# the same bytes again; shares are those of --size
minspect svg data/gpu/cuda.so | cmp - gpu.svg
minspect svg data/gpu/cuda.so data/relax/gelu.so || echo "status $?"
minspect svg --json data/gpu/cuda.so || echo "status $?"
minspect svg no-such-file.so || echo "status $?"
