/* SPDX-License-Identifier: Apache-2.0 */
/* All of it is what the file says of itself. Who reads it is told so: a name beside the word "signed"
 * would pass for a proof. */
#include "model/origin.h"

#include <string.h>

#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"
#include "trust/seal.h"

/* in the summary, which has a line for them; JSON has all */
enum { TOOLS_SHOWN = 4 };

enum mpk_code mpk_view_origin(const struct mpk_view *view, struct mpk_view_origin *out,
			      struct mpk_error *err)
{
	const struct mpk_image *image = view->image;
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };

	*out = (struct mpk_view_origin){ .has_provenance = false };
	/* the notes are sections of ELF files */
	if (!image->elf_class)
		return MPK_OK;
	/* an ELF file that does not open has no notes here: --verify says what is wrong */
	enum mpk_code code = mpk_elf_open(image->bytes, image->bytes_off, &elf, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;
	mpk_origin_find(&elf, &out->notes);
	if (out->notes.provenance_count > 1)
		(void)mpk_fail(&out->problem, MPK_E_SYNTAX,
			       "%zu notes of provenance, where a file has one",
			       out->notes.provenance_count);
	else if (out->notes.provenance_count && !out->notes.provenance.len)
		(void)mpk_fail(&out->problem, MPK_E_SYNTAX,
			       "the provenance is longer than a note may be");
	if (!out->notes.provenance.len)
		return MPK_OK;
	code = mpk_provenance_read(out->notes.provenance, view->arena, &out->provenance,
				   &out->problem);
	out->has_provenance = code == MPK_OK;
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- text ------------------------------------------------------------------------ */

static void origin_put_signature(const struct mpk_origin *o, struct mpk_strbuf *out)
{
	if (!o->seal_count)
		return;
	mpk_strbuf_puts(out, "  signature  ");
	/* of several, nobody can say which one counts */
	if (o->seal_count > 1 || !o->has_seal) {
		mpk_strbuf_puts(out, o->seal_count > 1 ? "several, where a file has one\n"
						       : "of a form that is not known here\n");
		return;
	}
	mpk_strbuf_puts(out, "claims to be of ");
	mpk_ssh_fingerprint_put(o->seal.fingerprint, out);
	mpk_strbuf_puts(out, " (proven by --verify --pubkey)\n");
}

/* Options on one line, then the inputs, digest before name as sha256sum prints them. */
static void put_details(const struct mpk_provenance *p, struct mpk_strbuf *out)
{
	char digits[MPK_DIGEST_TEXT];

	for (size_t i = 0; i < p->option_count; i++) {
		mpk_strbuf_puts(out, i ? " " : "             ");
		mpk_escape(out, mpk_span_str(p->options[i]));
	}
	mpk_strbuf_puts(out, p->option_count ? "\n" : "");
	for (size_t i = 0; i < p->input_count; i++) {
		const struct mpk_provenance_input *in = &p->inputs[i];

		mpk_strbuf_printf(out, "             sha256 %s ",
				  mpk_digest_print(in->sha256, MPK_DIGEST_BYTES, digits));
		mpk_escape(out, mpk_span_str(in->name));
		mpk_strbuf_printf(out, ", %s\n", MPK_SIZE(in->bytes));
	}
}

static void put_provenance(const struct mpk_view_origin *o, struct mpk_style style,
			   struct mpk_strbuf *out)
{
	const struct mpk_provenance *p = &o->provenance;

	/* a note that does not read may have been changed: it is not passed over */
	if (!o->has_provenance && o->problem.code != MPK_OK)
		mpk_strbuf_printf(out, "  provenance %s\n", o->problem.text);
	if (!o->has_provenance)
		return;
	mpk_strbuf_puts(out, "  made by    ");
	for (size_t i = 0; i < p->tool_count && i < TOOLS_SHOWN; i++) {
		bool is_number = p->tools[i].version[0] >= '0' && p->tools[i].version[0] <= '9';

		mpk_strbuf_puts(out, i ? ", " : "");
		/* compilers and linkers say their names themselves */
		mpk_escape(out, mpk_span_str(is_number ? p->tools[i].name : ""));
		mpk_strbuf_puts(out, is_number ? " " : "");
		mpk_escape(out, mpk_span_str(p->tools[i].version));
	}
	mpk_strbuf_puts(out, p->tool_count > TOOLS_SHOWN ? ", ..." : "");
	mpk_put_also(out, p->input_count, "input");
	mpk_strbuf_putc(out, '\n');
	if (style.verbose)
		put_details(p, out);
}

static void origin_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;
	struct mpk_view_origin o;

	if (mpk_view_origin(view, &o, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	origin_put_signature(&o.notes, out);
	put_provenance(&o, style, out);
}

/* --- JSON ------------------------------------------------------------------------ */

/* Key, fingerprint and signature are given in the text forms of OpenSSH, which its tools read. */
static void put_seal(const struct mpk_origin *n, uint64_t base, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "signature");
	struct mpk_strbuf key = { 0 }, fingerprint = { 0 }, armor = { 0 };

	mpk_ssh_key_put(&n->seal.key, &key);
	mpk_ssh_fingerprint_put(n->seal.fingerprint, &fingerprint);
	mpk_sshsig_put(&n->seal.key, n->seal.signature, &armor);
	mpk_json_take(j, o, "fingerprint", &fingerprint);
	mpk_json_take(j, o, "key", &key);
	mpk_json_text(j, o, "namespace", MPK_SSHSIG_NAMESPACE);
	mpk_json_u64(j, o, "offset", base + n->seal.off + MPK_SEAL_SIGNATURE_AT);
	mpk_json_u64(j, o, "bytes", MPK_ED25519_BYTES);
	mpk_json_take(j, o, "sshsig", &armor);
}

static void put_provenance_json(const struct mpk_provenance *p, struct mpk_json *j,
				struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "tools");
	char digits[MPK_DIGEST_TEXT];

	for (size_t i = 0; i < p->tool_count; i++) {
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_text(j, o, "name", p->tools[i].name);
		mpk_json_text(j, o, "version", p->tools[i].version);
	}
	mpk_json_texts(j, at, "options", p->options, p->option_count);
	list = mpk_json_array(j, at, "inputs");
	for (size_t i = 0; i < p->input_count; i++) {
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_text(j, o, "name", p->inputs[i].name);
		mpk_json_u64(j, o, "bytes", p->inputs[i].bytes);
		mpk_json_text(j, o, "sha256",
			      mpk_digest_print(p->inputs[i].sha256, MPK_DIGEST_BYTES, digits));
	}
}

static void origin_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	struct mpk_view_origin o;

	if (mpk_view_origin(view, &o, NULL) != MPK_OK) {
		j->failed = true;
		return;
	}
	/* of several signatures none is given: a reader would take it for the one that counts */
	if (o.notes.has_seal && o.notes.seal_count == 1)
		put_seal(&o.notes, view->image->bytes_off, j, at);
	if (o.has_provenance)
		put_provenance_json(&o.provenance, j, mpk_json_object(j, at, "provenance"));
}

const struct mpk_answer mpk_answer_origin = { .text = origin_text, .json = origin_json };
