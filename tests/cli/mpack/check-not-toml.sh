printf '[package]\nname = "m"\nabi = ffi\n' > mpack.toml
mpack check
