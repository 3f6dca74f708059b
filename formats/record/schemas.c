#include "record/record.h"

/* FORMAT.md 2, one table each */

const struct mpk_record_schema mpk_schema_json_runtime = {
	.fields = { { "symbol", MPK_FIELD_STR, NULL },
		    { "graph_json", MPK_FIELD_STR, "graph.json" },
		    { "const_names", MPK_FIELD_STRS, NULL } },
	.count = 3,
};

const struct mpk_record_schema mpk_schema_example_json = {
	.fields = { { "graph_json", MPK_FIELD_STR, "graph.json" } },
	.count = 1,
};

const struct mpk_record_schema mpk_schema_coreml = {
	.fields = { { "symbol", MPK_FIELD_STR, NULL },
		    { "model", MPK_FIELD_STR, "model.mlmodelc.bin" } },
	.count = 2,
};

const struct mpk_record_schema mpk_schema_torch = {
	.fields = { { "symbol", MPK_FIELD_STR, NULL }, { "module", MPK_FIELD_STR, "module.pt" } },
	.count = 2,
};

const struct mpk_record_schema mpk_schema_vitis_ai = {
	.fields = { { "runtime_module", MPK_FIELD_STR, "runtime_module.bin" },
		    { "export_path", MPK_FIELD_STR, NULL },
		    { "symbol", MPK_FIELD_STR, NULL },
		    { "const_names", MPK_FIELD_STRS, NULL } },
	.count = 4,
};

const struct mpk_record_schema mpk_schema_mrvl_sim = {
	.fields = { { "symbol", MPK_FIELD_STR, NULL },
		    { "nodes_json", MPK_FIELD_STR, "nodes.json" },
		    { "bin_code", MPK_FIELD_STR, "code.bin" } },
	.count = 3,
};

const struct mpk_record_schema mpk_schema_mrvl_hw = {
	.fields = { { "symbol", MPK_FIELD_STR, NULL },
		    { "nodes_json", MPK_FIELD_STR, "nodes.json" },
		    { "bin_code", MPK_FIELD_STR, "code.bin" },
		    { "num_inputs", MPK_FIELD_I32, NULL },
		    { "num_outputs", MPK_FIELD_I32, NULL },
		    { "num_batches", MPK_FIELD_I32, NULL } },
	.count = 6,
};

const struct mpk_record_schema mpk_schema_c = {
	.fields = { { "code", MPK_FIELD_STR, "code.c" },
		    { "fmt", MPK_FIELD_STR, NULL },
		    { "func_names", MPK_FIELD_STRS, NULL },
		    { "const_vars", MPK_FIELD_STRS, NULL } },
	.count = 4,
};

const struct mpk_record_schema mpk_schema_static_library = {
	.fields = { { "data", MPK_FIELD_STR, "library.o" },
		    { "func_names", MPK_FIELD_STRS, NULL } },
	.count = 2,
};
