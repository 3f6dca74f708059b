/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - shared by the inspecting actions: one call for each file, text or JSON */
#ifndef MPK_CMD_MINSPECT_DOCUMENT_H
#define MPK_CMD_MINSPECT_DOCUMENT_H

#include "base/rope.h"
#include "base/strbuf.h"
#include "minspect/minspect.h"
#include "model/view.h"
#include "text/json.h"
#include "weightfile/weightfile.h"

/* A longer text is cut unless the user asks for all of it, on a terminal and in a pipe alike. */
enum { MINSPECT_LINES = 55 };

/* Texts of several files, kept until it is known whether they fit in MINSPECT_LINES together.
 * Zero-initialise. */
struct minspect_aside {
	struct mpk_strbuf text;
	bool is_too_much; /* the limit is exceeded, and text is no longer filled */
};

/* Totals over the inputs so far. */
struct minspect_set {
	size_t files; /* includes libraries of archives */
	size_t unreadable;
	uint64_t bytes; /* members count with their unpacked size */
};

/* One file under one action. */
struct minspect_look {
	struct minspect_file *file;
	/* the archive that contains it, if the user named only the archive; else NULL */
	const struct minspect_file *archive;
	struct mpk_view *view;
	struct mpk_strbuf *out;        /* the text; NULL if JSON was requested */
	struct mpk_json *json;         /* the JSON document; NULL if text was requested */
	struct mpk_json_at *at;        /* object of this file in the document */
	struct mpk_json_at *files;     /* array with the objects of all files */
	struct mpk_json_at *list;      /* array in that object, for the action */
	struct mpk_view_choice choice; /* choice of --filter; without a filter everything */
	bool filters;                  /* the action shows only the choice */
	bool is_whole;                 /* --all */
	bool in_set; /* one of several files, from a folder, or a library of an archive */
	bool is_model,
		/* a further model of a file with several models, which are processed one by one */
		is_next_model;
	struct minspect_set *set; /* totals over the inputs so far */
	/* length of the folder's part in the file's name, if the command line named a folder; else
	 * 0 */
	size_t folder_len;
	void *user; /* argument of minspect_each */
};

/* An action on files. Its functions return an exit status. */
struct minspect_action {
	const char *doing; /* verb for the progress line, "verifying"; NULL means "reading" */
	/* Looks at one file. */
	int (*look)(const struct minspect_options *o, struct minspect_look *l);
	/* Handles the error of an unreadable file; NULL if errors are just reported. */
	int (*refuse)(const struct minspect_options *o, struct minspect_look *l,
		      const struct mpk_error *err);
	bool refuses_all; /* call refuse for all errors; false: only for damaged files */
	/* Prints what comes before the files; file and view are NULL, at is the document. NULL if
	 * there is nothing. */
	void (*begin)(const struct minspect_options *o, struct minspect_look *l);
	/* accept shared libraries, or also objects, without modules and GPU code */
	bool takes_libraries, takes_any;
	/* accept those that register global functions */
	bool takes_registering;
	/* accept a library that was cut after its last loaded segment, image.cut */
	bool takes_cut;
	/* a zip archive without an interesting library is not an error */
	bool may_hold_nothing;
	/* process each model of a file with several models, by its prefix, "lib.so(alpha_)"; false:
	 * only the first */
	bool each_model;
	/* whether a file with several models is processed as one after all; NULL if it never is */
	bool (*is_whole)(const struct minspect_look *l);
	/* Processes a zip archive named without a member; returns an exit status. NULL: process
	 * each library in it that has interesting content. */
	int (*archive)(struct minspect_look *l);
	/* Processes a file of weights; NULL: weights are an error. */
	int (*weights)(const struct minspect_options *o, struct minspect_look *l,
		       const struct mpk_weightfile *f);
	/* Puts what comes after all files; file and view are NULL, files is the list. Returns an
	 * exit status; NULL if there is nothing. */
	int (*end)(const struct minspect_options *o, struct minspect_look *l);
	/* Puts the totals after all files, whatever the status; at is the document, file and view
	 * are NULL. NULL if there are none. */
	/* With is_cut: puts a few lines before the texts of all files, after the files were
	 * processed; not with --all. */
	void (*head)(const struct minspect_options *o, struct minspect_look *l);
	void (*sum)(const struct minspect_options *o, struct minspect_look *l);
	bool sum_of_set; /* in text, call sum only if there are several files */
	bool is_cut;     /* without --all, its text is cut to MINSPECT_LINES */
	/* its text is copied from a file or is for programs, so lines are not changed */
	bool is_verbatim;
	const char *single; /* "extract": this action takes a single library; NULL: any number */
};

