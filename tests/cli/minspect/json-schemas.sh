# what --json prints is what the installed schemas promise
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3 has no jsonschema"; exit 77; }
printf 'MZ\220\0' >a.dll
head -c 9000 data/formats/01_opencl_scale.so >cut.so
files="data/formats/*.so data/formats/*.blob data/ffi/*.so data/relax/*.so data/cuda/*/*.so
	data/formats/12_syslib_prefix.tar data/objects/*.o data/objects/*.dll data/objects/*.dylib
	data/csource/*.tar data/csource/*.c data/embedded/*.so data/embedded/*.o data/gpu/*.so data/gpu/*.o a.dll cut.so missing.so"
# look NAME OPTION...: one document over all files; three of them do not open, and one holds no module
look()
{
	name=$1
	shift
	# shellcheck disable=SC2086 # a list of patterns
	minspect -q --json "$@" $files >"$name.json" 2>/dev/null || true
}
python3 -c 'import zipfile
with zipfile.ZipFile("app.whl", "w", zipfile.ZIP_DEFLATED) as z:
    z.write("data/gpu/hip.so", "a.so"), z.write("data/formats/01_opencl_scale.so", "b.so"), z.write("cut.so", "c.so")'
look minspect
minspect --json app.whl >archive.json || test $? = 4
look verbose -v
look minspect-functions --functions
look filtered --functions --filter "*d*"
look filtered-summary --filter opencl
look minspect-verify --verify
look minspect-size --size
look minspect-check --check --tvm 0.27 --device-arch sm_86
look minspect-disasm --disasm
look minspect-diff --diff data/formats/07_relax_opencl.so
look noise --ignore noise --diff data/formats/07_relax_opencl.so
look minspect-code-digest --code-digest
look minspect-occupancy --occupancy
look minspect-memory memory
minspect -q --baseline minspect-baseline.json --update-baseline data/formats/*.so data/cuda/fatbin/vadd_cuda.so >measured.txt
cp data/cuda/cubin/saxpy_cuda.so vadd_cuda.so
minspect -q --json --baseline minspect-baseline.json data/formats/*.so vadd_cuda.so missing.so cut.so a.dll \
	>minspect-gate.json 2>/dev/null || true
minspect --json --extract out data/formats/06_relax_vm.so >minspect-extract.json
cp out/index.json minspect-index.json
minspect --json --extract embedded data/embedded/embedded.so >extract-embedded.json
minspect --json --extract gpu data/gpu/hip-packed.so >extract-gpu.json
minspect --json --header declared.h data/formats/06_relax_vm.so >minspect-header.json
minspect --json --explain >minspect-explain.json
cat >validate.py <<'END'
import json, sys
from jsonschema import Draft202012Validator
for name in sys.argv[2:]:
    of = {"verbose": "minspect", "archive": "minspect", "filtered": "minspect-functions", "filtered-summary": "minspect",
          "noise": "minspect-diff", "extract-embedded": "minspect-extract", "extract-gpu": "minspect-extract"}.get(name, name)
    schema = json.load(open(f"{sys.argv[1]}/{of}.schema.json"))
    Draft202012Validator.check_schema(schema)
    document = json.load(open(f"{name}.json"))
    Draft202012Validator(schema).validate(document)
    if name not in ("archive", "extract-embedded", "extract-gpu", "minspect-extract", "minspect-index", "minspect-header",
                    "minspect-explain", "minspect-baseline", "minspect-gate"):
        assert len(document["files"]) > 15, name
        findings = name != "minspect-check"  # there an error is no broken file
        if name == "minspect-disasm":  # nor is one without code
            document["files"] = [f for f in document["files"] if "listings" not in f or "error" not in f]
        files = [f for f in document["files"] if "no compiled module" not in str(f.get("error"))]
        assert len(document["files"]) - len(files) <= 1, name
        broken = sum("error" in f or bool(findings and f.get("errors")) for f in files)
        # diff compares the bytes of what it does not know
        assert broken == (2 if name == "minspect-diff" else 3), name
    print(name)
END
python3 validate.py "$ROOT/man/schema" minspect verbose filtered filtered-summary archive minspect-functions minspect-verify minspect-check \
	minspect-size minspect-disasm minspect-diff noise minspect-code-digest minspect-occupancy minspect-memory minspect-extract extract-embedded extract-gpu minspect-index minspect-header \
	minspect-explain minspect-baseline minspect-gate
