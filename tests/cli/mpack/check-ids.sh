# Ids that are missing, misspelt or taken, all in one run.
cat > mpack.toml <<'END'
[package]
name = "m"

[[module]]
id = "host"
kind = "host"
sources = ["a.c"]
imports = ["kernel", "nothing like it"]

[[module]]
id = "kernels"
kind = "my_runtime"
payload = "a.c"

[[module]]
id = "kernels"
kind = "my_runtime"
payload = "a.c"
END
touch a.c
mpack check
