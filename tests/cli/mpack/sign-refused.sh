# What cannot be signed, and keys that are none: a reason, the right status, no output and nothing of the key.
command -v ssh-keygen >/dev/null || { echo "ssh-keygen is not installed"; exit 77; }
command -v openssl >/dev/null || { echo "openssl is not installed"; exit 77; }
openssl genpkey -algorithm ed25519 -out key.pem
openssl pkey -in key.pem -pubout -out key.pub
openssl pkey -in key.pem -aes256 -passout pass:x -out locked.pem
ssh-keygen -q -t ed25519 -N secret -f locked
ssh-keygen -q -t ecdsa -N '' -f ecdsa
cp data/formats/01_opencl_scale.so a.so
tail -n +2 key.pem >headless.pem
try()
{
	status=0
	"$@" 2>&1 || status=$?
	echo "= $status"
	test ! -e out.so || { echo "there is output"; rm -f out.so; }
}
try mpack sign a.so -o out.so
try mpack sign a.so --key key.pem
try mpack sign -o out.so --key key.pem
try mpack sign a.so -o out.so --key none.pem
for key in key.pub locked.pem locked ecdsa headless.pem a.so ecdsa.pub; do
	try mpack sign a.so -o out.so --key $key
done
try mpack sign data/formats/01_opencl_scale.blob -o out.so --key key.pem
try mpack sign data/archive/../formats/12_syslib_prefix.tar -o out.so --key key.pem
try mpack sign data/objects/scale.dll -o out.so --key key.pem
try mpack sign data/archive/../example/mpack.toml -o out.so --key key.pem
for suffix in c a tar blob; do
	try mpack build data/formats/01_opencl_scale.blob -o out.$suffix --sign key.pem
done
try mpack build data/formats/01_opencl_scale.blob -o out.blob --provenance
try mpack build data/formats/01_opencl_scale.blob -o out.o --target x86_64-w64-windows-gnu --sign key.pem
try mpack sign a.so -o key.pem --key key.pem
ln key.pem out2.so
try mpack build data/formats/01_opencl_scale.blob -o out2.so --sign key.pem
try mpack edit a.so -o out2.so --replace /0=a.so --sign key.pem
grep -c PRIVATE key.pem
rm out2.so
try mpack edit data/formats/01_opencl_scale.blob -o out.blob --replace /0=data/formats/01_opencl_scale.blob --sign none
try minspect --pubkey key.pub a.so
try minspect --verify --pubkey key.pem a.so
try minspect --verify --pubkey none a.so
try minspect --verify --pubkey ecdsa.pub a.so
try minspect --verify --pubkey key.pub data/formats/01_opencl_scale.blob
try minspect --verify --pubkey key.pub "data/formats/12_syslib_prefix.tar"
try mpack sig a.so
# what a private key holds is in no message
ls | sort | tr '\n' ' '
