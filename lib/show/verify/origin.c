/* SPDX-License-Identifier: Apache-2.0 */
/* Without a key to check it by, a signature is a claim: that is no finding, in either direction. */
#include "model/origin.h"
#include "trust/seal.h"
#include "trust/sshsig.h"
#include "verify/verify.h"

static const struct mpk_verify_position nowhere;

static bool is_whole_file(const struct mpk_image *image)
{
	return image->container == MPK_CONTAINER_ELF_SO ||
	       image->container == MPK_CONTAINER_ELF_OBJ;
}

static void say_signed(struct mpk_verify *v)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	struct mpk_origin notes;

	mpk_origin_find(v->elf, &notes);
	mpk_ssh_fingerprint_put(notes.seal.fingerprint, &name);
	mpk_verify_say_at(v, MPK_NOTE, nowhere, "signed by %s, and unchanged since",
			  mpk_strbuf_text(&name));
	v->report->failed |= name.failed;
}

static void signature(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;
	struct mpk_error err = { 0 };
	enum mpk_code code;

	if (!v->file || !v->file->keys)
		return;
	if (!v->elf || !is_whole_file(image)) {
		mpk_verify_say_at(
			v, MPK_ERROR, nowhere,
			"not signed: only libraries and objects of ELF have room for a signature%s",
			image->member ? "; that of a member says nothing of its archive" : "");
		return;
	}
	code = mpk_seal_check(v->elf, v->file->keys, v->file->tap, &err);
	v->report->failed |= code == MPK_E_NOMEM;
	if (code == MPK_OK)
		say_signed(v);
	else
		mpk_verify_say_at(
			v, MPK_ERROR,
			err.at.has_offset
				? (struct mpk_verify_position){ "file",
								image->bytes_off + err.at.offset,
								NULL }
				: nowhere,
			"%s", err.text);
}

static void provenance(struct mpk_verify *v)
{
	struct mpk_view_origin o;

	if (mpk_view_origin(v->view, &o, NULL) != MPK_OK)
		v->report->failed = true;
	else if (o.problem.code != MPK_OK)
		mpk_verify_say_at(
			v, MPK_WARNING,
			(struct mpk_verify_position){
				"file", v->view->image->bytes_off + o.notes.provenance_off, NULL },
			"%s", o.problem.text);
}

const struct mpk_check mpk_checks_origin[] = {
	{ "signature", "one of the keys of --pubkey signed the file as it is", .whole = signature },
	{ "provenance", "the note of what it was made from reads as such", .whole = provenance },
	{ 0 },
};
