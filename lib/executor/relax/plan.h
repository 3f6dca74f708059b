/* plan.h - a call whose shapes are known is an array of kernel calls
 *
 * Byte code of a model is almost always a straight line whose every shape follows from the shapes
 * of the inputs. When a function is called again with the same types and shapes, its run is
 * recorded: which kernels with which tensors, and where those lie. From then on such a call checks
 * the inputs (they are the key of the plan), patches their addresses into arguments that were laid
 * out beforehand, and calls the kernels.
 *
 * A run is not recorded when something in it depends on the content of a tensor: a condition,
 * a shape out of data. Such functions stay byte code. Tensors within a plan lie in slots,
 * storages that the plans of a machine share, given out by their lifetimes; what the caller
 * receives lies in storages of its own.
 */
#ifndef MPK_EXECUTOR_RELAX_PLAN_H
#define MPK_EXECUTOR_RELAX_PLAN_H

#include "executor/relax/vm.h"

struct mpk_relax_plan;
struct mpk_relax_plans;
struct mpk_relax_recorder;

/* mpk_relax_plans_create - the plans of one machine
 * Returns  NULL when memory is out */
struct mpk_relax_plans *mpk_relax_plans_create(struct mpk_relax_vm *vm);
void mpk_relax_plans_destroy(struct mpk_relax_plans *plans);

/* mpk_relax_plan_find - the plan of a call; NULL when there is none
 * @record  receives whether a plan is to be made of this call: its key came before */
struct mpk_relax_plan *mpk_relax_plan_find(struct mpk_relax_plans *plans, size_t function,
					   const struct mpk_value *args, size_t count,
					   bool *record);

/* mpk_relax_plan_run - the call by its plan
 * Returns  as mpk_relax_vm_invoke */
enum mpk_code mpk_relax_plan_run(struct mpk_relax_plans *plans, struct mpk_relax_plan *plan,
				 const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_relax_recorder_begin - record the call that follows
 * @args    replaced by values of the same content in which every tensor has a storage of its own,
 *          so that one tensor passed twice is two inputs; owned by the caller
 * Returns  NULL when memory is out: the call goes on unrecorded, args are as they were */
struct mpk_relax_recorder *mpk_relax_recorder_begin(struct mpk_relax_plans *plans, size_t function,
						    struct mpk_value *args, size_t count);

/* mpk_relax_record_... - what the machine does in the call; a NULL recorder is fine */
void mpk_relax_record_kernel(struct mpk_relax_recorder *r, struct mpk_function *function,
			     const struct mpk_value *args, size_t count,
			     const struct mpk_value *result);
void mpk_relax_record_builtin(struct mpk_relax_recorder *r, const struct mpk_relax_builtin *b,
			      const struct mpk_value *args, size_t count,
			      const struct mpk_value *result);
void mpk_relax_record_constant(struct mpk_relax_recorder *r, const struct mpk_value *constant);

/* mpk_relax_record_nothing - something happened that no plan can repeat */
void mpk_relax_record_nothing(struct mpk_relax_recorder *r);

/* mpk_relax_recorder_end - keep the plan, if the call went well and can be repeated; frees r
 * @result  of the call, or NULL when it failed */
void mpk_relax_recorder_end(struct mpk_relax_recorder *r, const struct mpk_value *result);

/* What the plans of a machine did so far. */
struct mpk_relax_plan_stats {
	uint64_t recorded, replayed, unplannable;
	size_t kept; /* plans now */
};
struct mpk_relax_plan_stats mpk_relax_plans_get_stats(const struct mpk_relax_plans *plans);

#endif
