# what operators compute, as files, and compared with another run; every executor
mlp="--input data=@data/legacy/mlp.data.npy --input extra=@data/legacy/mlp.extra.npy"
quiet() { minspect "$@" >/dev/null || echo $?; }
quiet --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --dump relax
# shellcheck disable=SC2086 # words
{
	quiet --run default data/legacy/mlp_llvm.so $mlp --dump graph --repeat 3
	quiet --run default data/legacy/mlp_aot.so $mlp --dump aot
	quiet --run main data/legacy/mlp_vm.so $mlp --dump relay
}
ls relax graph aot relay
# they are arrays: the last one is the result
cmp aot/0000-*.1.npy graph/0002-*.npy
minspect --run add2 data/relax/gelu.so --input @data/relax/gelu.in0.npy --input @relax/0007-add1.npy \
	--out 4x24xf32 --expect @relax/0008-add2.npy >/dev/null

# the same again: equal; another executor: the same names but for what TVM puts in front
quiet --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --compare relax
# shellcheck disable=SC2086
{
	quiet --run default data/legacy/mlp_aot.so $mlp --compare aot
	quiet --run main data/legacy/mlp_vm.so $mlp --compare graph --repeat 2
	quiet --run default data/legacy/mlp_llvm.so $mlp --compare relay
}
# what differs: the first operator, how much and where; within what --atol and --rtol allow
cp -r relax other
minspect --run gelu data/relax/gelu.so --input 4x48xf32=1 --out 4x48xf32 --output @other/0004-gelu.npy >/dev/null
quiet --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --compare other
quiet --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --compare other --atol 10
minspect --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --compare other --json 2>/dev/null >j.json || echo $?
sed -n '/"comparison": {/,$p' j.json | sed -n '1,/gelu/p'

# one that lacks in the dump; another model, other inputs, no dump, a directory that has something
rm other/0004-gelu.npy
quiet --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --compare other
quiet --run main data/formats/06_relax_vm.so --input 4xf32 --compare graph
quiet --run main data/formats/06_relax_vm.so --input 4xf32 --compare relax
quiet --run forward data/relax/embed_dyn.so --input 1x3xi32=1,2,3 --dump three
quiet --run forward data/relax/embed_dyn.so --input 1x4xi32=1,2,3,4 --compare three
quiet --run forward data/relax/embed_dyn.so --input 1x4xi32=1,2,3,4 --compare data
quiet --run forward data/relax/embed_dyn.so --input 1x4xi32=1,2,3,4 --compare nowhere
quiet --run forward data/relax/embed_dyn.so --input 1x4xi32=1,2,3,4 --dump three
quiet --run add data/formats/06_relax_vm.so --input 4xf32 --input 4xf32 --out 4xf32 --dump four
ls -A
