# What images for several devices have the same, the names of their kernels and what these take, is in a document once;
# with it in its places each image has what it has when it is looked at alone.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >same.py <<'EOF'
import glob, json, os, shutil, subprocess, sys

def containers(path):
    done = subprocess.run(["minspect", "functions", "--json", path], capture_output=True)
    return json.loads(done.stdout)["files"][0].get("device_code", []) if done.returncode == 0 else []

def whole(found, list, key):
    return list[found[key + "_as"]][key] if key + "_as" in found else found.get(key)

for path in sys.argv[1:]:
    shutil.rmtree("out", ignore_errors=True)
    subprocess.run(["minspect", "extract", "out", path], check=True, capture_output=True)
    alone = {}
    for image in filter(os.path.isfile, glob.glob("out/**", recursive=True, include_hidden=True)):
        for container in containers(image):
            for kernel in container["kernels"]:
                for figures in kernel["figures"]:
                    key = figures["format"], figures["target"], kernel["name"]
                    alone.setdefault(key, []).append(figures.get("parameters"))
    said = shared = compared = 0
    for container in containers(path):
        code = container["code"]
        images = [image.get("code", {}) for image in code.get("images", []) + code.get("bundle", [])]
        shared += sum("entries_as" in image for image in images)
        names = {name for image in images for name in whole(image, images, "entries") or []}
        for kernel in container["kernels"]:
            assert kernel["name"] in names
            for figures in kernel["figures"]:
                assert "parameters_as" not in figures or "parameters" not in figures
                said += 1
                shared += "parameters_as" in figures
                key = figures["format"], figures["target"], kernel["name"]
                if key in alone:
                    assert whole(figures, kernel["figures"], "parameters") in alone[key]
                    compared += 1
    print(f"{path}: {said} figures, {shared} times as another image, {compared} compared with the image alone")
EOF
python3 same.py data/gpu/cuda.so data/gpu/hip.so data/device/tiny.speed.fatbin
