# Extraction never mixes its files with those of the user.
mkdir out
echo mine >out/file
minspect --extract out data/formats/01_opencl_scale.blob || status=$?
test "$(ls -A)" = "$(printf 'data\nout')"
cat out/file
exit "$status"
