# inputs of a model from a file of parameters: .params and .npz, by name
lib=data/legacy/mlp_llvm.so
want="--expect @data/legacy/mlp_llvm.out0.npy --expect @data/legacy/mlp_llvm.out1.npy --rtol 1e-5"
cat >make.py <<'END'
import struct, zipfile

def params(path, tensors):
    """TVM's file of parameters: names, then tensors of float32 with one dimension"""
    out = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(tensors))
    for name in tensors:
        out += struct.pack("<Q", len(name)) + name.encode()
    out += struct.pack("<Q", len(tensors))
    for values in tensors.values():
        out += struct.pack("<QQiiiBBHqq", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, len(values), 4 * len(values))
        out += struct.pack(f"<{len(values)}f", *values)
    open(path, "wb").write(out)

def npz(path, **files):
    with zipfile.ZipFile(path, "w") as z:
        for name, file in files.items():
            z.write(file, name + ".npy")

params("x.params", {"other": [0, 0], "x": [1, 2, 3, 4]})
params("p0.params", {"p0": [10, 10, 10, 10]})
params("three.params", {"x": [1, 2, 3]})
mlp = "data/legacy/mlp."
npz("both.npz", extra=mlp + "extra.npy", data=mlp + "data.npy", unused=mlp + "data.npy")
npz("extra.npz", extra=mlp + "extra.npy")
END
python3 make.py

# all inputs, some, and a value of the call before that of the file; each executor
# the expected files are two words each
# shellcheck disable=SC2086
for lib in data/legacy/mlp_llvm.so data/legacy/mlp_aot.so; do
	minspect --run default $lib --params both.npz $want >/dev/null
	minspect --run default $lib --params extra.npz --input @data/legacy/mlp.data.npy $want >/dev/null
	minspect --run default $lib --params both.npz --input data=@data/legacy/mlp.data.npy $want >/dev/null
done
# shellcheck disable=SC2086
minspect --run main data/legacy/mlp_vm.so --params extra.npz --input @data/legacy/mlp.data.npy $want >/dev/null
minspect --run main data/formats/06_relax_vm.so --params x.params
minspect --run default data/formats/23_legacy_graph.so --params x.params
minspect --run default data/formats/23_legacy_graph.so --params x.params --input x=4xf32=5
# a parameter that the library has is replaced
minspect --run default data/formats/23_legacy_graph.so --params p0.params --input 4xf32=1

# what lacks, what is left over, what does not fit; no model, no file of parameters
wrong() { minspect --run "$@" || echo $?; }
wrong default data/legacy/mlp_llvm.so --params x.params
wrong default data/legacy/mlp_llvm.so --params x.params --input @data/legacy/mlp.data.npy
wrong default data/legacy/mlp_llvm.so --params both.npz --input @data/legacy/mlp.data.npy
wrong default data/legacy/mlp_llvm.so --params extra.npz --input 2x20xf32 --input 2x20xf32
wrong default data/formats/23_legacy_graph.so --params three.params
wrong add data/formats/06_relax_vm.so --params x.params --input 4xf32 --input 4xf32 --out 4xf32
wrong main data/formats/06_relax_vm.so --params missing.params
wrong main data/formats/06_relax_vm.so --params make.py

# in a case file: of a case, of all, from the command line
mkdir sub
mv x.params p0.params sub
cat >sub/a.toml <<'END'
[defaults]
params = "x.params"
[[case]]
name   = "default"
run    = "default"
expect = ["4xf32=@want.bin"]
[[case]]
name   = "own"
run    = "default"
params = "p0.params"
args   = [{ input = "4xf32=1" }]
expect = ["4xf32=11"]
END
minspect --run default data/formats/23_legacy_graph.so --params sub/x.params --output 0=want.npy >/dev/null
tail -c 16 want.npy >sub/want.bin
minspect --cases sub/a.toml data/formats/23_legacy_graph.so
printf '[[case]]\nrun = "default"\nparams = "no.params"\n[[case]]\nrun = "default"\nparams = "a.toml"\n' >sub/b.toml
minspect --cases sub/b.toml data/formats/23_legacy_graph.so || echo $?
printf '[[case]]\nrun = "main"\n[[case]]\nrun = "add"\nargs = [{ input = "4xf32=1" }, { input = "4xf32=1" }, { out = "4xf32" }]\nexpect = ["4xf32=2"]\n' >c.toml
minspect --cases c.toml data/formats/06_relax_vm.so --params sub/x.params
