mpack chek
