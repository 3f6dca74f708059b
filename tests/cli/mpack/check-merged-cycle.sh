# A cycle that is there only after host modules have become one library.
cat > mpack.toml <<'END'
[package]
name = "m"
[[module]]
id = "main"
kind = "host"
sources = ["p.c"]
imports = ["data"]
[[module]]
id = "data"
kind = "x"
payload = "p.c"
imports = ["helper"]
[[module]]
id = "helper"
kind = "host"
sources = ["p.c"]
END
touch p.c
mpack check
