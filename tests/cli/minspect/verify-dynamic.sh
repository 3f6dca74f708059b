# What the dynamic linker would crash on is told before anybody loads it: entries of the dynamic section that are
# missing or point elsewhere, symbols, relocations, initializers.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >damage.py <<'END'
"""damage.py IN - one library a fault, each a few bytes beside the whole one"""
import struct
import sys

whole = open(sys.argv[1], "rb").read()
phoff, = struct.unpack_from("<Q", whole, 32)
count, = struct.unpack_from("<H", whole, 56)
segments = [(phoff + 56 * i,) + struct.unpack_from("<IIQQQQQQ", whole, phoff + 56 * i) for i in range(count)]
loads = [s for s in segments if s[1] == 1]


def offset(address):
    return next(address - s[4] + s[3] for s in loads if s[4] <= address < s[4] + s[6])


at, _, _, begin, _, _, size, _, _ = next(s for s in segments if s[1] == 2)
entries = {}
for entry in range(begin, begin + size, 16):
    tag, value = struct.unpack_from("<QQ", whole, entry)
    entries.setdefault(tag, (entry, value))
NULL, STRTAB, SYMTAB, RELA, RELASZ, RELAENT, JMPREL, PLTRELSZ, PLTGOT, PLTREL = 0, 5, 6, 7, 8, 9, 23, 2, 3, 20
INIT_ARRAY, INIT_ARRAYSZ, FINI, GNU_HASH, NEEDED, UNKNOWN = 25, 27, 13, 0x6ffffef5, 1, 0x6fffff00
text = next(s[4] for s in loads if s[2] & 1)
rela, first = offset(entries[RELA][1]), offset(entries[INIT_ARRAY][1])
symbols, hashes = offset(entries[SYMTAB][1]), offset(entries[GNU_HASH][1])
function = next(i for i in range(1, 100) if whole[symbols + 24 * i + 4] & 15 == 2 and
                struct.unpack_from("<H", whole, symbols + 24 * i + 6)[0])
relro = next(s[0] for s in segments if s[1] == 0x6474e552)


def entry(tag, to=UNKNOWN):
    return [(entries[tag][0], "<Q", to)]


def value(tag, to):
    return [(entries[tag][0] + 8, "<Q", to)]


faults = {
    "segment": [(at + 16, "<Q", 0x10)],
    "end": [(e, "<Q", UNKNOWN) for e in range(begin, begin + size, 16) if struct.unpack_from("<Q", whole, e)[0] == 0],
    "strtab": entry(STRTAB), "symtab": entry(SYMTAB), "rela": entry(RELA), "relasz": entry(RELASZ),
    "relaent": entry(RELAENT), "relaent-value": value(RELAENT, 16), "jmprel": entry(JMPREL),
    "pltrel": entry(PLTREL), "pltrel-value": value(PLTREL, 9), "pltgot": entry(PLTGOT),
    "array-size": entry(INIT_ARRAYSZ), "strtab-away": value(STRTAB, 1 << 40), "rela-long": value(RELASZ, 24 << 30),
    "fini": value(FINI, entries[INIT_ARRAY][1]), "needed": value(NEEDED, 1 << 20),
    "hash-away": value(GNU_HASH, 1 << 33), "no-hash": entry(GNU_HASH), "no-buckets": [(hashes, "<I", 0)],
    "bloom": [(hashes + 16, "<Q", 0)], "name": [(symbols + 24 * function, "<I", 1)],
    "function": [(symbols + 24 * function + 8, "<Q", entries[INIT_ARRAY][1])],
    "function-away": [(symbols + 24 * function + 8, "<Q", 1 << 40)],
    "versym": entry(0x6ffffff0), "verneed": entry(0x6ffffffe), "relro": [(relro + 40, "<Q", 1 << 40)],
    "sealed": [(relro + 40, "<Q", 0x100000)],
    "writes-away": [(rela, "<Q", 1 << 40)], "writes-text": [(rela, "<Q", text)], "type": [(rela + 8, "<I", 99)],
    "symbol": [(rela + 8, "<Q", 1 << 50 | 6)], "initializer": [(rela + 16, "<Q", 8)],
    "ifunc": [(rela + 8, "<Q", 37), (rela + 16, "<Q", 8)],
    "unrelocated": [(rela, "<Q", entries[INIT_ARRAY][1] + 16)],
}
assert struct.unpack_from("<Q", whole, rela)[0] == entries[INIT_ARRAY][1] and first
for name, changes in faults.items():
    data = bytearray(whole)
    for where, form, new in changes:
        struct.pack_into(form, data, where, new)
    open(name + ".so", "wb").write(data)
    print(name)
END
lib=data/relax/embed_dyn.so
minspect --verify $lib
for name in $(python3 damage.py $lib); do
	status=0
	minspect --verify $name.so >found || status=$?
	grep -c '\[dynamic-section\]\|\[dynamic-symbols\]\|\[relocation\]' found | tr '\n' ' '
	echo "$status $(head -n 1 found)"
done
minspect --json --verify unrelocated.so | grep '"check"'

# it will not load there either
minspect --check --machine x86_64 unrelocated.so >found || echo "status $?"
grep '\[' found
