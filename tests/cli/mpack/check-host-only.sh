# The default name; host code alone has no blob.
printf '[package]\nname = "m"\n[[module]]\nid = "h"\nkind = "host"\nsources = ["h.c"]\n' > mpack.toml
touch h.c
mpack check
