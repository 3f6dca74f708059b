# What a loader reads, by the thousand: needed libraries and directories to search them in, versions of symbols, slots
# of a PLT that code calls through, sections of relocations; functions that begin at one place or overlap, and data
# that one refers to again and again. Nothing is read so often that the time is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
measure()
{
	python3 "$ROOT/tests/large/measure.py" "$@"
}
set -- needed.so run-path.so versions.so slots.so slots-sections.so slots-again.so relocations.so code-sections.o \
	functions-same.so functions-endless.so references.so
python3 "$ROOT/tests/large/make.py" . "$@" references-moved.so
for f; do
	measure $f "minspect --json FILE" "minspect --functions FILE" "minspect --verify FILE" \
		"minspect disasm --all FILE" "minspect --diff data/formats/01_opencl_scale.so FILE"
done
for f in needed.so run-path.so versions.so slots.so; do
	measure $f "minspect --check --glibc 2.99 FILE"
done
measure references.so "minspect --diff references-moved.so FILE"
# what overlaps more than linkers make it is refused
set -- needed-tails.so version-tails.so version-loop.so relocations-again.so functions-overlap.so
python3 "$ROOT/tests/large/make.py" . "$@"
measure needed-tails.so "minspect --json FILE"
measure version-tails.so "minspect --check FILE"
measure version-loop.so "minspect --check FILE"
measure relocations-again.so "minspect --diff data/formats/01_opencl_scale.so FILE"
measure functions-overlap.so "minspect disasm --all FILE"
