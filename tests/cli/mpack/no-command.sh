mpack
