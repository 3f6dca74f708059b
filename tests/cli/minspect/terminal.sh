# on a terminal no word is broken: lines end where arguments do, and command lines can be pasted
command -v script >/dev/null || { echo "script is not installed"; exit 77; }
cp data/relax/gelu_opencl.so gelu.so
# on COLUMNS COMMAND: what it prints on such a terminal, without colours
on() { script -qec "stty cols $1; $2 --color never" /dev/null </dev/null | tr -d '\r'; }
on 80 "minspect functions gelu.so"
on 60 "minspect gelu.so"
for columns in 50 72 80 100; do
	for action in functions size verify "check --tvm 0.27" "diff data/gpu/cuda.so" ""; do
		on $columns "minspect $action gelu.so"
		on $columns "minspect $action data/gpu/cuda.so"
	done | awk -v most=$columns '{ for (i = 1; i <= NF; i++) if (length($i) >= 40) next } length > most { print most ": " $0 }'
done
# nothing is lost, and what is for programs stays as it is
on 60 "minspect gelu.so" | tr -s ' \n' ' ' >wrapped
minspect gelu.so | tr -s ' \n' ' ' | cmp - wrapped
on 60 "minspect json gelu.so" >wrapped
minspect json gelu.so | cmp - wrapped
on 60 "minspect size --csv gelu.so" >wrapped
minspect size --csv gelu.so | tr -d '\r' | cmp - wrapped
# a command line that goes on in further lines is one
on 72 "minspect functions gelu.so --filter layer_norm" | sed -n '/^    minspect run layer_norm /,/[^\\]$/p' | head -n 3 >line
cat line
sh line >/dev/null && echo "it runs"
# the table of a profile fits a terminal; -v has whole names
mlp="--input data=@data/legacy/mlp.data.npy --input extra=@data/legacy/mlp.extra.npy"
on 80 "minspect run default data/legacy/mlp_llvm.so $mlp --profile" | sed -n '/^operator /,$p' | awk 'length > 80'
on 80 "minspect run default data/legacy/mlp_llvm.so $mlp --profile -v" | grep -o 'tvmgen_default_fused_nn_contrib_dense_pack_add_tanh_add  cpu'
