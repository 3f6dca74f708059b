/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - for whom the code of this thread runs
 *
 * Most functions that module code imports get no argument that says whose code called them
 * (memory for a workspace, the layout of an object, a parallel loop). The thread knows: whoever
 * calls module code says so first and takes it back afterwards. Nothing here is shared between
 * threads, so two libraries of one process do not meet.
 */
#ifndef MPK_RUNTIME_CONTEXT_H
#define MPK_RUNTIME_CONTEXT_H

#include "blob/blob.h"

struct mpk_runtime;
struct mpk_host;

struct mpk_context {
	struct mpk_runtime *runtime; /* NULL: a thread that the module started itself */
	enum mpk_convention convention;
	struct mpk_host *loading; /* whose constructors run; else NULL */
};

/* mpk_context_get - this thread's; the current convention and nothing else when nobody said */
struct mpk_context mpk_context_get(void);

/* mpk_context_convention - its convention alone, which every call of a compiled function asks for */
enum mpk_convention mpk_context_convention(void);

/* mpk_context_swap - set this thread's; returns the one before, to be set again afterwards */
struct mpk_context mpk_context_swap(struct mpk_context context);

#endif
