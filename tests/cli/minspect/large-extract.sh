# Eight thousand modules that are host code: the functions of the library are one file, which the index names for each.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 "$ROOT/tests/large/make.py" . modules.so
python3 "$ROOT/tests/large/measure.py" modules.so "minspect --extract OUT FILE"
minspect --extract out modules.so
(cd out && find . -type f | sort)
python3 - <<'END'
import json
files = json.load(open("out/index.json"))["files"]
print(len(files), {(f["name"], f["kind"], f["xxh128"] is None) for f in files}, files[7999]["path"])
print(len(json.load(open("out/" + files[7999]["name"]))["functions"]))
END
# a module that is asked for alone is shown as ever
minspect --show /7 modules.so | python3 -c "import json, sys; print(len(json.load(sys.stdin)['functions']))"
