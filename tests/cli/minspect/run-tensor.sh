# inputs, outputs and expectations of a library that TVM exported; results go to files and come back
lib=data/formats/14_llvm_noblob.so
minspect --run add $lib --input 16xf32=rand --input 16xf32=0.5 --out 16xf32 --output sum.npy
minspect --run add $lib --input @sum.npy --input 16xf32=-0.5 --out 16xf32 --expect 16xf32=rand --output 0=@back.npy
minspect --run main $lib --input @back.npy --input 16xfloat32=@sum.npy --out 16xf32 --expect ignored
# an archive has all results, or the one of a number; it is read again, here and by others
minspect --run forward data/relax/twoout_dyn.so --input 3x8xf32=rand --output @all.npz --output 1=@one.npz --output 1=one.npy >printed
python3 - <<'P'
import zipfile
for name in ("all.npz", "one.npz"):
    with zipfile.ZipFile(name) as z:
        print(name, z.testzip(), [(m.filename, m.file_size, m.header_offset) for m in z.infolist()])
print(zipfile.ZipFile("all.npz").read("arr_1.npy") == open("one.npy", "rb").read())
P
minspect --run forward data/relax/twoout_dyn.so --input 3x8xf32=rand --expect @all.npz:arr_0 --expect @one.npz --output again.npz >/dev/null
cmp all.npz again.npz
minspect --run forward data/relax/twoout_dyn.so --input 3x8xf32=rand --output 2=@none.npz || echo "status $?, $(ls none.npz 2>&1 | wc -l)"
