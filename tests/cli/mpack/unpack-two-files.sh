mpack unpack a.so b.so -o dir
