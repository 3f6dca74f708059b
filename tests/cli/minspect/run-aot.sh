# models that TVM 0.18 compiled ahead of time: what they take is known from their code's metadata
minspect --run default data/legacy/mlp_aot.so --input extra=@data/legacy/mlp.extra.npy \
	--input data=@data/legacy/mlp.data.npy --repeat 3 --rtol 1e-5 \
	--expect @data/legacy/mlp_llvm.out0.npy --expect @data/legacy/mlp_llvm.out1.npy >/dev/null
minspect --run default data/formats/24_legacy_aot.so --input 4xf32=1,2,3,4
minspect --run default data/formats/24_legacy_aot.so || echo $?
