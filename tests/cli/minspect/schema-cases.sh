# the installed schema of case files and minspect --cases judge alike
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3 has no jsonschema"; exit 77; }
cat >all.toml <<'END'
[defaults]
device = "cpu"
atol = 0.5
timeout = 60

[[case]]
name = "adds"
run = "add"
args = [{ input = "16xf32=1" }, { out = "16xf32" }]
expect = ["16xf32=3"]
rtol = 1e-5
repeat = 2
warmup = 1
skip = "not here"

[[case]]
run = "k"
raises = "wrong"
grid = [1]
block = ["4", 2]
shared = 0
skip = "not here"
END
cat >cases <<END
#!/bin/sh
exec minspect -q --cases "\$1" "$DATA/formats/14_llvm_noblob.so"
END
chmod +x cases
judge=$ROOT/tests/manual/schema_toml.py schema=$ROOT/man/schema/cases.toml.schema.json
python3 "$judge" "$schema" ./cases -- all.toml
python3 "$judge" "$schema" "$DATA/example/cases.toml"
python3 "$judge" "$schema" --invalid "$DATA/example/mpack.toml"
