# A cycle of imports is shown as the user wrote it.
cat > mpack.toml <<'END'
[package]
name = "m"
[[module]]
id = "a"
kind = "x"
payload = "p"
imports = ["b"]
[[module]]
id = "b"
kind = "x"
payload = "p"
imports = ["c"]
[[module]]
id = "c"
kind = "x"
payload = "p"
imports = ["a"]
END
touch p
mpack check
