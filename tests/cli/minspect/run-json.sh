# the document of a call, and of one that failed; both as the installed schema promises
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
minspect --json --run add_one m.so --input 3xf32=1,nan,1e10 --out 3xf32 --expect 3xf32=2,nan,1 >run.json || echo $?
minspect --json --run echo m.so --input str=a >echo.json
minspect --json --run raise_parts m.so >raised.json || echo $?
minspect --json --run nothing m.so --repeat 3 --warmup 1 >timed.json
cat run.json echo.json raised.json
python3 -c 'import jsonschema' 2>/dev/null || exit 0
cat >validate.py <<'END'
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
for name in sys.argv[2:]:
    Draft202012Validator(schema).validate(json.load(open(name)))
timed = json.load(open("timed.json"))["seconds"]
assert timed["calls"] == 3 and timed["min"] <= timed["median"] <= timed["p95"], timed
END
python3 validate.py "$ROOT/man/schema/minspect-run.schema.json" run.json echo.json raised.json timed.json
