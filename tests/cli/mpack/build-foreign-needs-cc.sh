mpack build data/formats/01_opencl_scale.blob --target s390x-linux-gnu -o deploy.so
