# mistakes on the command line: status 2, the option and the column are named
lib=data/formats/14_llvm_noblob.so
for v in 4xf32=1,x,3,4 hello a=4xf32 16xf32=@data/npy/vector.npy @data/npy/pair.npz; do
	minspect --run add $lib --input $v || echo $?
done
minspect --run add $lib --out 5 || echo $?
minspect --run add $lib --expect 2y || echo $?
minspect --run add $lib --repeat 0 || echo $?
minspect --run add $lib --timeout soon || echo $?
minspect --run add $lib --rtol -1 || echo $?
minspect --run add $lib --output 0=@ || echo $?
minspect --run add $lib $lib || echo $?
minspect --run add - || echo $?
# a pipe is read once alone
mkfifo pipe
cat $lib >pipe &
minspect --run add pipe || echo $?
minspect "--$(printf 'x\033[31m')" || echo $?
minspect "$(printf 'x\033[31m\302\233')" || echo $?
