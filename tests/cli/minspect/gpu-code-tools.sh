# what the compilers' own tools print of GPU code is what minspect prints
for tool in clang-offload-bundler-19 llvm-objdump-19 llvm-readelf-19 llvm-objcopy-19; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
cat >compare.py <<'END'
import json, os, re, subprocess, sys


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def look(path):
    return json.loads(run("minspect", "--json", "--functions", path))["files"][0]["device_code"]


def section(path, name):
    run("llvm-objcopy-19", f"--dump-section={name}=section.bin", path, "copy.bin")
    return open("section.bin", "rb").read()


# bundles, compressed and not: the targets of each
for name in ("hip.so", "hip-packed.so"):
    path = f"data/gpu/{name}"
    bytes_, base = section(path, ".hip_fatbin"), None
    for container in look(path):
        at, size = container["code"]["offset"], container["code"]["bytes"]
        base = at if base is None else base
        open("one.bin", "wb").write(bytes_[at - base:at - base + size])
        theirs = sorted(run("clang-offload-bundler-19", "--list", "--type=o", "--input=one.bin").split())
        ours = sorted("-".join((e["offload_kind"], e["triple"], "", e["target"])) for e in container["code"]["bundle"])
        assert theirs == ours, (theirs, ours)
        for e in container["code"]["bundle"]:
            if e["image"] == "host":
                continue
            target = "-".join((e["offload_kind"], e["triple"], "", e["target"]))
            run("clang-offload-bundler-19", "--unbundle", "--type=o", f"--targets={target}", "--input=one.bin",
                "--output=image.bin")
            assert os.path.getsize("image.bin") == e["plain_bytes"]
    print(name, "targets")

# offload binaries
theirs = re.findall(r"arch\s+(\S+)\ntriple\s+(\S+)", run("llvm-objdump-19", "--offloading", "data/gpu/offload.o"))
ours = [(e["target"], e["triple"]) for c in look("data/gpu/offload.o") for e in c["code"]["bundle"]]
assert theirs == ours, (theirs, ours)
print("offload.o targets")

# the metadata of code objects
keys = {"sgprs": ".sgpr_count", "vgprs": ".vgpr_count", "agprs": ".agpr_count", "sgpr_spills": ".sgpr_spill_count",
        "vgpr_spills": ".vgpr_spill_count", "lds_bytes": ".group_segment_fixed_size",
        "scratch_bytes": ".private_segment_fixed_size", "parameter_bytes": ".kernarg_segment_size",
        "wavefront": ".wavefront_size"}
for name in ("hip.so", "hip-packed.so", "bundled.o"):
    path, count = f"data/gpu/{name}", 0
    run("minspect", "--extract", name + ".d", path)
    for file in sorted(os.listdir(f"{name}.d/gpu")):
        notes = run("llvm-readelf-19", "--notes", f"{name}.d/gpu/{file}")
        target = re.search(r"amdhsa.target:\s+'?amdgcn-amd-amdhsa--([^'\n]+)", notes).group(1)
        number = int(file.split("-")[0].split(".")[0])
        kernels = {k["name"]: k["figures"] for k in look(path)[number]["kernels"]}
        symbols = run("llvm-readelf-19", "-sW", f"{name}.d/gpu/{file}")
        for part in re.split(r"(?=\.agpr_count|  - \.args)", notes)[1:]:
            found = re.search(r"\.name:\s+(\S+)\n\s+\.private", part)
            if not found:
                continue
            figures = [f for f in kernels[found.group(1)] if f["target"] == target]
            assert len(figures) == 1, (file, target)
            for ours, theirs in keys.items():
                value = re.search(re.escape(theirs) + r":\s+(\d+)", part)
                assert int(value.group(1) if value else 0) == figures[0][ours], (file, ours)
            size = re.search(r"(\d+) FUNC\s.*\s" + found.group(1) + "$", symbols, re.M)
            assert int(size.group(1)) == figures[0]["code_bytes"]
            count += 1
    print(name, count, "kernels")
END
python3 compare.py
# NVIDIA's tool, where it is installed
if command -v cuobjdump >/dev/null; then
	cuobjdump -lelf data/gpu/cuda.so | sed -n 's/.*\.\(sm_[0-9a-z]*\)\.cubin$/\1/p' | sort >theirs
	minspect --json --functions data/gpu/cuda.so |
		python3 -c 'import json, sys
for c in json.load(sys.stdin)["files"][0]["device_code"]:
    print(*[i["target"] for i in c["code"]["images"] if i["kind"] == "cubin"], sep="\n")' | sort >ours
	cmp theirs ours
fi
