printf '[package]\nname = "m"\n[module]\nid = "a"\n' > mpack.toml
mpack check
