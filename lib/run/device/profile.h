/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - the back ends, executors and families of global functions that are compiled in
 *
 * minspect has all of them. A library for one model needs few: those defined as 0 on the compiler's
 * command line, such as -DMPK_RUN_CUDA=0, are left out of these lists, and nothing else refers to
 * their objects. Devices and models of such a kind are then refused as unknown.
 *
 * The lists are expanded in two tables, in device.c and in executor/executor.c. They are in this
 * folder because it is the lower of the two. */
#ifndef MPK_DEVICE_PROFILE_H
#define MPK_DEVICE_PROFILE_H

#ifndef MPK_RUN_OPENCL
#define MPK_RUN_OPENCL 1
#endif
#ifndef MPK_RUN_CUDA
#define MPK_RUN_CUDA 1
#endif
#ifndef MPK_RUN_ROCM
#define MPK_RUN_ROCM 1
#endif
#ifndef MPK_RUN_RELAX
#define MPK_RUN_RELAX 1
#endif
#ifndef MPK_RUN_RELAY
#define MPK_RUN_RELAY 1
#endif
#ifndef MPK_RUN_STATIC /* graph and AOT executors */
#define MPK_RUN_STATIC 1
#endif
#ifndef MPK_RUN_CONTRIB /* sorting, matrix products, random numbers */
#define MPK_RUN_CONTRIB 1
#endif
#ifndef MPK_RUN_STATE /* builtins of the Relax VM for caches, recurrent states, sampling */
#define MPK_RUN_STATE 1
#endif

#if MPK_RUN_OPENCL
#define MPK_PROFILE_OPENCL(X) X(opencl, OPENCL)
#else
#define MPK_PROFILE_OPENCL(X)
#endif
#if MPK_RUN_CUDA
#define MPK_PROFILE_CUDA(X) X(cuda, CUDA)
#else
#define MPK_PROFILE_CUDA(X)
#endif
#if MPK_RUN_ROCM
#define MPK_PROFILE_ROCM(X) X(rocm, ROCM)
#else
#define MPK_PROFILE_ROCM(X)
#endif
#if MPK_RUN_RELAX
#define MPK_PROFILE_RELAX(X) X(relax)
#else
#define MPK_PROFILE_RELAX(X)
#endif
#if MPK_RUN_RELAY
#define MPK_PROFILE_RELAY(X) X(relay)
#else
#define MPK_PROFILE_RELAY(X)
#endif
#if MPK_RUN_STATIC
#define MPK_PROFILE_STATIC(X) X(aot) X(graph)
#else
#define MPK_PROFILE_STATIC(X)
#endif
#if MPK_RUN_CONTRIB
#define MPK_PROFILE_CONTRIB(X) X(contrib)
#else
#define MPK_PROFILE_CONTRIB(X)
#endif

/* X(name, dlpack): mpk_<name>_ops for devices of the type MPK_DEVICE_<dlpack> */
#define MPK_PROFILE_BACK_ENDS(X)                                                                   \
	X(cpu, CPU) MPK_PROFILE_OPENCL(X) MPK_PROFILE_CUDA(X) MPK_PROFILE_ROCM(X)

/* X(name): the loader mpk_<name>_executor */
#define MPK_PROFILE_EXECUTORS(X) MPK_PROFILE_STATIC(X) MPK_PROFILE_RELAX(X) MPK_PROFILE_RELAY(X)

/* X(name): mpk_<name>_add_globals, which adds functions to a runtime that models call by name */
#define MPK_PROFILE_GLOBALS(X) MPK_PROFILE_CONTRIB(X) MPK_PROFILE_RELAX(X)

#endif
