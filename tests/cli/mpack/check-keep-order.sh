# 'keep_order' promises the order of the manifest, which imports may contradict.
cat >mpack.toml <<'END'
[package]
name = "m"
root = "b"
keep_order = true

[[module]]
id = "a"
kind = "x"
payload = "p"

[[module]]
id = "b"
kind = "x"
payload = "p"
imports = ["a"]
END
echo p >p
mpack check
