mpack edit data/formats/01_opencl_scale.so -o new.so --replace /0=missing.cl || status=$?
test ! -e new.so
exit "$status"
