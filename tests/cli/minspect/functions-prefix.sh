# a system library's functions have its prefix, the texts of their code may not: signatures are found in every form of it
for via in llvm c; do
	mpack build -q data/launch/opencl.toml -o net.a --via $via --system-lib --prefix net_
	cc -shared -nodefaultlibs -Wl,--build-id=none -o net.so -Wl,--whole-archive net.a -Wl,--no-whole-archive
	strip -o stripped.so net.so
	ld -r -o net.o --whole-archive net.a
	rm -rf parts
	mkdir parts
	(cd parts && ar x ../net.a)
	for f in net.a net.so stripped.so net.o parts/lib0.o; do
		echo "--- $via $f"
		minspect --functions $f | sed -n '/^host/,/^\//p' | grep '^  [a-z]'
	done
done
mpack build -q data/launch/opencl.toml -o direct.so --system-lib --prefix net_
minspect --functions --filter saxpy direct.so
# TVM's own
minspect --functions data/formats/12_syslib_prefix.tar | grep '^  [a-z]'
