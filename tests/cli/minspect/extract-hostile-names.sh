# a module kind that would lead out of the directory
sed 's#opencl#../../#' data/formats/01_opencl_scale.blob >a.blob
minspect --extract out a.blob
find . -type f | LC_ALL=C sort
