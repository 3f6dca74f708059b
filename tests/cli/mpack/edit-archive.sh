echo x >new.cl
mpack edit data/formats/12_syslib_prefix.tar -o new.tar --replace /0=new.cl
