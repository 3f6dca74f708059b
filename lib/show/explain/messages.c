/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c - --explain: the catalogue of messages, made from messages.def and drivers.def, and
 * the search for the word nearest to an unknown one */
#include "explain/messages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strmap.h"
#include "text/facts.h"

enum { COLUMNS = 78, INDENT = 14 };

#define MANIFEST MPK_MESSAGE_MANIFEST
#define CASES MPK_MESSAGE_CASES
#define VERIFY MPK_MESSAGE_VERIFY
#define CHECK MPK_MESSAGE_CHECK
#define EDIT MPK_MESSAGE_EDIT
/* A class of errors has an exit status, and no program prints only the class: one number holds
 * both. */
#define STATUS(status) ((status) * 0x100)
/* The common meaning, causes and remedies of the statuses of one class. */
#define CALLS_HELP                                                                                 \
	"The program's own message or a debugger tells which call it was; documentation of that call lists its statuses."
#define SUCCESS_TEXTS "The call did what it was asked to.", "None.", "There is nothing to do."
#define ARGUMENT_TEXTS                                                                                  \
	"The runtime refuses an argument or a use of a call.",                                          \
		"A defect of the program that called it, or two releases of a library in one process.", \
		CALLS_HELP
#define DEVICE_TEXTS                                                                                              \
	"There is no such device, or it cannot be used.",                                                         \
		"A wrong number of a device, another process that has it to itself, a missing licence or right.", \
		"'minspect devices' lists what opens here; CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES hide devices."
#define CONTEXT_TEXTS                                                                                                                 \
	"Code, memory or a context of the device cannot be used so.",                                                                 \
		"Code for another device or of another toolkit, memory that is mapped already, an object of a context that is gone.", \
		"'minspect check --device-arch ARCH --driver VERSION FILE' compares code with device and driver; compute-sanitizer finds wrong calls."
#define FILE_TEXTS                                                                                   \
	"A file or a library that the driver opens is not there or does not read.",                  \
		"A path or a name that is wrong, a library that is missing, a limit of the system.", \
		"strace shows which file was opened; 'minspect verify FILE' finds damage."
#define HANDLE_TEXTS                                                                               \
	"An object that was given to a call is none, or is in another state.",                     \
		"It was destroyed, belongs to another device or process, or was never made.",      \
		CALLS_HELP
#define SYMBOL_TEXTS                                                                               \
	"A name that was asked for is not in the code.",                                           \
		"A C++ name that is mangled, or an image for this device that lacks it.",          \
		"'minspect functions FILE' lists kernels with the devices that have them."
#define READY_TEXTS                                                                                \
	"Work that was queued has not ended.", "It was asked whether it has.",                     \
		"This is no error: ask again, or wait."
#define EXECUTION_TEXTS                                                                                                 \
	"A launch or the kernel itself failed; after most of these a process can use the device no more.",              \
		"Memory outside of what was allocated, a grid that the device does not launch, a fault of the device.", \
		"compute-sanitizer finds the place; the system's log has faults of the device."
#define SYSTEM_TEXTS                                                                                                                          \
	"The driver, its services or the hardware beside the device are not as they must be.",                                                \
		"A service (MPS, Fabric Manager) that does not run or is full, other releases of it, a device that cannot do what is asked.", \
		"nvidia-smi and the system's log say what runs; restart after an update of the driver."
#define CAPTURE_TEXTS                                                                                                               \
	"A stream that is captured into a graph was used in a way that a capture does not allow, or a graph cannot be changed so.", \
		"A call that waits or allocates during the capture, or streams that were not joined again.",                        \
		"Make such calls before the capture begins, or capture with the relaxed mode."
#define LAUNCH_TEXTS                                                                                   \
	"A resource or a launch is not configured as the device can have it.",                         \
		"An attribute of a launch, of a texture or of green contexts that this device lacks.", \
		CALLS_HELP
