mpack --colour=never
