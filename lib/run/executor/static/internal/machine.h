/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - a program with the memory of its tensors on the devices it runs on
 *
 * The arguments of every call are laid out once; a run patches the addresses of what came from
 * outside and calls. Storages stay from run to run, but for those whose content the caller still
 * holds: results are his until he drops them. Nothing waits between steps, on no device.
 */
#ifndef MPK_EXECUTOR_STATIC_INTERNAL_MACHINE_H
#define MPK_EXECUTOR_STATIC_INTERNAL_MACHINE_H

#include "executor/static/internal/program.h"
#include "value/function.h"

struct mpk_static_machine;

/* mpk_static_machine_create - a machine for a finished program; its memory is taken at the first
 * call
 * @devices where the model lives: the first has the storages that say no type of device; of those
 *          that do, the first device of that type, or number 0 where none is named
 * Returns  MPK_OK, one reference in *out; MPK_E_DEVICE: one that is needed does not open;
 *          MPK_E_NOMEM */
enum mpk_code mpk_static_machine_create(struct mpk_static_program *program,
					const struct mpk_dldevice *devices, size_t count,
					struct mpk_static_machine **out,
					struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_machine_hold, mpk_static_machine_drop - count references; NULL is fine to drop */
struct mpk_static_machine *mpk_static_machine_hold(struct mpk_static_machine *m);
void mpk_static_machine_drop(struct mpk_static_machine *m);

/* mpk_static_machine_call - one run; calls of several threads wait for each other
 * @args    inputs by name or position (check.h). Those that lie where the program wants them,
 *          compact and in host memory aligned to MPK_STORAGE_ALIGN, are used where they are;
 *          others are copied
 * @result  none on entry; owned: a tensor, or an array unless there is exactly one result
 * Returns  MPK_OK; MPK_E_USAGE: inputs that do not fit, before anything ran; MPK_E_RAISED: by a
 *          function; MPK_E_DEVICE; MPK_E_UNSUPPORTED: an input on a device that is not compact;
 *          MPK_E_NOMEM */
enum mpk_code mpk_static_machine_call(struct mpk_static_machine *m, const struct mpk_args *args,
				      struct mpk_value *result,
				      struct mpk_error *err) MPK_MUST_CHECK;

#endif
