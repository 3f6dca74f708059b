# A payload that is not there leaves no output behind.
mpack edit data/formats/01_opencl_scale.so -o new.so --replace /0=missing.cl || status=$?
test ! -e new.so
exit "$status"
