# a standalone library that finds no driver: "skip" for CI
mpack build data/launch/standalone.toml -o f.so
mkdir none
OCL_ICD_VENDORS=$PWD/none minspect --run saxpy f.so --input f32=2.5 --input 3xf32=1 --out 3xf32
