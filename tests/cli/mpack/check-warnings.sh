# A package can be packed and still not be what was meant.
cat > mpack.toml <<'END'
[package]
name = "m"
[[module]]
id = "graph"
kind = "GraphExecutorFactory"
graph = "graph.json"
[[module]]
id = "host"
kind = "host"
sources = ["host.c"]
END
echo '{"nodes": [], "arg_nodes": [], "node_row_ptr": [0], "heads": [], "attrs": {"storage_id": ["list_int", []], "shape": ["list_shape", []], "dltype": ["list_str", []]}}' > graph.json
touch host.c
mpack check
