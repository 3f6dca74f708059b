# What host modules may say.
cat > mpack.toml <<'END'
[package]
name = "m"

[[module]]
id = "none"
kind = "host"

[[module]]
id = "empty"
kind = "host"
sources = []

[[module]]
id = "suffix"
kind = "host"
sources = ["a.c", "b.py"]
data = "a.c"
graph = "g.json"
END
touch a.c b.py
mpack check
