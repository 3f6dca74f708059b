# What --extract writes as a file, --show gives under the same name, and by path and name in the payload.
python3 - <<'END'
import glob, json, os, shutil, subprocess

files = sorted(glob.glob("data/formats/*.blob") + glob.glob("data/*/*.so") + glob.glob("data/cuda/*/*.so"))
shown = named = 0
for file in files:
    shutil.rmtree("out", ignore_errors=True)
    done = subprocess.run(["minspect", "--extract", "out", file], capture_output=True)
    if done.returncode == 5:
        continue  # host code only
    assert done.returncode == 0, (file, done.stderr)
    parts = json.load(open("out/index.json"))["files"]
    for part in parts:
        want = open(os.path.join("out", part["name"]), "rb").read()
        got = subprocess.run(["minspect", "--show", part["name"], file], capture_output=True)
        assert got.returncode == 0 and got.stdout == want, (file, part, got.stderr)
        shown += 1
        title = part.get("title", part["name"].split("/", 1)[1])
        if title and sum(p["path"] == part["path"] and p.get("title") == title for p in parts) < 2:
            spec = part["path"] + "#" + title
            got = subprocess.run(["minspect", "--show", spec, file], capture_output=True)
            assert got.returncode == 0 and got.stdout == want, (file, spec, got.stderr)
            named += 1
print(shown > 150, named > 150)
END
