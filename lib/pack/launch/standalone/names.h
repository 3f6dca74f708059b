/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - what messages of launch functions call things, and what CUDA launches: the same in code that is generated
 * for a loader (launch/gen_*.c) and in a standalone library, into which this text is pasted */
#ifndef MPK_LAUNCH_STANDALONE_NAMES_H
#define MPK_LAUNCH_STANDALONE_NAMES_H

/* Types of arguments by index (type_index.h); the last is for all others. */
#define MPK_SA_FFI_NAMES                                                                           \
	"None", "int", "bool", "float", "pointer", "dtype", "device", "DLTensor", "str", "bytes",  \
		"rvalue", "str", "bytes", "object"
#define MPK_SA_LEGACY_NAMES                                                                        \
	"int", "unsigned int", "float", "pointer", "None", "dtype", "device", "DLTensor",          \
		"object", "module", "function", "str", "bytes", "NDArray", "rvalue", "bool",       \
		"object"

/* Codes of an element's type, before its bits; the last is for all others. */
#define MPK_SA_CODE_NAMES                                                                          \
	"int", "uint", "float", "handle", "bfloat", "complex", "bool",                             \
		"float8 or other type of bits "

#define MPK_SA_OTHER_DEVICE "a device of another kind"

/* Extents by axis, as tags number them, and CUDA's limits (Technical Specifications in its programming guide); other
 * devices check their own at launch. */
#define MPK_SA_AXIS_NAMES                                                                          \
	"grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z", "cluster.x", "cluster.y",   \
		"cluster.z"
#define MPK_SA_CUDA_EXTENTS INT32_MAX, 65535, 65535, 1024, 1024, 64, 1024, 1024, 64
#define MPK_SA_CUDA_THREADS 1024

#endif
