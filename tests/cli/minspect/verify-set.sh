# Of several files a count comes first; only those with findings have lines, and many findings are counted by what they say.
mkdir -p set
cp data/formats/01_opencl_scale.so set/a.so
cp data/formats/04_metal.blob data/gpu/mix.gfx90a.hsaco set
minspect verify set
minspect verify set/a.so set/04_metal.blob
# one file of a command line is no set
minspect verify set/a.so
head -c 400 set/04_metal.blob >set/short.blob
minspect verify set || echo "status $?"
minspect verify set/a.so missing.so || echo "status $?"
# the sentence is that of the document
minspect verify --json set | grep '"verdict"' || true
minspect verify --json=lines set | grep -o '"verdict":"[^"]*"' || true
# no answer has more than 60 lines, unless all of it is asked for
mkdir many
for i in $(seq 100); do cp set/short.blob many/$i.blob; done
minspect verify many || echo "status $?"
echo "$(minspect verify many | wc -l) lines, all: $(minspect verify --all many | wc -l)"
# a file has all of it
minspect verify many -o said || true
cmp said - <<END
$(minspect verify --all many)
END
