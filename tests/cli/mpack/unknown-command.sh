mpack bulid -o x.so
