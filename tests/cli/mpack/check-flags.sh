# every mistake of what a manifest says to compilers and linkers has its place
cat >mpack.toml <<'END'
[package]
name = "flags"
[[module]]
id = "host"
kind = "host"
sources = ["a.c"]
cflags = ["-O3", "-fplugin=evil.so", "-Wl,-z,now", "x.c", "-Iinc", "-o", "@file", "-wrapper", "-specs=/x", "-B.", "-Xclang", "-include", "-fmodule-mapper=|x", "-DX=1", "-Y"]
include = ["none", 1]
defines = ["A", "B=2", "3", "-C", ""]
std = "c++17"
libs = ["m", "-lm", "a b", "none/libx.so", "@x", "libown.so", "libown.so.1", "libown.a", "own.so", "own.o", "stdc++"]
cflag = "-O2"
[[module]]
id = "objects"
kind = "host"
sources = ["b.o"]
cflags = ["-O2"]
std = "c17"
[[module]]
id = "k"
kind = "cuda"
data = "k.ptx"
cflags = ["-O2"]
libs = ["m"]
[[module]]
id = "odd"
kind = "host"
sources = ["a.c"]
std = "latest"
END
echo 'int x;' >a.c
mpack check
