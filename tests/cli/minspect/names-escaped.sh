# nothing from a file reaches the terminal as a control sequence
printf '\033[31mred' >name
sed "s/scale_kernel/scale\x1bkernel/g" data/formats/01_opencl_scale.blob >evil.blob
minspect evil.blob "$(cat name)"
