# a call that is refused before it runs is an error like one that is raised: raises looks into what is said
cat >wrong.toml <<'END'
[[case]]
name = "type"
run = "forward"
args = [{ input = "1x8xi32" }]
raises = "takes float32[b, 8], not int32[1, 8]"

[[case]]
name = "number"
run = "forward"
raises = "call it with --input 1x8xf32=rand"

[[case]]
name = "another message"
run = "forward"
args = [{ input = "1x9xf32" }]
raises = "not float32[1, 8]"

[[case]]
name = "right after all"
run = "forward"
args = [{ input = "1x8xf32" }]
raises = "takes"

[[case]]
name = "not expected"
run = "forward"
args = [{ input = "1x9xf32" }]
END
minspect --cases wrong.toml data/relax/twoout_dyn.so || echo $?
cat >graph.toml <<'END'
[[case]]
run = "default"
args = [{ input = "@data/legacy/mlp.data.npy" }]
raises = "input 'extra' is missing"
END
minspect --cases graph.toml data/legacy/mlp_llvm.so
sed "s/missing/there/" graph.toml >vm.toml
minspect --cases - data/legacy/mlp_llvm.so <vm.toml || echo $?
