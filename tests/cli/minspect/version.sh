minspect --version
