# Keys that are unknown, missing, empty or of the wrong type; all in one run.
cat > mpack.toml <<'END'
packages = 1

[package]
namm = "m"
abi = 5
root = ""
dedup = "yes"

[[module]]
id = ["a"]
kind = "host"
sources = "a.c"

[[module]]
id = "b\u0000c"
kind = "my_runtime"
payload = "b.bin"
imports = ["x", 1979-05-27, 1.5]

[[modulex]]
END
touch b.bin
mpack check
