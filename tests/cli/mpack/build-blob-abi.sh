# a finished blob cannot be packed as another generation's
mpack build data/formats/08_const_loader.blob --abi legacy -o x.so
