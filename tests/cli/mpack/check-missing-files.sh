# Nothing but missing files: exit 3.
cat > mpack.toml <<'END'
[package]
name = "m"
[[module]]
id = "h"
kind = "host"
sources = ["h.c"]
imports = ["a", "b"]
[[module]]
id = "a"
kind = "x"
payload = "no/such.bin"
[[module]]
id = "b"
kind = "opencl"
data = "folder"
  [[module.function]]
  name = "f"
  args = []
  launch = []
END
mkdir folder
mpack check
