# Wrong values of [package], all in one run.
cat > mpack.toml <<'END'
[package]
name = "out/m"
abi = "fii"
root = "hosts"

[[module]]
id = "host"
kind = "host"
sources = ["a.c"]
END
touch a.c
mpack check
