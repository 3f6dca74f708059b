# A broken blob leaves no folder behind.
head -c 300 data/formats/07_relax_opencl.blob >broken.blob
mpack unpack broken.blob -o dir || status=$?
test ! -e dir
exit "$status"
