# the document, as the installed schema promises
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
cat >m.toml <<'END'
[[case]]
name = "adds"
run = "add_one"
args = [{ input = "3xf32=1,nan,1e10" }, { out = "3xf32" }]
expect = ["3xf32=2,nan,1", "ignored"]

[[case]]
run = "crash"

[[case]]
run = "nothing"
skip = "not today"

[[case]]
run = "nothing"
END
printf '[[case]]\nrun = "nothing"\nrepeat = 5\nwarmup = 1\n' >timed.toml
minspect --json --cases m.toml m.so >run.json || echo $?
minspect --json --cases timed.toml m.so >timed.json
minspect --json --cases timed.toml none.so >error.json || echo $?
cat run.json
python3 -c 'import jsonschema' 2>/dev/null || exit 0
cat >validate.py <<'END'
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
for name in sys.argv[2:]:
    Draft202012Validator(schema).validate(json.load(open(name)))
timed = json.load(open("timed.json"))["cases"][0]["seconds"]
assert timed["calls"] == 5 and timed["min"] <= timed["median"] <= timed["p95"], timed
END
python3 validate.py "$ROOT/man/schema/minspect-cases.schema.json" run.json timed.json error.json
