# a library that TVM compiled; the file's defaults, a case's own word, the command line between them
cat >add.toml <<'END'
[defaults]
atol = 0.5
device = "cpu"

[[case]]
run = "add"
args = [{ input = "16xf32=1" }, { input = "16xf32=2.25" }, { out = "16xf32" }]
expect = ["16xf32=3"]

[[case]]
name = "exact"
run = "add"
args = [{ input = "16xf32=1" }, { input = "16xf32=2" }, { out = "16xf32" }]
expect = ["16xf32=3"]
atol = 0

[[case]]
name = "wrong shape"
run = "add"
args = [{ input = "4xf32" }, { input = "16xf32" }, { out = "16xf32" }]
raises = "expected 16"
END
lib=data/formats/14_llvm_noblob.so
minspect --cases add.toml $lib
minspect --cases add.toml $lib --atol 0.1 || echo $?
minspect --cases - $lib <add.toml | tail -n 1
minspect -v --cases add.toml $lib | sed 's/([0-9.]* [mun]*s)/(TIME)/'
