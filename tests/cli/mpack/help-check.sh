mpack check --help
