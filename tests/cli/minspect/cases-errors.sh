# every mistake of a case file in one run, each with its place; nothing is called
cat >bad.toml <<'END'
[defaults]
devise = "cpu"
atol = -1

[[case]]
name = "a"
rum = "f"

[[case]]
name = "a"
run = "f"
args = [
  { input = "4xf33=1" },
  { inn = "1" },
  {},
  { input = "1", out = "4xf32" },
  "out:4xf32",
  { input = "@missing.npy" },
  { out = "5" },
]
expect = ["2xf32=1,2,3", 5]
raises = "x"
device = "cudda"
timeout = 0
repeat = 1.5
warmup = "2"
grid = [0, "x"]
block = [1, 1, 1, 1]
shared = -1

[[case]]
run = "f"
name = ""

[[cases]]
run = "g"
END
try() {
	minspect --cases "$@" data/formats/14_llvm_noblob.so || echo $?
}
try bad.toml
mkdir sub
cp bad.toml sub
try sub/bad.toml 2>&1 | grep missing.npy
printf 'a = "' >broken.toml
try broken.toml --json
: >empty.toml
try empty.toml
echo 'case = []' >none.toml
try none.toml
try none.txt
