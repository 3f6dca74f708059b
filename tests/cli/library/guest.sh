# the library comes and goes in a process that forks: worker threads live at dlclose, loops run in children
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
cc -shared -fPIC -o ffi.so "$ROOT/tests/modules/ffi.c"
cc -std=gnu17 -I"$sdk/include" -o guest "$ROOT/tests/embed/guest.c" -ldl
./guest "$sdk/lib/libmpk-run.so.0" ./ffi.so 20
