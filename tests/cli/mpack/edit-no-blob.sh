echo x >new.cl
mpack edit data/formats/14_llvm_noblob.so -o new.so --replace /0=new.cl
