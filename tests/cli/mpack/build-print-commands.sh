# The commands that are run, and the files they leave with --save-temps.
cp data/formats/01_opencl_scale.blob in.blob
mpack build in.blob -o deploy.so --print-commands --cc cc --save-temps kept 2>err
sed "s|$PWD|PWD|g; s|build-id=0x[0-9a-f]*|build-id=0xID|" err
ls kept
