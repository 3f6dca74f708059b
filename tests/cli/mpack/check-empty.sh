: > mpack.toml
mpack check
