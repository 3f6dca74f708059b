# a system with libc, libm and /proc, and nothing else, calls a model that carries its executor
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
unshare -m true 2>/dev/null || { echo "only root has a root folder of its own"; exit 77; }
cc -std=gnu17 -I"$sdk/include" -o call "$ROOT/tests/embed/standalone.c" -ldl
mpack build data/relax/gelu.so --standalone -o gelu.so
mkdir -p root/proc
ldd ./call ./gelu.so | grep -oE '/[^ :()]*\.so[^ :()]*' | grep -v gelu | sort -u | xargs -I{} cp --parents {} root
cp call gelu.so root
find root -type f | sed 's|.*/||; s|-[0-9.]*so|.so|; s|ld-.*|ld.so|' | sort
unshare -m sh -c 'mount --bind /proc root/proc && exec chroot root /call /gelu.so forward 4 24'
# without /proc no file in memory can be opened, and that is said
chroot root /call /gelu.so forward 4 24 || echo "status $?"
