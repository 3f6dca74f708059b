# An archive of other things is told apart from a broken one.
echo text >notes.txt
ar rc a.a notes.txt
minspect a.a
