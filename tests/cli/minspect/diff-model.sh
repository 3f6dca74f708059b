# models: byte code by instruction, constants in order, graphs by node, weights by element
minspect --diff data/formats/06_relax_vm.blob data/formats/15_relax_cond.blob || test $? = 1
minspect --diff data/legacy/mlp_llvm.so data/legacy/mlp_opencl.so || test $? = 1
minspect diff --all data/legacy/mlp_llvm.so data/legacy/mlp_opencl.so || test $? = 1
# a weight of a model: 0 becomes 1.5
python3 - <<END
data = open("data/formats/06_relax_vm.blob", "rb").read()
at = data.rindex(b"\x10\0\0\0\0\0\0\0") + 8
print("first weight:", data[at:at + 16].hex())
open("weight.blob", "wb").write(data[:at] + b"\0\0\xc0\x3f" + data[at + 4:])
END
minspect --diff data/formats/06_relax_vm.blob weight.blob || test $? = 1
# the Relay machine numbers its instructions: one more is one more
minspect --diff data/formats/25_legacy_relay_vm.blob data/legacy/mlp_vm.so
