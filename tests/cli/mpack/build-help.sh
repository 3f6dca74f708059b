mpack build --help=all
