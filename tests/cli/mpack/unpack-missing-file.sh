# A file that is not there leaves no folder behind.
mpack unpack missing.so -o dir || status=$?
test ! -e dir
exit "$status"
