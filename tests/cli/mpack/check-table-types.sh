# Tables where others belong, and the other way round.
printf 'package = [1]\nmodule = [1, {id = "a", kind = "host", sources = ["a.c"]}]\n' > mpack.toml
touch a.c
mpack check
