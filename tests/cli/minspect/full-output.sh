test -e /dev/full || { echo "there is no /dev/full"; exit 77; }
minspect data/formats/01_opencl_scale.so >/dev/full