#define UNKNOWN_TEXTS                                                                                            \
	"The driver does not know what failed.",                                                                 \
		"Often an earlier failure of the same process, or a driver that was updated without a restart.", \
		"Look at the first error of the process and at the system's log."
#define RUNTIME_TEXTS                                                                              \
	"A call of ROCm's lower layers failed.", "Memory, rights to /dev/kfd, or a defect.",       \
		"AMD_LOG_LEVEL=3 prints the calls; rocminfo says whether the devices open."
#define OPENCL_TEXTS                                                                               \
	"The OpenCL driver refuses a call.",                                                       \
		"A defect of the program, or an object or extension that this driver lacks.",      \
		"'minspect devices' shows device and driver; clinfo its extensions."
#define LEVEL_ZERO_TEXTS                                                                                    \
	"The Level Zero driver, which runs SPIR-V on Intel's GPUs, refuses a call or has lost the device.", \
		"A defect of the program, code for another device, or a hung device.",                      \
		"ZE_ENABLE_VALIDATION_LAYER=1 says which argument it was; the system's log has hangs."
#define MPK_DRIVER_STATUS(class_, names_, says_) MPK_DRIVER_STATUS_OF(names_, says_, class_##_TEXTS)
#define MPK_DRIVER_STATUS_OF(names_, says_, ...) MPK_DRIVER_STATUS_ROW(names_, says_, __VA_ARGS__)
#define MPK_DRIVER_STATUS_ROW(names_, says_, meaning_, cause_, remedy_)                            \
	{ .names = (names_),                                                                       \
	  .who = MPK_MESSAGE_DRIVER,                                                               \
	  .is_status = true,                                                                       \
	  .name = (says_),                                                                         \
	  .meaning = (meaning_),                                                                   \
	  .cause = (cause_),                                                                       \
	  .remedy = (remedy_) },
#define MPK_DRIVER_ERROR(names_, says_, meaning_, cause_, remedy_)                                 \
	{ .names = (names_),                                                                       \
	  .who = MPK_MESSAGE_DRIVER,                                                               \
	  .name = (says_),                                                                         \
	  .meaning = (meaning_),                                                                   \
	  .cause = (cause_),                                                                       \
	  .remedy = (remedy_) },
#define MPK_MESSAGE(id_, who_, name_, meaning_, cause_, remedy_)                                   \
	{ .id = (id_),                                                                             \
	  .who = (who_) % 0x100,                                                                   \
	  .status = (who_) / 0x100,                                                                \
	  .name = (name_),                                                                         \
	  .meaning = (meaning_),                                                                   \
	  .cause = (cause_),                                                                       \
	  .remedy = (remedy_) },

const struct mpk_message mpk_messages[] = {
#include "explain/messages.def"

#include "explain/drivers.def"

#include "explain/statuses.def"
	{ 0 }
};

enum { MESSAGES = MPK_ARRAY_COUNT(mpk_messages) - 1 };

/* Reads the next name of a driver's error, and its number; false at the end of the list. */
static bool next_name(const char **list, struct mpk_span *name, const char **number)
{
	const char *at = *list + strspn(*list, " ");

	*name = mpk_span_of(at, strcspn(at, "="));
	*number = at + name->len + (name->len > 0);
	*list = *number + strcspn(*number, " ");
	return name->len > 0;
}

/* Whether a number is also an exit status, which then takes precedence. */
static bool is_exit_status(long long number)
{
	for (const struct mpk_message *m = mpk_messages; m->name; m++)
		if (m->status && m->status == number)
			return true;
	return number == 0;
}

/* Parses "-30" or "0x78000004"; the whole word must be a number. */
static bool parse_number(const char *word, long long *out)
{
	char *end;

	if (!isdigit((unsigned char)*word) && *word != '-')
		return false;
	*out = strtoll(word, &end, 0);
	return end != word && !*end;
}

