# each instruction as it runs, of every executor, on standard error; a crash leaves its own as the last
minspect --run main data/formats/06_relax_vm.so --input 4xf32=1,2,3,4 --trace
minspect --run default data/formats/23_legacy_graph.so --input 4xf32=1,2,3,4 --trace
minspect --run default data/formats/24_legacy_aot.so --input 4xf32=1,2,3,4 --trace
minspect --run main data/legacy/mlp_vm.so --trace \
	--input data=@data/legacy/mlp.data.npy --input extra=@data/legacy/mlp.extra.npy >/dev/null
# shapes that are computed, also those of warm-up calls
minspect --run forward data/relax/embed_dyn.so --input 1x3xi32=1,2,3 --trace --warmup 1 >/dev/null 2>all
sed -n '1,/return/p' all

cat >k.c <<'END'
#include <stdint.h>
int once(void **args, int *codes, int n) { (void)args, (void)codes, (void)n; return 0; }
int crash(void **args, int *codes, int n) { (void)args, (void)codes, (void)n; *(volatile int *)8 = 1; return 0; }
END
cat >graph.json <<'END'
{"nodes": [{"op": "null", "name": "x", "inputs": []},
           {"op": "tvm_op", "name": "first", "inputs": [[0, 0, 0]],
            "attrs": {"func_name": "once", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
           {"op": "tvm_op", "name": "second", "inputs": [[1, 0, 0]],
            "attrs": {"func_name": "crash", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
           {"op": "tvm_op", "name": "third", "inputs": [[2, 0, 0]],
            "attrs": {"func_name": "once", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
 "arg_nodes": [0], "heads": [[3, 0, 0]], "node_row_ptr": [0, 1, 2, 3, 4],
 "attrs": {"dltype": ["list_str", ["float32", "float32", "float32", "float32"]],
           "storage_id": ["list_int", [0, 1, 2, 3]],
           "shape": ["list_shape", [[2, 3], [2, 3], [2, 3], [2, 3]]]}}
END
cat >mpack.toml <<'END'
[package]
name = "made"
abi  = "legacy"
root = "model"
[[module]]
id      = "model"
kind    = "GraphExecutorFactory"
name    = "default"
graph   = "graph.json"
imports = ["host"]
[[module]]
id      = "host"
kind    = "host"
sources = ["k.c"]
END
mpack build -o made.so
minspect --run default made.so --input 2x3xf32 --trace || echo $?
# nothing of a crash stays of a dump either
minspect --run default made.so --input 2x3xf32 --dump dump 2>/dev/null || echo $?
ls -A
