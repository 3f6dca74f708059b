# only what is named so: functions, kernels, tensors, modules, sections
lib=data/formats/07_relax_opencl.so
echo "== part of a name, and a pattern for all of it"
minspect --functions --filter add_k $lib
minspect --functions --filter 'add' $lib | grep -c run
minspect --functions --filter 'add?kernel' $lib | grep -c run
echo "== a module by its kind is whole, and so is one by its path"
minspect -v --filter opencl $lib
minspect --filter '/0/*' $lib | sed 1,/^$/d
echo "== parameters of a model"
minspect --filter 'p?' data/legacy/mlp_llvm.so | sed 1,/^$/d
echo "== code beside the tree"
minspect --functions --filter gather data/embedded/embedded.so
echo "== JSON: the rest of the document is as it was"
minspect --json $lib >all.json
minspect --json --filter add_kernel $lib >some.json
jq -c '.files[0].tree[] | [.index, .path, .kernels[].name]' some.json
jq -c '.files[0].functions | length' some.json
jq 'del(.files[0].tree, .files[0].functions)' all.json >a
jq 'del(.files[0].tree, .files[0].functions)' some.json >b
cmp a b
echo "== sizes"
minspect --size --filter 'vadd*' data/cuda/cubin/vadd_cuda.so
minspect --size --filter .text data/cuda/cubin/vadd_cuda.so
minspect --size --json --filter cuda data/cuda/cubin/vadd_cuda.so | jq -c '.files[0] | [.sections, .modules, .parts, .kernels | length]'
echo "== nothing"
minspect --functions --filter nothing $lib
echo "== cases as before; and no other action"
minspect --verify --filter add $lib || echo "status $?"
