# Interrupted in the middle of a run, a dump is not there, and nothing else is left.
cat >k.c <<'END'
#include <stdio.h>
#include <unistd.h>
int once(void **args, int *codes, int n) { (void)args, (void)codes, (void)n; return 0; }
int hang(void **args, int *codes, int n)
{
	(void)args, (void)codes, (void)n;
	fclose(fopen("../hangs", "w"));
	sleep(60);
	return 0;
}
END
cat >graph.json <<'END'
{"nodes": [{"op": "null", "name": "x", "inputs": []},
           {"op": "tvm_op", "name": "first", "inputs": [[0, 0, 0]],
            "attrs": {"func_name": "once", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
           {"op": "tvm_op", "name": "second", "inputs": [[1, 0, 0]],
            "attrs": {"func_name": "hang", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
 "arg_nodes": [0], "heads": [[2, 0, 0]], "node_row_ptr": [0, 1, 2, 3],
 "attrs": {"dltype": ["list_str", ["float32", "float32", "float32"]],
           "storage_id": ["list_int", [0, 1, 2]],
           "shape": ["list_shape", [[2, 3], [2, 3], [2, 3]]]}}
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
mkdir here
cd here || exit
for signal in TERM HUP; do
	rm -f ../hangs
	minspect --run default ../made.so --input 2x3xf32 --dump dump &
	while [ ! -e ../hangs ]; do sleep 0.02; done
	kill -$signal $!
	wait $! 2>/dev/null || echo "$? of $signal"
	ls -A
done
minspect --run default ../made.so --input 2x3xf32 --dump dump --timeout 0.3 || echo $?
ls -A