/* Writes a text in lower case, with a blank for each character that cannot be in a name. */
static bool put_plain(const char *text, struct mpk_strbuf *out)
{
	mpk_strbuf_putc(out, ' ');
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || *text == '_')
			mpk_strbuf_putc(out, (char)tolower((unsigned char)*text));
		else if (mpk_strbuf_text(out)[out->len - 1] != ' ')
			mpk_strbuf_putc(out, ' ');
	}
	if (mpk_strbuf_text(out)[out->len - 1] != ' ')
		mpk_strbuf_putc(out, ' ');
	return !out->failed;
}

/* Whether a text contains a sentence, ignoring punctuation. */
static bool has_sentence(const char *text, const char *sentence)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf plain = { 0 }, wanted = { 0 };

	return put_plain(text, &plain) && put_plain(sentence, &wanted) &&
	       strstr(mpk_strbuf_text(&plain), mpk_strbuf_text(&wanted)) != NULL;
}

static size_t count_words(const char *text)
{
	size_t n = 0;

	for (const char *p = text; *p; p++)
		n += *p != ' ' && (p == text || p[-1] == ' ');
	return n;
}

/* Whether a text contains a name as a whole word, ignoring case. */
static bool mentions(const char *text, struct mpk_span name)
{
	for (; *text; text++)
		if (strncasecmp(text, (const char *)name.data, name.len) == 0 &&
		    !isalnum((unsigned char)text[name.len]) && text[name.len] != '_')
			return true;
	return false;
}

static bool driver_error_is(const struct mpk_message *m, const char *word)
{
	const char *list = m->names, *number;
	struct mpk_span name;
	long long wanted;
	bool is_number = parse_number(word, &wanted);

	while (next_name(&list, &name, &number))
		if (is_number ? strtoll(number, NULL, 0) == wanted && !is_exit_status(wanted)
			      : mentions(word, name))
			return true;
	/* many statuses have sentences of a few words, which may be part of any text: these must
	 * match the whole text */
	return !is_number && has_sentence(word, m->name) &&
	       (!m->is_status || count_words(m->name) > 2 || has_sentence(m->name, word));
}

/* Finds a message by its id, or by the number of an exit status, which scripts have. */
bool mpk_message_is(const struct mpk_message *m, const char *word)
{
	char number[12];

	if (m->names)
		return driver_error_is(m, word);
	(void)snprintf(number, sizeof number, "%d", m->status);
	return strcmp(m->id, word) == 0 || (m->status && strcmp(number, word) == 0);
}

/* Compares with the whole table: it has about a hundred rows, and this runs once. */
const char *mpk_message_nearest(const char *word)
{
	struct mpk_span names[MESSAGES];
	size_t near, count = 0;

	for (size_t i = 0; i < MESSAGES; i++)
		if (mpk_messages[i].id)
			names[count++] = mpk_span_str(mpk_messages[i].id);
	near = mpk_closest(mpk_span_str(word), names, count);
	return near < count ? (const char *)names[near].data : NULL;
}

/* The commands whose messages end with the id in brackets. */
static const struct {
	enum mpk_message_who who;
	const char *word, *sentence;
} printers[] = {
	{ MPK_MESSAGE_MANIFEST, "manifest", "mpack, of mpack.toml" },
	{ MPK_MESSAGE_CASES, "cases", "minspect cases, of the case file" },
	{ MPK_MESSAGE_VERIFY, "verify", "minspect verify, and mpack of what it packs" },
	{ MPK_MESSAGE_CHECK, "check", "minspect check" },
	{ MPK_MESSAGE_EDIT, "edit", "mpack edit" },
	{ MPK_MESSAGE_DRIVER, "driver",
	  "minspect run and whatever else loads or launches kernels" },
};

