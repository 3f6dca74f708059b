# what the module prints goes to stderr, standard input is empty for it
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
echo text | minspect --run chatter m.so
