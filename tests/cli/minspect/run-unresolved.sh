# symbols that nobody defines are all named, before anything is called
cat >m.c <<'END'
void nobody_one(void);
extern int nobody_two;
int __tvm_ffi_f(void *self, const void *args, int n, void *out)
{
	nobody_one();
	return nobody_two + n + !self + !args + !out;
}
END
cc -shared -fPIC -o function.so m.c
minspect --run f function.so || echo $?
sed 's/extern int nobody_two;/int nobody_three(void);/;s/nobody_two/nobody_three()/' m.c >m2.c
cc -shared -fPIC -o m.so m2.c
minspect --run f m.so
