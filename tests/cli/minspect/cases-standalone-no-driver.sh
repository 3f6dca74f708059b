# cases of a standalone library that finds no driver are skipped; a wrong argument stays one
mpack build data/launch/standalone.toml -o f.so
mkdir none
cat > cases.toml <<'T'
[[case]]
name = "right"
run  = "saxpy"
args = [{ input = "f32=2.5" }, { input = "3xf32=1" }, { out = "3xf32" }]

[[case]]
name   = "wrong"
run    = "saxpy"
args   = [{ input = "f32=2.5" }, { input = "3xf32=1" }, { out = "4xf32" }]
raises = "dimension 0 is 4, expected n = 3"
T
OCL_ICD_VENDORS=$PWD/none minspect --cases cases.toml f.so
