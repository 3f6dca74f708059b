mpack -q check
