# models of the graph executor, as TVM 0.18 packed them: inputs by name and by position, parameters
lib=data/legacy/mlp_llvm.so
data=@data/legacy/mlp.data.npy
extra=@data/legacy/mlp.extra.npy
want="--expect @data/legacy/mlp_llvm.out0.npy --expect @data/legacy/mlp_llvm.out1.npy --rtol 1e-5"
# the expected files are two words each
# shellcheck disable=SC2086
{
	minspect --run default $lib --input $data --input $extra $want >/dev/null
	minspect --run default $lib --input extra=$extra --input data=$data $want >/dev/null
	minspect --run default $lib --input extra=$extra --input $data --repeat 20 $want >/dev/null
}
minspect --run default data/formats/23_legacy_graph.so --input x=4xf32=1,2,3,4 --output 0=@y.npy
minspect --run default data/formats/23_legacy_graph.so --input @y.npy --input p0=4xf32=10
