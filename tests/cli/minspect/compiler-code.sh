# LLVM bitcode, LTO IR and Tile IR: by themselves, in an archive, a wheel, a folder and a tar
cd data/device || exit
for f in scale.nvptx.bc scale.gfx90a.bc answer.wrapped.bc tiny.lto_90.ltoir tiny.lto_100a.ltoir vadd.134.tileirbc; do
	minspect $f
	minspect verify $f
	minspect check --device-arch sm_90 $f || echo "status $?"
done
cd ../..
mkdir folder
cp data/device/scale.nvptx.bc data/device/tiny.lto_90.ltoir data/device/vadd.131.tileirbc folder
minspect folder
(cd folder && ar rcD ../three.a ./* && tar -cf ../three.tar ./*)
minspect three.a
minspect three.tar | grep file:
python3 - <<'END'
import zipfile
with zipfile.ZipFile("three.whl", "w") as z:
    for name in ("scale.nvptx.bc", "tiny.lto_90.ltoir", "vadd.131.tileirbc"):
        z.write("folder/" + name, "three/" + name)
END
minspect three.whl
minspect check --device-arch sm_90 three.whl || echo "status $?"
minspect extract out three.whl!/three/scale.nvptx.bc >/dev/null
cmp "$(find out -name '*.bc')" folder/scale.nvptx.bc && echo extracted
head -c 2000 folder/scale.nvptx.bc >cut.bc
minspect verify cut.bc || echo "status $?"
# the members of an archive, cut: each finding has the name of its check
mkdir cut
for f in scale.nvptx.bc tiny.lto_90.ltoir vadd.134.tileirbc; do head -c "$(case $f in *.ltoir) echo 20 ;; *) echo 100 ;; esac)" data/device/$f >cut/$f; done
(cd cut && ar rcD ../cut.a ./* 2>/dev/null)
minspect verify cut.a || echo "status $?"
