# A cross compiler must not slip its machine into a library for another.
command -v aarch64-linux-gnu-gcc >/dev/null || { echo "aarch64-linux-gnu-gcc is not installed"; exit 77; }
mpack build data/formats/01_opencl_scale.blob --target x86_64-linux-gnu --ldflag -nostdlib \
	--via c --cc aarch64-linux-gnu-gcc -o deploy.so
