# a standalone model for another machine, called there: of objects, which are linked in, and of a finished library
sdk=$(dirname "$BIN")/sdk archive=$(dirname "$BIN")/libexec/mpack/aarch64-linux-gnu/libmpkrun-pic.a
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-ar qemu-aarch64-static; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ -e "$archive" ] || { echo "there is no executor for it: make run-for TARGET=aarch64-linux-gnu"; exit 77; }
. "$ROOT/tests/embed/tvm_headers.sh"
call()
{
	qemu-aarch64-static -L /usr/aarch64-linux-gnu ./call "$@"
}
aarch64-linux-gnu-gcc -std=gnu17 -I"$sdk/include" -o call "$ROOT/tests/embed/standalone.c" -ldl
mkdir parts
tar -C parts -xf data/csource/relax.tar
aarch64-linux-gnu-gcc -c -fPIC -Iinclude -o parts/lib0.o parts/lib0.c
aarch64-linux-gnu-gcc -shared -fPIC -Iinclude -o plain.so parts/lib0.c parts/devc.c
mpack unpack plain.so -o unpacked
sed "s|^base = .*||; s|^name = .*|name = \"m\"\nstandalone = true|; s|^kind = \"host\"|&\nsources = [\"../parts/lib0.o\"]|" unpacked/mpack.toml >unpacked/m.toml

mpack build unpacked/m.toml --target aarch64-linux-gnu --cc aarch64-linux-gnu-gcc -o linked.so
mpack build plain.so --standalone --target aarch64-linux-gnu --cc aarch64-linux-gnu-gcc -o carried.so
for library in linked carried; do
	minspect $library.so | sed -n '1s/,.*//p; s/^  needs      no loader/needs no loader/p'
	call ./$library.so main 2 3
	call ./$library.so main 3 3 || echo "status $?"
done
