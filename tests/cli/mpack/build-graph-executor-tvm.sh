# A graph and a parameter file of TVM 0.18 become the blob that the same TVM put into its library.
cat >mpack.toml <<'END'
[package]
name = "mlp"
abi = "legacy"

[[module]]
id = "model"
kind = "GraphExecutorFactory"
name = "default"
graph = "data/legacy/mlp_llvm.graph.json"
params = "data/legacy/mlp_llvm.params"
imports = ["host"]

[[module]]
id = "host"
kind = "host"
sources = []
END
mpack build -o mlp.blob
bytes=$(wc -c <mlp.blob)
offset=$(minspect data/legacy/mlp_llvm.so | sed -n 's/.*__tvm_dev_mblob at file+\(0x[0-9a-f]*\).*/\1/p')
cmp -n "$bytes" -i "0:$((offset))" mlp.blob data/legacy/mlp_llvm.so
test "$bytes" -gt 3000
