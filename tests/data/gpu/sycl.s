# Two descriptors as SYCL's compilers write them: one of today's (structs of version 3), one of older ones (version 2,
# with two words for a manifest). Images come in no order of devices, and not all have kernels or properties.

.macro text name:req, value:vararg
	.section .rodata.str1.1,"aMS",@progbits,1
\name:	.asciz \value
.endm

	text spir64, "spir64"
	text gen, "spir64_gen"
	text cpu, "spir64_x86_64"
	text nvptx, "nvptx64"
	text none, ""
	text options, "-cl-opt-disable"
	text add, "_ZTS3add"
	text mul, "_ZTS3mul"
	text last, "_ZTS4last"
	text exported, "SYCL/exported symbols"
	text masks, "SYCL/kernel param opt"
	text helper, "helper"

.macro bytes name:req, target:req, file:req
	.section __CLANG_OFFLOAD_BUNDLE__sycl-\target,"a",@progbits
	.balign 16
\name:	.incbin "\file"
\name\()_end:
	.section .tgtimg,"aw",@progbits
	.quad \name, \name\()_end - \name
.endm

	bytes gen_add, spir64_gen, gen.ar
	bytes spir_add, spir64, ../device/kernel.spv
	bytes cpu_add, spir64_x86_64, cpu.o
	bytes spir_mul, spir64, ../device/buffers.spv
	bytes gen_mul, spir64_gen, gen.ar
	bytes spir_last, spir64, ../device/builtin.spv
	bytes cuda_add, nvptx64, ../device/tiny.sm_120a.cubin
	bytes spir_help, spir64, ../device/compute.spv
	bytes gen_help, spir64_gen, gen.ar

	.section .data.rel.ro,"aw",@progbits
	.balign 8
# kernels: address, name, size, flags; then as newer compilers have them
add_kernels:
	.quad 0, add, 0, 0
add_kernels_end:
mul_kernels:
	.quad 0, mul, 0, 0
mul_kernels_end:
new_mul_kernels:
	.quad 0
	.short 1, 8
	.long 0
	.quad 0, mul, 0, 0, 0
new_mul_kernels_end:
last_kernels:
	.quad 0, add, 0, 0
	.quad 0, last, 0, 0
last_kernels_end:
# properties: name, address, type, size; sets of them: name, beginning, end
help_properties:
	.quad helper, 0, 1, 1
help_properties_end:
add_properties:
	.quad add, none, 2, 1
add_properties_end:
add_sets:
	.quad masks, add_properties, add_properties_end
add_sets_end:
help_sets:
	.quad masks, add_properties, add_properties_end
	.quad exported, help_properties, help_properties_end
help_sets_end:

.macro image version:req, format:req, target:req, options:req, bytes:req, kernels=0, kernels_end=0, sets=0, sets_end=0
	.short \version
	.byte 4, \format
	.long 0
	.quad \target, \options, none
	.if \version < 3
	.quad 0, 0
	.endif
	.quad \bytes, \bytes\()_end, \kernels, \kernels_end, \sets, \sets_end
.endm

	.balign 16
today:
	image 3, 1, gen, options, gen_add, add_kernels, add_kernels_end, add_sets, add_sets_end
	image 3, 2, spir64, none, spir_add, add_kernels, add_kernels_end
	image 3, 1, cpu, none, cpu_add, add_kernels, add_kernels_end, add_sets, add_sets_end
	image 3, 1, gen, none, gen_mul, new_mul_kernels, new_mul_kernels_end
	image 3, 2, spir64, options, spir_mul, mul_kernels, mul_kernels_end, add_sets, add_sets_end
	image 3, 1, gen, none, gen_help, 0, 0, help_sets, help_sets_end
	image 3, 2, spir64, none, spir_help, 0, 0, help_sets, help_sets_end
older:
	image 2, 1, nvptx, none, cuda_add, add_kernels, add_kernels_end
	image 2, 2, spir64, none, spir_last, last_kernels, last_kernels_end, add_sets, add_sets_end

	.balign 8
todays_descriptor:
	.short 1, 7
	.long 0
	.quad today, 0, 0
older_descriptor:
	.short 1, 2
	.long 0
	.quad older, 0, 0
	.globl descriptors
descriptors:
	.quad todays_descriptor, older_descriptor

	.text
	.globl register_images
register_images:
	subq $8, %rsp
	leaq todays_descriptor(%rip), %rdi
	call __sycl_register_lib@PLT
	leaq older_descriptor(%rip), %rdi
	addq $8, %rsp
	jmp __sycl_register_lib@PLT
	.section .note.GNU-stack,"",@progbits
