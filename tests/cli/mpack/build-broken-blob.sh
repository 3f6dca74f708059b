# A refused input leaves the output of an earlier build as it was.
head -c 100 data/formats/01_opencl_scale.blob >cut.blob
echo old >deploy.so
mpack build cut.blob -o deploy.so || status=$?
grep -qx old deploy.so
exit "$status"
