# A signature over every byte: made by mpack alone or while it builds and edits, checked by minspect, and by
# ssh-keygen as the manual says.
command -v ssh-keygen >/dev/null || { echo "ssh-keygen is not installed"; exit 77; }
command -v openssl >/dev/null || { echo "openssl is not installed"; exit 77; }
openssl genpkey -algorithm ed25519 -out key.pem
openssl pkey -in key.pem -pubout -out key.pub
ssh-keygen -q -t ed25519 -N '' -C me -f ssh

# verdict FILE KEY...: who signed, with the key's name for its fingerprint
verdict()
{
	file=$1 key=$2
	shift 2
	status=0
	minspect "$@" --verify --pubkey "$key" "$file" >out || status=$?
	sed -E 's/SHA256:[A-Za-z0-9+\/]+/KEY/; s/file\+0x[0-9a-f]+/file+OFFSET/' out
	echo "= $status"
}

mpack build data/example/mpack.toml -o plain.so
mpack build data/example/mpack.toml -o built.so --sign key.pem
mpack sign plain.so -o signed.so --key key.pem
cmp built.so signed.so
verdict built.so key.pub
verdict built.so ssh.pub
verdict plain.so key.pub

echo "# the other key in its place, and back"
mpack sign signed.so -o signed.so --key ssh
verdict signed.so ssh.pub
mpack sign signed.so -o signed.so --key key.pem
cmp built.so signed.so

echo "# an edit is signed anew or not at all"
mpack edit built.so -o edited.so --replace /0=data/example/vadd.ptx
verdict edited.so key.pub
mpack edit built.so -o edited.so --replace /0=data/example/vadd.ptx --sign key.pem
cmp built.so edited.so

echo "# the same function, the same blob"
minspect --run addone built.so --input 4xf32=1,2,3,4 --out 4xf32
minspect --diff plain.so built.so | grep -c '^[~+-] [^b]' || true
test "$(stat -c %a built.so)" = "$(stat -c %a plain.so)"

echo "# every kind of change"
cp built.so stripped.so && strip stripped.so
verdict stripped.so key.pub | tail -n 2
sed 's/addone/addtwo/' built.so >renamed.so
verdict renamed.so key.pub | tail -n 2
printf x >>built.so
verdict built.so key.pub

echo "# an object, a library of TVM, one without a blob"
mpack build data/formats/01_opencl_scale.blob -o a.o --sign ssh
verdict a.o ssh.pub
for f in formats/01_opencl_scale formats/14_llvm_noblob legacy/mlp_llvm; do
	mpack sign data/$f.so -o tvm.so --key ssh
	verdict tvm.so ssh.pub
done

echo "# as ssh-keygen sees it"
cp tvm.so deploy.so
minspect --json deploy.so >deploy.json
python3 - <<'END'
import json
s = json.load(open("deploy.json"))["files"][0]["signature"]
data = bytearray(open("deploy.so", "rb").read())
data[s["offset"]:s["offset"] + s["bytes"]] = bytes(s["bytes"])
open("zeroed", "wb").write(data)
open("deploy.sig", "w").write(s["sshsig"])
print("ssh.pub is the key:", open("ssh.pub").read().startswith(s["key"]))
print("fingerprint:", s["fingerprint"], file=open("claimed", "w"))
END
(printf 'you '; cat ssh.pub) >signers
ssh-keygen -q -Y verify -f signers -I you -n mpack-library-v1 -s deploy.sig <zeroed && echo "ssh-keygen agrees"
printf x >>zeroed
ssh-keygen -q -Y verify -f signers -I you -n mpack-library-v1 -s deploy.sig <zeroed 2>/dev/null || echo "and not of other bytes"
ssh-keygen -lf ssh.pub | cut -d' ' -f2 | sed 's/^/fingerprint: /' | cmp - claimed

echo "# one of several keys, JSON"
cp ssh.pub team
echo "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f" >>team
minspect --json --verify --pubkey team deploy.so | sed -E 's/SHA256:[A-Za-z0-9+\/]+/KEY/' | grep -A4 '"signature"'
