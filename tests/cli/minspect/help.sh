# at most 24 lines, three examples
minspect --help
test "$(minspect --help | wc -l)" -le 24
