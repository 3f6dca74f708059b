# WebAssembly: objects and modules as TVM's packages have them, by every action that reads; they are not run here
cd data/objects || exit
for f in host.wasm32.o devc.wasm64.o scale.wasm scale.exported.wasm; do
	minspect $f
	minspect verify $f
done
minspect size scale.wasm
minspect functions scale.wasm
minspect code-digest scale.wasm
minspect check scale.wasm || echo "status $?"
minspect run scale scale.wasm || echo "status $?"
minspect diff scale.wasm scale.exported.wasm || echo "status $?"
cd ../..
minspect extract out data/objects/scale.wasm
(cd out && find . -type f | sort)
ar rcD both.a data/objects/host.wasm32.o data/objects/devc.wasm32.o
tar -cf both.tar -C data/objects host.wasm32.o devc.wasm32.o
minspect both.a | head -n 6
minspect both.tar | head -n 6
mkdir folder
cp data/objects/scale.wasm folder/model.wasm
minspect folder | head -n 1
python3 - <<'END'
import zipfile
with zipfile.ZipFile("m.whl", "w") as z:
    z.write("data/objects/scale.wasm", "m/model.wasm")
END
minspect m.whl
printf '\0asm\015\0\1\0' >component.wasm
minspect component.wasm || echo "status $?"
