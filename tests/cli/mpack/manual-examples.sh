# What the manual shows is accepted: each example, and the two that belong together.
sed -n '/^\.Bd -literal/,/^\.Ed/p' "$ROOT/man/mpack.toml.5" |
awk '/^\.Bd/ { n++; next } /^\.Ed/ { next } { print > ("example" n ".toml") }'
cat example1.toml example2.toml > both.toml
touch host.ll deploy.so settings.bin
printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry vadd_kernel(.param .u64 a, .param .u64 b,\n\t.param .u64 c, .param .u32 n) { ret; }\n' > vadd.ptx
mpack check example1.toml
mpack check both.toml
mpack check example3.toml
cp "$DATA/launch/kernels.cl" .
mpack check example4.toml
