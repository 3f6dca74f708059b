# a model of the Relay VM of TVM 0.18: by position, by name, as a plan; two results
lib=data/legacy
both="--expect @$lib/mlp_llvm.out0.npy --expect @$lib/mlp_llvm.out1.npy"
minspect --run main $lib/mlp_vm.so --input @$lib/mlp.data.npy --input @$lib/mlp.extra.npy $both
minspect --run main $lib/mlp_vm.so --input extra=@$lib/mlp.extra.npy --input data=@$lib/mlp.data.npy $both >by-name
minspect --run main $lib/mlp_vm.so --input extra=@$lib/mlp.extra.npy --input @$lib/mlp.data.npy $both |
	cmp - by-name
minspect --run main $lib/mlp_vm.so --input @$lib/mlp.data.npy --input @$lib/mlp.extra.npy $both --repeat 20 |
	grep -c "^2x"

# what is wrong with a call
minspect --run main $lib/mlp_vm.so --input @$lib/mlp.data.npy 2>&1 || echo "exit $?"
minspect --run main $lib/mlp_vm.so --input @$lib/mlp.data.npy --input extr=@$lib/mlp.extra.npy 2>&1 || echo "exit $?"
minspect --run main $lib/mlp_vm.so --input @$lib/mlp.data.npy --input str=x 2>&1 || echo "exit $?"
minspect --run main $lib/mlp_vm.so --input @$lib/mlp.data.npy --input 2x13xf32 2>&1 | cut -c 1-100
