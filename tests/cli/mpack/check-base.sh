# A base gives the host code, so 'sources' beside it would be ignored.
cat > mpack.toml <<'END'
[package]
name = "m"
base = "deploy.so"

[[module]]
id = "host"
kind = "host"
sources = ["a.c"]
END
touch a.c deploy.so
mpack check
