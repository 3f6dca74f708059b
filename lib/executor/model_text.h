/* model_text.h - what a model takes, in words */
#ifndef MPK_EXECUTOR_MODEL_TEXT_H
#define MPK_EXECUTOR_MODEL_TEXT_H

#include "base/strbuf.h"
#include "executor/model.h"

/* mpk_model_type_text - append "float32[2, n]"; "any value" when the type is not known */
void mpk_model_type_text(const struct mpk_model_tensor *t, struct mpk_strbuf *out);

/* mpk_model_options - append " --input data=2x20xfloat32=rand --input ...": the options of a call that
 * is right, as a shell takes them. Symbolic extents are 1, values of no known type are left open. */
void mpk_model_options(const struct mpk_model *m, struct mpk_strbuf *out);

#endif
