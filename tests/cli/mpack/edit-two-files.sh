mpack edit a.so b.so -o c.so --replace /0=x