/* minspect_is_whole - whether a text is printed in full, because of --all or because -o names a
 * file for it. Documents are always complete. */
bool minspect_is_whole(const struct minspect_options *o);

/* minspect_answer - print the result for the current file in the requested format
 * @what    the type that the printers take */
void minspect_answer(const struct minspect_options *o, struct minspect_look *l,
		     const struct mpk_answer *row, const void *what);

/* minspect_style - the style that standard output supports */
struct mpk_style minspect_style(void);

/* minspect_names - the filter of --filter, in arena; NULL if there is none or memory is out */
const struct mpk_name_filter *minspect_names(const struct minspect_options *o,
					     struct mpk_arena *arena);

/* minspect_filter - apply --filter before a file is shown. After the file, or the whole archive, a
 * warning is printed for each filter that chose nothing shown. */
void minspect_filter(struct minspect_look *l);

/* minspect_write - write a buffer to standard output; returns an exit status */
int minspect_write(const struct mpk_strbuf *out);

/* minspect_report - report an error about the current file on standard error, and as "file" and
 * "error" of its object in the document; returns its exit status */
int minspect_report(struct minspect_look *l, const struct mpk_error *err);

/* minspect_answer_aside - as minspect_answer, but into a buffer, up to MINSPECT_LINES
 * minspect_aside_print - print the buffer and free it
 * minspect_aside_fini - free it */
void minspect_answer_aside(const struct minspect_options *o, struct minspect_look *l,
			   struct minspect_aside *aside, const struct mpk_answer *row,
			   const void *what);
void minspect_aside_print(struct minspect_look *l, struct minspect_aside *aside);
void minspect_aside_fini(struct minspect_aside *aside);

/* minspect_separate - print an empty line between the texts of two files */
void minspect_separate(struct minspect_look *l);

/* minspect_print_json - write the document to standard output and free it; returns an exit
 * status */
int minspect_print_json(struct mpk_json *j);

/* minspect_weights_open - open a file of weights with its shards, which count as inspected files
 * Returns  as mpk_weight_set_open; errors have the file's name. Call mpk_weight_set_close in every
 *          case. */
enum mpk_code minspect_weights_open(struct minspect_file *file, struct mpk_weightfile *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_weights_begin - begin the progress line for reading all of it, including its shards
 * @what    as for mpk_progress_begin */
void minspect_weights_begin(const char *what, const struct mpk_weightfile *f);

/* minspect_compare - compare an older file with the current one, as --diff does
 * @older   must stay open until the result is printed
 * @ignores_noise  compare only the digests of their code
 * @diff    receives the result, in the arena of the current file */
struct mpk_diff; /* compare/differ.h */
enum mpk_code minspect_compare(struct minspect_look *l, struct minspect_file *older,
			       bool ignores_noise, struct mpk_diff *diff,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_save - write a file atomically: complete or not at all; "-": standard output
 * Returns  an exit status; errors are printed with the name of the file */
int minspect_save(const char *path, const struct mpk_rope *content);

/* minspect_save_and_say - as minspect_save; on a terminal, also print what was written */
int minspect_save_and_say(const char *path, const struct mpk_rope *content);

/* minspect_each - open every file of the command line and call the action for it; prints one
 * document, or the texts in order
 * @user    passed to the action
 * Returns  the first exit status that is not 0 */
int minspect_each(const struct minspect_options *o, const struct minspect_action *action,
		  void *user);

#endif
