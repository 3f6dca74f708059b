# cubins, fatbins and PTX that tvm-ffi's tools embed are kernels, wherever minspect looks
f=data/embedded/embedded.so
minspect $f
minspect --functions data/embedded/embedded.o
minspect --verify $f
minspect --json $f | sed -n '/"embedded"/,$p' | head -n 30
minspect --extract dir $f
(cd dir && find . -type f | sort)
cmp dir/embedded/0-kernels.cubin data/device/two.sm_75.cubin
cmp dir/embedded/1-images.fatbin data/device/tiny.none.fatbin
cmp dir/embedded/2-text.ptx data/device/two.ptx
grep -A12 '"embedded/1-images.fatbin"' dir/index.json
minspect --size $f
minspect --diff $f data/embedded/embedded.o || test $? = 1
# in an archive, beside a module; stripped, nothing names them
ar rcsD lib.a data/embedded/embedded.o
minspect lib.a | grep cubin:
strip -o stripped.so $f
minspect stripped.so
# broken code is a finding, not a failure
sed 's/\.version/.verzion/' $f >broken.so
minspect --verify broken.so || test $? = 1
