# the loader of a standalone library is linked as the objects that mpack has of it, or compiled, where flags are asked for:
# with the same symbols, and the same answers
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the stand-in for CUDA's driver is not built"; exit 77; }

# call FUNCTION LIBRARY ARGUMENT...: what it answers, whatever the library is called
call() { LD_LIBRARY_PATH="$fakes" minspect --run "$@" 2>&1 | sed 's/^minspect: [^:]*: //'; }
answers()
{
	call saxpy $1 --input f32=2.5 --input 3xf32=2 --out 3xf32=1
	call saxpy $1 --input f32=2.5 --input 3xf64=2 --out 3xf32=1
}
for abi in ffi ffi-0.21 legacy; do
	for driver in opencl cuda; do
		toml=standalone; test $driver = opencl || toml=standalone_cuda
		mpack build data/launch/$toml.toml --abi $abi -o linked.so --save-temps linked
		mpack build data/launch/$toml.toml --abi $abi -o compiled.so --save-temps compiled --cflag -O1
		for f in linked compiled; do
			# what compilers call by themselves, and libc's names with checks, is theirs to choose
			nm -D $f.so | cut -c 18- | sed 's/@.*//; /^U .*mem/d; /^U .*printf/d' >$f.symbols
		done
		cmp linked.symbols compiled.symbols
		test -e linked/loader.o -a -e linked/$driver.o -a ! -e compiled/loader.o
		rm -r linked compiled
	done
	answers linked.so >linked.said
	answers compiled.so | cmp - linked.said
done
cat linked.said
# an archive brings the objects along
mpack build data/launch/standalone_cuda.toml -o all.a
ar t all.a
cc -shared -o from.so -Wl,--whole-archive all.a -Wl,--no-whole-archive
answers from.so
