# Kinds that need something else, or have no place for something.
cat > mpack.toml <<'END'
[package]
name = "m"

[[module]]
id = "a"
kind = "openlc"
data = "a.cl"

[[module]]
id = "b"
kind = "_lib"
payload = "a.cl"

[[module]]
id = "c"
kind = "const_loader"

[[module]]
id = "d"
kind = "cuda"
payload = "a.cl"
data = "a.cl"
sources = ["a.cl"]

[[module]]
id = "e"
kind = "cuda"

[[module]]
id = "f"
kind = "opencl"
format = "ptx"
data = "a.cl"
params = "a.cl"
  [[module.function]]
  name = "f"
  args = []
  launch = []

[[module]]
id = "g"
kind = "GraphExecutorFactory"
grpah = "a.cl"
format = "json"
END
touch a.cl
mpack check
