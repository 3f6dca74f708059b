# an object, or a member of an archive, for another machine is found before anything is built
mpack build data/formats/01_opencl_scale.blob --target aarch64-linux-gnu -o host.o
ar rc host.a host.o
printf '[package]\nname = "deploy"\ntarget = "x86_64-linux-gnu"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["host.o", "host.a"]\n' >mpack.toml
mpack check
