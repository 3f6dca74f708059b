# what --json prints is what the installed schemas promise
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3 has no jsonschema"; exit 77; }
printf 'MZ\220\0' >a.dll
head -c 9000 data/formats/01_opencl_scale.so >cut.so
files="data/formats/*.so data/formats/*.blob data/ffi/*.so data/relax/*.so data/cuda/ptx/*.so
	data/formats/12_syslib_prefix.tar a.dll cut.so missing.so"
# shellcheck disable=SC2086 # a list of patterns
{
	minspect -q --json $files >minspect.json 2>/dev/null || true
	minspect -q --json --functions $files >minspect-functions.json 2>/dev/null || true
	minspect -q --json --verify $files >minspect-verify.json 2>/dev/null || true
}
cat >validate.py <<'END'
import json, sys
from jsonschema import Draft202012Validator
for name in sys.argv[2:]:
    schema = json.load(open(f"{sys.argv[1]}/{name}.schema.json"))
    Draft202012Validator.check_schema(schema)
    document = json.load(open(f"{name}.json"))
    Draft202012Validator(schema).validate(document)
    assert len(document["files"]) > 15, name
    broken = sum("error" in f or bool(f.get("errors")) for f in document["files"])
    assert broken == 3, name
    print(name)
END
python3 validate.py "$ROOT/man/schema" minspect minspect-functions minspect-verify
