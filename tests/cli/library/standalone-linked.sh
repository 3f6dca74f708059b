# a model whose objects are at hand: they are linked in, and a system without /proc calls it
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
case $(printf '\1\0' | od -An -td2 | tr -d ' ') in 1) ;; *) echo "the blob among the sources is for little-endian machines"; exit 77 ;; esac
. "$ROOT/tests/embed/tvm_headers.sh"
export CPATH=$PWD/include
cc -std=gnu17 -I"$sdk/include" -o call "$ROOT/tests/embed/standalone.c" -ldl

# a function of the model and one of the host code are both called main
mpack build data/csource/relax.tar --standalone -o linked.so
minspect linked.so | sed -n 's/^  needs      no loader/needs no loader/p'
minspect --json linked.so | sed -n 's/^ *"\(executor\|host_code\)"/\1/p'
nm -D --defined-only linked.so | awk '{ print $2, $3 }' | sort
readelf -d linked.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/needs \1/p' | { grep -vE 'libc\.so|libm\.so|ld-linux' || :; }
./call ./linked.so main 2 3
./call ./linked.so main 3 3 || echo "status $?"
minspect --verify linked.so
minspect --run main linked.so --input 2x3xfloat32=1,2,3,4,5,6

# the same from a manifest with sources, objects and an archive
mkdir parts && tar -C parts -xf data/csource/relax.tar
cc -shared -fPIC -Iinclude -o plain.so parts/lib0.c parts/devc.c
mpack unpack plain.so -o unpacked
cc -c -fPIC -o parts/lib0.o parts/lib0.c
ar rcs parts/host.a parts/lib0.o
for source in lib0.c lib0.o host.a; do
	sed "s|^base = .*||; s|^name = .*|name = \"m\"\nstandalone = true|; s|^kind = \"host\"|&\nsources = [\"../parts/$source\"]|" unpacked/mpack.toml >unpacked/m.toml
	mpack build unpacked/m.toml -o "from-$source.so"
	minspect "from-$source.so" | grep -c "linked in"
	./call "./from-$source.so" main 2 3
done
mpack build unpacked/m.toml -o again.so
cmp again.so from-host.a.so && echo "the same bytes"

# with C++, whose driver knows the libraries that it takes
if command -v c++ >/dev/null; then
	echo '#include <string>' >parts/more.cc
	echo 'static std::string *made = new std::string("made"); extern "C" int made_size() { return (int)made->size(); }' >>parts/more.cc
	sed 's|"../parts/host.a"|"../parts/lib0.o", "../parts/more.cc"|' unpacked/m.toml >unpacked/cxx.toml
	mpack build unpacked/cxx.toml -o cxx.so
	minspect cxx.so | grep -c "linked in"
	./call ./cxx.so main 2 3
fi

# what it was linked of is there to be unpacked, and its payloads to be replaced
mpack unpack linked.so -o apart
find apart -type f | sort
sed 's/\(\xcd\xcc\xcc\x3d\|\x00\x00\x80\x3f\)/\x00\x00\x00\x40/' apart/0-*/payload.bin >other.bin
cmp -s other.bin apart/0-*/payload.bin && echo "nothing was replaced"
mpack edit linked.so --replace /=other.bin -o edited.so
minspect edited.so | grep -c "linked in"
./call ./edited.so main 2 3

# code of a link-time optimizer has its names elsewhere: it is carried
cc -c -fPIC -flto -ffat-lto-objects -o parts/lib0.o parts/lib0.c
sed -i 's|host.a|lib0.o|' unpacked/m.toml
mpack build unpacked/m.toml -o lto.so
minspect lto.so | grep -c "linked in" || ./call ./lto.so main 2 3

if unshare -m true 2>/dev/null; then
	mkdir root
	ldd ./call ./linked.so | grep -oE '/[^ :()]*\.so[^ :()]*' | grep -v linked | sort -u | xargs -I{} cp --parents {} root
	cp call linked.so root
	chroot root /call /linked.so main 2 3 >without
	./call ./linked.so main 2 3 | cmp - without && echo "without /proc the same"
else
	echo "without /proc the same" # only root has a root folder of its own
fi
