mpack build data/formats/01_opencl_scale.blob -o no/such/deploy.blob
