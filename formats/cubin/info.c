/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - the attributes of .nv.info sections: one after the other, in four forms
 *
 * NVIDIA publishes neither the format nor the numbers; FORMAT.md 4 has what is known. An unknown
 * attribute can be passed over, as its form tells its length; an unknown form cannot, and ends the
 * reading.
 */
#include "cubin/internal/cubin.h"

/* FORMAT.md 4: how long an attribute is */
enum form { FORM_NONE = 1, FORM_U8 = 2, FORM_U16 = 3, FORM_LIST = 4 };

/* The cursor stays where it was when the attribute does not read. */
enum mpk_code mpk_cubin_attribute_next(struct mpk_cursor *c, struct mpk_cubin_attribute *out,
				       struct mpk_error *err)
{
	struct mpk_cubin_attribute a = { .off = mpk_cursor_offset(c) };
	struct mpk_cursor at = *c;
	uint8_t form;

	MPK_TRY(mpk_read_u8(&at, "cubin: attribute form", &form, err));
	MPK_TRY(mpk_read_u8(&at, "cubin: attribute", &a.id, err));
	MPK_TRY(mpk_read_u16(&at, "cubin: attribute value", &a.value, err));
	if (form < FORM_NONE || form > FORM_LIST)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, a.off,
				       "cubin: attribute 0x%02x has the unknown form %u", a.id,
				       form);
	if (form == FORM_LIST) {
		MPK_TRY(mpk_read_bytes(&at, "cubin: attribute list", a.value, &a.data, err));
		a.value = 0;
	} else if (form == FORM_U8) {
		a.value &= 0xff;
	}
	*out = a;
	*c = at;
	return MPK_OK;
}

/* Later toolkits make lists longer: more than is wanted is no error. */
enum mpk_code mpk_cubin_attribute_need(const struct mpk_cubin_attribute *a, size_t n,
				       struct mpk_error *err)
{
	if (a->data.len >= n)
		return MPK_OK;
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", a->off,
			       "cubin: attribute 0x%02x of %zu bytes, at least %zu wanted", a->id,
			       a->data.len, n);
}
