# Paths are then relative to the current directory.
touch weights.bin
mpack check - <<'END'
[package]
name = "m"
[[module]]
id = "w"
kind = "my_runtime"
payload = "weights.bin"
END
