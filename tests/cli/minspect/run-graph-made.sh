# a graph written and packed by hand: two outputs, a reshape in place, operators without a shape
cat >k.c <<'END'
#include <stdint.h>
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t dtype[4]; int64_t *shape; } T;
int half(void **args, int *codes, int n)
{
	T *x = args[0], *y = args[1];

	(void)codes;
	if (n != 2 || x->ndim != 1 || y->ndim != 1)
		return -1;
	for (int64_t i = 0; i < x->shape[0]; i++)
		((float *)y->data)[i] = ((float *)x->data)[i] / 2;
	return 0;
}
END
cat >graph.json <<'END'
{"nodes": [{"op": "null", "name": "x", "inputs": []},
           {"op": "tvm_op", "name": "half", "inputs": [[0, 0, 0]],
            "attrs": {"func_name": "half", "num_inputs": "1", "num_outputs": "1", "flatten_data": "1"}},
           {"op": "tvm_op", "name": "flat", "inputs": [[1, 0, 0]],
            "attrs": {"func_name": "__nop", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
 "arg_nodes": [0], "heads": [[2, 0, 0], [1, 0, 0], [0, 0, 0]], "node_row_ptr": [0, 1, 2, 3],
 "attrs": {"dltype": ["list_str", ["float32", "float32", "float32"]],
           "storage_id": ["list_int", [0, 1, 1]],
           "shape": ["list_shape", [[2, 3], [2, 3], [6]]]}}
END
cat >mpack.toml <<'END'
[package]
name = "made"
abi  = "legacy"
root = "model"
[[module]]
id      = "model"
kind    = "GraphExecutorFactory"
name    = "halves"
graph   = "graph.json"
imports = ["host"]
[[module]]
id      = "host"
kind    = "host"
sources = ["k.c"]
END
mpack build -o made.so
minspect --run halves made.so --input x=2x3xf32=1,2,3,4,5,6
sed -i 's/"half"/"hlaf"/' graph.json
mpack build -o made.so
minspect --run halves made.so --input x=2x3xf32=1,2,3,4,5,6 || echo $?
