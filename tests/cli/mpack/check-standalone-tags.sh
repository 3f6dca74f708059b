# a standalone package loads its kernels itself: how older loaders spell a tag is nothing to it
sed 's/^\[package\]/&\nabi = "legacy"/' data/launch/standalone_cuda.toml >alone.toml
sed '/^standalone/d' alone.toml >loaded.toml
cp data/launch/kernels.ptx .
mpack check alone.toml
mpack check loaded.toml || echo "status $?"
