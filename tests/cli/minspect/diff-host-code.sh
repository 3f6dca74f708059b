# host functions that differ, by instruction: what a called function or a table moved by is no change
command -v clang-19 >/dev/null || { echo "clang-19 is not installed"; exit 77; }
library() { # library OUT TRIPLE TEXT
	printf '%s\n' "$3" | clang-19 --target="$2" -c -x assembler -o "$1.o" -
	ld.lld-19 -shared --build-id=none -o "$1" "$1.o"
}
command -v ld.lld-19 >/dev/null || { echo "lld is not installed"; exit 77; }
x86() # x86 LIMIT MORE CALLED
{
	cat <<END
.globl __tvm_ffi_f, __tvm_ffi_g, __tvm_ffi_h
.type __tvm_ffi_f, @function
.type __tvm_ffi_g, @function
.type __tvm_ffi_h, @function
.type helper, @function
.type others, @function
__tvm_ffi_f:
	cmpl \$$1, %edx
	jg 1f
	leaq table(%rip), %rsi
	call helper
	$2
1:	leaq text(%rip), %rdi
	call $3
	ret
.size __tvm_ffi_f, .-__tvm_ffi_f
__tvm_ffi_g:
	leaq table(%rip), %rsi
	call helper
	ret
.size __tvm_ffi_g, .-__tvm_ffi_g
.set __tvm_ffi_h, __tvm_ffi_f
helper:	movl (%rsi), %eax
	ret
.size helper, .-helper
others:	xorl %eax, %eax
	ret
.size others, .-others
.section .rodata
text:	.asciz "said of it"
.data
.type table, @object
table:	.long 1, 2
.size table, 8
END
}
library a.so x86_64-linux-gnu "$(x86 4 "" helper)"
library b.so x86_64-linux-gnu "$(x86 5 "" helper)"
library c.so x86_64-linux-gnu "$(x86 4 "addl \$3, %eax" others)"
minspect --diff a.so b.so || test $? = 1
minspect --diff a.so c.so || test $? = 1
minspect --json --diff a.so c.so | grep -E "leaq|addl" || :
arm() # arm LIMIT MORE
{
	cat <<END
.globl __tvm_ffi_f
.type __tvm_ffi_f, @function
.type helper, @function
__tvm_ffi_f:
	cmp w2, #$1
	b.gt 1f
	adrp x1, table
	add x1, x1, :lo12:table
	bl helper
	$2
1:	ret
.size __tvm_ffi_f, .-__tvm_ffi_f
helper:	ldr w0, [x1]
	ret
.size helper, .-helper
.data
.type table, @object
table:	.word 1, 2
.size table, 8
END
}
library a.so aarch64-linux-gnu "$(arm 4 "")"
library b.so aarch64-linux-gnu "$(arm 5 "add w0, w0, #3")"
minspect --diff a.so b.so || test $? = 1
