# one page of several files; whole or not at all, and never over an input
minspect --html page.html data/relax/gelu_opencl.so data/formats/14_llvm_noblob.so data/embedded/embedded.so
grep -c '^<!DOCTYPE html>' page.html
grep -nE '(src|href)="?(https?:|//)|@import|url\([^#]' page.html || :

# the same bytes again, also through a pipe
minspect --html - data/relax/gelu_opencl.so data/formats/14_llvm_noblob.so data/embedded/embedded.so >again.html
cmp page.html again.html

# the policy names the style and the script that stand in the page
python3 - <<'END'
import base64, hashlib, re
page = open("page.html", "rb").read()
for part in (b"style", b"script"):
    text = re.search(rb"<%s>(.*?)</%s>\n" % (part, part), page, re.S).group(1)
    wanted = b"%s-src 'sha256-%s'" % (part, base64.b64encode(hashlib.sha256(text).digest()))
    print(part.decode(), wanted in page)
END

# no page when a file cannot be read, and the old one stays
echo old >old.html
minspect --html old.html data/relax/gelu_opencl.so no-such-file.so || echo "status $?"
cat old.html
cp data/relax/gelu.so in.so
chmod u+w in.so
minspect --html in.so data/relax/gelu_opencl.so in.so || echo "status $?"
cmp in.so data/relax/gelu.so
minspect --html none/page.html in.so || echo "status $?"
minspect --json --html page.html in.so || echo "status $?"
minspect --html page.html || echo "status $?"

# GPU code of any library: containers, kernels with figures, PTX unpacked; members of archives are told
# apart by their content
python3 - <<'END'
import zipfile
with zipfile.ZipFile("app.whl", "w", zipfile.ZIP_DEFLATED) as z:
    z.write("data/gpu/cuda.so", "one/lib.so")
    z.write("data/gpu/hip-packed.so", "two/lib.so")
END
minspect --html gpu.html app.whl
python3 - <<'END'
import json, re
page = json.loads(re.search(r'<script[^>]*id="?data"?[^>]*>(.*?)</script>', open("gpu.html").read(), re.S).group(1))

def rows(list, columns):
    for row in list:
        yield {c.lstrip("$*"): page["strings"][v] if c[0] == "$" and v is not None else [page["strings"][n] for n in v] if c[0] == "*" else v
               for c, v in zip(columns, row)}

for file in page["files"]:
    print(file["about"]["file"])
    for row in file["gpu_code"]:
        print(" ", *row.values())
    for c in file["gpu_containers"]:
        print(" ", c["path"], page["strings"][c["title"]], c.get("lines", "").splitlines()[-1:])
    for k in rows(file["kernels"], page["columns"]["kernels"]):
        print(" ", k["module"], k["name"], k["lines"][-1:], k["figures"][-1:])
    for p in rows(file["parts"], page["columns"]["parts"]):
        print(" ", p["module"], p["name"], p["bytes"], len(p["xxh128"]), p.get("text", "-").strip().splitlines()[0])
END