/* In full for one message; a row of the list has room only for the words. */
static void put_printers(const struct mpk_message *m, bool in_full, struct mpk_strbuf *out)
{
	const char *comma = "";

	if (m->status)
		mpk_strbuf_printf(out,
				  in_full ? "exit status %d, and \"code\" in JSON" : "status %d",
				  m->status);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(printers); i++) {
		if (!(m->who & (unsigned)printers[i].who))
			continue;
		mpk_strbuf_printf(out, "%s%s", comma,
				  in_full ? printers[i].sentence : printers[i].word);
		comma = in_full ? "; " : ", ";
	}
}

/* Writes a paragraph after its heading, broken into lines. */
static void put_paragraph(const char *heading, const char *text, struct mpk_strbuf *out)
{
	size_t column = INDENT;

	mpk_strbuf_printf(out, "  %-*s", INDENT - 2, heading);
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > INDENT && column + 1 + len > COLUMNS) {
			mpk_strbuf_printf(out, "\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			mpk_strbuf_putc(out, ' ');
			column++;
		}
		mpk_strbuf_printf(out, "%.*s", (int)len, text);
		column += len;
		text += len + (text[len] == ' ');
	}
	mpk_strbuf_putc(out, '\n');
}

/* Returns the first name, "CUDA_ERROR_NO_BINARY_FOR_GPU"; the others are shown with their
 * numbers. */
static struct mpk_span first_name(const struct mpk_message *m)
{
	return m->id ? mpk_span_str(m->id) : mpk_span_of(m->names, strcspn(m->names, "="));
}

static void message_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf who = { 0 };
	const struct mpk_message *m = what;

	(void)style;
	put_printers(m, true, &who);
	mpk_strbuf_put_span(out, first_name(m));
	if (m->names) {
		mpk_strbuf_putc(out, '\n');
		put_paragraph("says", m->name, out);
		put_paragraph("names", m->names, out);
	} else {
		mpk_strbuf_printf(out, ": %s\n", m->name);
	}
	put_paragraph(m->status ? "stands for" : "printed by", mpk_strbuf_text(&who), out);
	put_paragraph("means", m->meaning, out);
	put_paragraph("cause", m->cause, out);
	put_paragraph("remedy", m->remedy, out);
	out->failed |= who.failed;
}

static void message_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf who = { 0 };
	const struct mpk_message *m = what;

	(void)style;
	put_printers(m, false, &who);
	mpk_strbuf_printf(out, "%-18.*s %-15s %s\n", (int)first_name(m).len,
			  (const char *)first_name(m).data, mpk_strbuf_text(&who), m->name);
	out->failed |= who.failed;
}

static const struct mpk_fact message_facts[] = {
	{ MPK_FACT(TEXT, "name", struct mpk_message, name,
		   "in a few words; of a driver's error its own sentence") },
	{ MPK_FACT(TEXT, "meaning", struct mpk_message, meaning) },
	{ MPK_FACT(TEXT, "cause", struct mpk_message, cause) },
	{ MPK_FACT(TEXT, "remedy", struct mpk_message, remedy) },
};

static void message_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_message *m = what;
	struct mpk_json_at *list;
	struct mpk_span name;
	const char *number;

	mpk_json_span(j, at, "id", first_name(m));
	list = mpk_json_array(j, at, "printed_by");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(printers); i++)
		if (m->who & (unsigned)printers[i].who)
			mpk_json_text(j, list, NULL, printers[i].word);
	if (m->status)
		mpk_json_u64(j, at, "status", (uint64_t)m->status);
	else
		mpk_json_null(j, at, "status");
	list = mpk_json_array(j, at, "names");
	for (const char *rest = m->names; rest && next_name(&rest, &name, &number);) {
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_span(j, o, "name", name);
		mpk_json_i64(j, o, "number", strtoll(number, NULL, 0));
	}
	mpk_facts_json(MPK_FACTS(message_facts), m, j, at);
}

const struct mpk_answer mpk_answer_message = { .text = message_text,
					       .line = message_line,
					       .json = message_json };
