mpack unpack --help
