/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - words for messages of launch functions, and CUDA's limits. Both code that is
 * generated for a loader (launch/gen.c) and standalone libraries, whose source contains this
 * text, use them. */
#ifndef MPK_LAUNCH_STANDALONE_NAMES_H
#define MPK_LAUNCH_STANDALONE_NAMES_H

/* Names of argument types by index (type_index.h); the last one is for all others. */
#define MPK_SA_FFI_NAMES                                                                           \
	"None", "int", "bool", "float", "pointer", "dtype", "device", "DLTensor", "str", "bytes",  \
		"rvalue", "str", "bytes", "object"
#define MPK_SA_LEGACY_NAMES                                                                        \
	"int", "unsigned int", "float", "pointer", "None", "dtype", "device", "DLTensor",          \
		"object", "module", "function", "str", "bytes", "NDArray", "rvalue", "bool",       \
		"object"

/* Names of element type codes, without the bits; the last one is for all others. */
#define MPK_SA_CODE_NAMES                                                                          \
	"int", "uint", "float", "handle", "bfloat", "complex", "bool",                             \
		"float8 or other type of bits "

#define MPK_SA_OTHER_DEVICE "a device of another kind"

/* Names of extents by axis, in the order of their tags, and CUDA's limits (Technical Specifications
 * in its programming guide). Other devices check their own limits at launch. */
#define MPK_SA_AXIS_NAMES                                                                          \
	"grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z", "cluster.x", "cluster.y",   \
		"cluster.z"
#define MPK_SA_CUDA_EXTENTS INT32_MAX, 65535, 65535, 1024, 1024, 64, 1024, 1024, 64
#define MPK_SA_CUDA_THREADS 1024

#endif
