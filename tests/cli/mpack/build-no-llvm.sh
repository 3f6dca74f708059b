# The program without its libexec folder, as where LLVM's half is not installed: it goes through C by itself.
mkdir bin
cp "$(command -v mpack)" bin/mpack
cp data/formats/01_opencl_scale.blob in.blob
bin/mpack build in.blob -o x.c
bin/mpack build in.blob -o x.blob
cmp in.blob x.blob
bin/mpack build in.blob -o x.so --via c
bin/mpack build in.blob -o y.so
cmp x.so y.so
bin/mpack build in.blob -o z.so --via llvm
