# a graph over CUDA kernels, against the driver library of the tests: no waiting between kernels
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log"
cat >graph.json <<'END'
{"nodes": [{"op": "null", "name": "x", "inputs": []},
           {"op": "tvm_op", "name": "there", "inputs": [[0, 0, 0]],
            "attrs": {"func_name": "transpose", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
           {"op": "tvm_op", "name": "back", "inputs": [[1, 0, 0]],
            "attrs": {"func_name": "transpose", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
 "arg_nodes": [0], "heads": [[1, 0, 0], [2, 0, 0]], "node_row_ptr": [0, 1, 2, 3],
 "attrs": {"dltype": ["list_str", ["float32", "float32", "float32"]],
           "device_index": ["list_int", [2, 2, 2]],
           "storage_id": ["list_int", [0, 1, 2]],
           "shape": ["list_shape", [[2, 3], [3, 2], [2, 3]]]}}
END
sed -e 's/^name = "launch"/&\nabi = "legacy"\nroot = "model"/' \
	-e "s|^data = \"|&$DATA/launch/|" -e 's/tirx\./tir./' "$DATA/launch/cuda.toml" >mpack.toml
cat >>mpack.toml <<'END'

[[module]]
id      = "model"
kind    = "GraphExecutorFactory"
name    = "default"
graph   = "graph.json"
imports = ["host"]
[[module]]
id      = "host"
kind    = "host"
imports = ["k"]
END
mpack build -o f.so
minspect --run default f.so --input 2x3xf32=1,2,3,4,5,6 --expect 3x2xf32=1,4,2,5,3,6 \
	--expect 2x3xf32=1,2,3,4,5,6
sed -n '/^cuLaunchKernel/,$p' log | cut -d' ' -f1 | uniq -c | sed 's/^ *//' | head -4
# looked into, each kernel is waited for, and what it computed comes back
rm log
minspect --run default f.so --input 2x3xf32=1,2,3,4,5,6 --profile --dump dump | grep -c ' cuda:0  '
sed -n '/^cuLaunchKernel/,$p' log | cut -d' ' -f1 | uniq | head -6
ls dump
minspect --run default f.so --input 2x3xf32=1,2,3,4,5,6 --compare dump
