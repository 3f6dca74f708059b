mpack check
