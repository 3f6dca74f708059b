echo text >notes.txt
ar rc a.a notes.txt
minspect a.a
