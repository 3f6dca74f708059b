# make reads the depfile, names with spaces and dollars included, and rebuilds when it should.
mkdir 'a b'
cp data/formats/01_opencl_scale.blob 'a b/$in.blob'
mpack build 'a b/$in.blob' -o deploy.blob --depfile deploy.d
cat deploy.d
printf 'deploy.blob:\n\tfalse\ninclude deploy.d\n' >Makefile
# times far apart: two files written at once may bear the same one
touch -d '2 hours ago' 'a b/$in.blob'
touch -d '1 hour ago' deploy.blob
make -q deploy.blob
touch 'a b/$in.blob'
make -q deploy.blob && exit 1
exit 0
