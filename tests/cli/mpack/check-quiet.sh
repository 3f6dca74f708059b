# -q leaves errors only.
printf '[package]\nname = "m"\n[[module]]\nid = "a"\nkind = "x"\npayload = "p"\n[[module]]\nid = "b"\nkind = "x"\npayload = "p"\n' > mpack.toml
touch p
mpack check -q
