# time by operator, of every executor: a table, JSON, and a trace for Perfetto; times differ from run to run
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
mlp="--input data=@data/legacy/mlp.data.npy --input extra=@data/legacy/mlp.extra.npy"
# table OPTION...: operator, device and calls, sorted by name as times are not always the same
table() { minspect "$@" | sed -n '/^operator /,$p' | sed 's/ took .* in / ... in /; s/, cpu .*//; s/  */ /g; s/ [0-9.]* [nmu]s.*//' | sort; }
table --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --profile
# shellcheck disable=SC2086 # words
{
	table --run default data/legacy/mlp_llvm.so $mlp --profile --repeat 3 --warmup 2
	table --run default data/legacy/mlp_aot.so $mlp --profile
	table --run main data/legacy/mlp_vm.so $mlp --profile
}
# the head, the unit of each time and the order: by total
minspect --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --profile --repeat 2 -v >table
cat >check.py <<'END'
import json, re, sys
lines = open("table").read().splitlines()
lines = lines[next(i for i, line in enumerate(lines) if line.startswith("operator ")):]
unit = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
assert lines[0].split() == "operator device calls total mean min max share".split(), lines[0]
totals = []
for line in lines[1:-1]:
    words = line.split()
    times = [float(n) * unit[u] for n, u in zip(words[3:11:2], words[4:11:2])]
    total, mean, least, most = times
    assert least <= mean * 1.01 and mean <= most * 1.01 and words[11].endswith("%"), line
    totals.append(total)
assert totals == sorted(totals, reverse=True)

def profile(name):
    document = json.load(open(name))
    try:
        from jsonschema import Draft202012Validator
        schema = json.load(open(sys.argv[1] + "/minspect-run.schema.json"))
        Draft202012Validator(schema).validate(document)
    except ImportError:
        pass
    return document["profile"]

p = profile("p.json")
assert p["calls"] == 2
assert abs(sum(o["share"] for o in p["operators"]) - 1) < 1e-6
assert p["operator_seconds"] <= p["seconds"]
gelu = [o for o in p["operators"] if o["name"] == "gelu"][0]
assert gelu["calls"] == 2 and gelu["device"] == "cpu" and gelu["kind"] == "kernel", gelu
assert 0 < gelu["min"] <= gelu["mean"] <= gelu["max"] and abs(gelu["mean"] * 2 - gelu["total"]) < 1e-9

events = json.load(open("trace.json"))["traceEvents"]
names = {(e["name"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
assert names == {("process_name", 0): "data/relax/gelu.so", ("thread_name", 1): "cpu"}, names
calls = [e for e in events if e["ph"] == "X"]
assert len(calls) == sum(o["calls"] for o in p["operators"]), len(calls)
assert {e["name"] for e in calls} == {o["name"] for o in p["operators"]}
for e in calls:
    assert e["ts"] >= 0 and e["dur"] >= 0 and e["pid"] == 1 and e["tid"] == 1, e
    assert e["cat"] in ("kernel", "copy", "builtin")
order = [e["name"] for e in calls if e["cat"] == "kernel"]
assert order == 2 * "layer_norm transpose matmul add gelu transpose1 matmul1 add1 add2".split(), order
starts = [e["ts"] for e in calls]
assert starts == sorted(starts)
END
minspect --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --profile=trace.json --repeat 2 --json >p.json
python3 check.py "$ROOT/man/schema"
# into a pipe, alone
minspect --run main data/formats/06_relax_vm.so --input 4xf32 --profile=- | python3 -m json.tool >/dev/null
# what is no model, where the file cannot be written, another action
minspect --run add data/formats/06_relax_vm.so --input 4xf32 --input 4xf32 --out 4xf32 --profile || echo $?
minspect --run main data/formats/06_relax_vm.so --input 4xf32 --profile=missing/p.json >/dev/null || echo $?
minspect --functions --profile data/formats/06_relax_vm.so || echo $?
