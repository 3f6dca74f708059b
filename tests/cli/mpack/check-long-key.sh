# A key nested deeper than the parser's stack should go.
printf 'a%.0s.' $(seq 100) > mpack.toml
echo 'b = 1' >> mpack.toml
mpack check
