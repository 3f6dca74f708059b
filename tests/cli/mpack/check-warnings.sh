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
echo '{"nodes": []}' > graph.json
touch host.c
mpack check
