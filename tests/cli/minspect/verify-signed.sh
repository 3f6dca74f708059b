# A library that was signed without mpack, by objcopy and openssl (data/origin), verifies; one bit less does not.
minspect data/origin/signed.so
minspect --verify --pubkey data/origin/key.pub data/origin/signed.so
python3 - <<'END'
data = bytearray(open("data/origin/signed.so", "rb").read())
data[0x1000] ^= 1
open("changed.so", "wb").write(data)
END
minspect --json --verify --pubkey data/origin/key.pub changed.so | grep -A6 '"signature"'
