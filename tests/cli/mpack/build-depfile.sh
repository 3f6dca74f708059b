mkdir 'a b'
cp data/formats/01_opencl_scale.blob 'a b/$in.blob'
mpack build 'a b/$in.blob' -o deploy.blob --depfile deploy.d
cat deploy.d
printf 'deploy.blob:\n\tfalse\ninclude deploy.d\n' >Makefile
make -q deploy.blob
touch 'a b/$in.blob'
make -q deploy.blob && exit 1
exit 0
