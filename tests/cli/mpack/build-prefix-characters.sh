mpack build data/formats/01_opencl_scale.blob -o deploy.a --system-lib --prefix 'p-q'
