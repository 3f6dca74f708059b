# A library that loads its kernels itself comes back as such. Its code knows where each stands, so
# that no other blob is put in.
mpack build data/launch/standalone.toml -o launch.so
mpack unpack launch.so -o dir
head -n 6 dir/mpack.toml
mpack build dir/mpack.toml -o again.so
cmp launch.so again.so
echo '// one line more' >>dir/1-opencl/kernels.cl
mpack build dir/mpack.toml -o other.so || status=$?
mpack edit launch.so -o other.so --replace /0=dir/1-opencl/kernels.cl || echo $?
test ! -e other.so
exit "$status"
