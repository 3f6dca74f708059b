# kernels, models and libraries in a manifest's place, by every command
look() { mpack "$@" 2>&1 || echo "status $?"; }
printf 'GGUF\3\0\0\0' >m.gguf
for f in data/device/two.sm_90.cubin data/device/two.ptx data/launch/kernels.cl m.gguf; do
	look build "$f" -o x.so
	look check "$f"
	look unpack "$f" -o x
	look edit "$f" -o x.so --replace /0=m.gguf
done
look check data/formats/01_opencl_scale.so
look unpack data/launch/opencl.toml -o x
# a manifest may speak of kernels
sed 's/^# Launch/# __kernel/' data/launch/opencl.toml >m.toml
cp data/launch/kernels.cl .
look check m.toml
# a file where a command belongs
look m.toml
look data/formats/01_opencl_scale.so
look verify x.so
