mpack check a.toml b.toml
