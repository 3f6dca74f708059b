# An object for another machine is refused before the linker sees it.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.o >mpack.toml
mpack build data/formats/01_opencl_scale.blob --target aarch64-linux-gnu -o host.o
mpack build --target x86_64-linux-gnu --cc cc -o deploy.so
