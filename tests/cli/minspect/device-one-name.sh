# what an image is for has one name: what every action prints for the same file, and that each takes what the others print
cat >names.py <<'P'
import csv
import glob
import io
import json
import os
import re
import subprocess
import sys

TARGET = re.compile(r"\b(?:sm|compute|lto)_\d+[af]?\b|\bgfx[0-9a-f]+(?:-generic)?(?::[a-z]+[+-])*")


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)


def names(text):
    return set(TARGET.findall(text))


for path in sys.argv[1:]:
    listing = json.loads(said("minspect", "--json", path).stdout)["files"][0]
    rows = listing["gpu_code"]
    all_names = {r["target"] for r in rows}
    with_kernels = {r["target"] for r in rows if r["image"] in ("cubin", "PTX", "code object")}
    found = {"listing": names(said("minspect", path).stdout) & all_names | all_names}
    found["functions"] = names("\n".join(l for l in said("minspect", "functions", "--all", path).stdout.splitlines()
                                         if re.match(r" +(PTX|cubin|code object) ", l)))
    table = csv.DictReader(io.StringIO(said("minspect", "size", "--csv", path).stdout))
    found["size"] = {r["target"] for r in table if r["target"]}
    said("minspect", "baseline", "b.json", path, "--update-baseline")
    found["baseline"] = set(re.findall(r'"target": "([^"]+)"', open("b.json", encoding="utf-8").read()))
    os.remove("b.json")
    found["digest"] = names(" ".join(re.findall(r"\(([^()]*)\)$", said("minspect", "code-digest", path).stdout, re.M)))
    said("minspect", "extract", "parts", path)
    found["extract"] = {n.replace(":", "-") for n in
                        names(" ".join(os.path.basename(f) for f in glob.glob("parts/gpu/*") + glob.glob("parts/*")))}
    said("rm", "-rf", "parts")
    for action, got in found.items():
        # digests of images that nothing reads have no target; files of one image are extracted by its format
        wanted = all_names if action in ("listing", "extract") else with_kernels
        if action == "extract":
            if len(all_names) == 1:
                continue
            # features follow a dash: the name is one of a file
            wanted, got = {re.sub(":.*", "", n) for n in wanted}, {re.sub("-.*", "", n) for n in got}
        if wanted != got:
            print(f"{path}: {action} has {sorted(got)}, the listing {sorted(wanted)}")
    for name in sorted(with_kernels):
        for action in (["show", "#" + name, path], ["disasm", "#" + name, path]):
            run = said("minspect", *action)
            if run.returncode and "nvdisasm" not in run.stderr and "spirv-dis" not in run.stderr:
                print(f"{' '.join(action)}: {run.returncode} {run.stderr}")
    print(f"{path}: {', '.join(sorted(all_names))}")
P
python3 names.py data/device/tiny.lto.fatbin data/device/tiny.speed.fatbin data/device/two.ptx data/device/shape.ptx \
	data/device/two.sm_90a.cuda12.cubin data/device/tiny.sm_120a.cubin data/gpu/cuda.so data/gpu/hip.so data/gpu/mix.gfx90a.hsaco \
	data/gpu/mix.gfx11-generic.hsaco
