# The program without its libexec folder; C and blobs need none.
mkdir bin
cp "$(command -v mpack)" bin/mpack
cp data/formats/01_opencl_scale.blob in.blob
bin/mpack build in.blob -o x.c
bin/mpack build in.blob -o x.blob
cmp in.blob x.blob
bin/mpack build in.blob -o x.so --via c
bin/mpack build in.blob -o y.so
