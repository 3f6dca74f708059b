mpack build a.toml b.toml -o deploy.so
