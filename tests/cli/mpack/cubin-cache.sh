# TileLang 0.1.15's cache: cubins in one tree, sources in another; the library beside a source has the cubin it became
cache=cache/0.1.15
put() { # CUBIN'S_KEY CUBIN SOURCE SOURCE'S_KEY: as the compiler files them, with host code in a library
	mkdir -p $cache/cuda-binaries/"$1" $cache/linux-x86_64/kernels/"$4"
	cp "$2" $cache/cuda-binaries/"$1"/kernel.cubin
	echo '{"format": "tilelang.cuda-binary-cache.v1"}' >$cache/cuda-binaries/"$1"/metadata.json
	cp "$3" $cache/linux-x86_64/kernels/"$4"/device_kernel.cu
	mpack init "$2" >k.toml
	mpack build -q k.toml -o $cache/linux-x86_64/kernels/"$4"/executable.so
}
# the same header, other code
cubin() { python3 -c "import sys; d = bytearray(open('data/tilelang/kernel.cubin', 'rb').read()); d[d.index(b'\x4d\x79') + 9] ^= int(sys.argv[1]); open(sys.argv[2], 'wb').write(d)" "$@"; }
n=0
for name in one two three; do
	cubin $((n += 1)) $name.cubin
	sed "s/\<A\>/$name/g" data/tilelang/device_kernel.cu >$name.cu
done
# names that sort one way in one tree and another way in the other
put 1 one.cubin one.cu k3
put 2 two.cubin two.cu k1
put 3 three.cubin three.cu k2
mpack init cache | sed -n '/^data/p; /^params/p'
mpack build cache -o cache.so
minspect --functions cache.so | grep -o 'main_kernel.*(.*)'
mpack build cache -o cache.so --depfile cache.d --force
tr ' ' '\n' <cache.d | grep -c 'kernel.cubin\|device_kernel.cu\|executable.so'
# a cubin whose library is gone: nothing says what it takes, until it is the last
mv $cache/linux-x86_64/kernels/k1/executable.so kept.so
mv $cache/linux-x86_64/kernels/k2/executable.so other.so
mpack init cache || echo "status $?"
mv other.so $cache/linux-x86_64/kernels/k2/executable.so
mpack init cache | grep -c '^params'
# another one's library is none of it
cp kept.so $cache/linux-x86_64/kernels/k3/executable.so
rm $cache/linux-x86_64/kernels/k1/device_kernel.cu
mpack init cache || echo "status $?"
# an empty library, and one that ends with what a cubin begins with
: >$cache/linux-x86_64/kernels/k3/executable.so
printf 'xx\177ELF' >$cache/linux-x86_64/kernels/k2/executable.so
mpack init cache || echo "status $?"
