/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - what the inspecting actions share: one look per file, text or JSON */
#ifndef MPK_CMD_MINSPECT_DOCUMENT_H
#define MPK_CMD_MINSPECT_DOCUMENT_H

#include "base/rope.h"
#include "base/strbuf.h"
#include "minspect/minspect.h"
#include "model/view.h"
#include "text/json.h"
#include "weightfile/weightfile.h"

/* An answer of more lines than this is cut where all of it is not asked for: on a terminal and in a pipe alike. */
enum { MINSPECT_LINES = 55 };

/* Texts of several files, kept until it is known whether all of them are more than people read. Zero-initialise. */
struct minspect_aside {
	struct mpk_strbuf text;
	bool is_too_much; /* text is no longer filled */
};

/* Counts of the inputs so far. */
struct minspect_set {
	size_t files; /* some are libraries of archives */
	size_t unreadable;
	uint64_t bytes; /* of members, unpacked ones */
};

/* One file under one action. */
struct minspect_look {
	struct minspect_file *file;
	const struct minspect_file
		*archive; /* that it is a library of, named as a whole; NULL: it is named itself */
	struct mpk_view *view;
	struct mpk_strbuf *out;        /* the text; NULL when JSON was requested */
	struct mpk_json *json;         /* the JSON document; NULL when text was requested */
	struct mpk_json_at *at;        /* object of this file in the document */
	struct mpk_json_at *files;     /* of all of them */
	struct mpk_json_at *list;      /* array in that object, for the action */
	struct mpk_view_choice choice; /* choice of --filter; without a filter everything */
	bool filters;                  /* the action restricts itself to the choice */
	bool is_whole;                 /* --all */
	bool in_set; /* one of several files, of a folder, or a library of an archive */
	bool is_model,
		is_next_model; /* of a file with several models that are looked at one by one; not the first */
	struct minspect_set *set; /* totals over the inputs so far */
	size_t folder_len; /* bytes of the file's name that are a folder from the command line; 0:
			    * none */
	void *user;        /* as minspect_each got it */
};

/* An action on files. Functions return an exit status. */
struct minspect_action {
	const char *doing; /* "verifying", for the line that shows how far it is; NULL: "reading" */
	/* Looks at one file. */
	int (*look)(const struct minspect_options *o, struct minspect_look *l);
	/* Handles the error of an unreadable file; NULL: the error is reported. */
	int (*refuse)(const struct minspect_options *o, struct minspect_look *l,
		      const struct mpk_error *err);
	bool refuses_all; /* false: only those of damaged files */
	/* Prints what comes before the files; file and view are NULL, at is the document. NULL:
	 * nothing. */
	void (*begin)(const struct minspect_options *o, struct minspect_look *l);
	/* Looks at shared libraries, and at objects too, in which no module and no code for GPUs is found. */
	bool takes_libraries, takes_any;
	/* Looks at a library that was cut behind its last loaded segment, image.cut. */
	bool takes_cut;
	/* A zip archive of which no library holds anything is no error. */
	bool may_hold_nothing;
	/* Looks at each model of a file that has several, by its prefix, "lib.so(alpha_)"; false: at the first. */
	bool each_model;
	/* Looks at a zip archive that is named without a member; returns an exit status. NULL: the
	 * libraries in it are looked at that hold something. */
	int (*archive)(struct minspect_look *l);
	/* Looks at a file of weights; NULL: that is an error. */
	int (*weights)(const struct minspect_options *o, struct minspect_look *l,
		       const struct mpk_weightfile *f);
	/* Puts what comes after all files; file and view are NULL, files is the list. Returns an exit status;
	 * NULL: nothing. */
	int (*end)(const struct minspect_options *o, struct minspect_look *l);
	/* Puts the totals of all files after them, whatever the status; at is the document, file and view are NULL.
	 * NULL: nothing. */
	/* With is_cut: what comes before all that was said of the files, once that is known, a few lines; not with --all. */
	void (*head)(const struct minspect_options *o, struct minspect_look *l);
	void (*sum)(const struct minspect_options *o, struct minspect_look *l);
	bool sum_of_set;    /* with text, sum only where there are several files */
	bool is_cut;        /* without --all its text is cut to MINSPECT_LINES */
	bool is_verbatim;   /* its text comes from a file or is for programs: no line is changed */
	const char *single; /* "extract": this action takes one library alone; NULL: any number */
};

/* minspect_is_whole - whether all of a text is printed, however long: by --all, or because a file is named for it.
 * Documents always are. */
bool minspect_is_whole(const struct minspect_options *o);

/* minspect_answer - print what was found of the file that is looked at, in the form that the command line asks for
 * @what    as the row says */
void minspect_answer(const struct minspect_options *o, struct minspect_look *l,
		     const struct mpk_answer *row, const void *what);

/* mpk_style that standard output can show */
struct mpk_style minspect_style(void);

/* minspect_names - what --filter chooses, in arena; NULL: everything, or memory is out */
const struct mpk_name_filter *minspect_names(const struct minspect_options *o,
					     struct mpk_arena *arena);

/* minspect_filter - before a file is shown: leave what --filter chooses. When the file, or all of an
 * archive, has been looked at, there is a warning for each filter that chose nothing which was shown. */
void minspect_filter(struct minspect_look *l);

/* minspect_write - buffer to standard output; returns an exit status */
int minspect_write(const struct mpk_strbuf *out);

/* minspect_report - an error about the file that is looked at: on standard error, and as
 * "file" and "error" of its object in the document; returns its exit status */
int minspect_report(struct minspect_look *l, const struct mpk_error *err);

/* minspect_answer_aside - as minspect_answer, into a buffer, as long as that is no more than MINSPECT_LINES
 * minspect_aside_print - all of that to what is printed; frees it
 * minspect_aside_fini - free it */
void minspect_answer_aside(const struct minspect_options *o, struct minspect_look *l,
			   struct minspect_aside *aside, const struct mpk_answer *row,
			   const void *what);
void minspect_aside_print(struct minspect_look *l, struct minspect_aside *aside);
void minspect_aside_fini(struct minspect_aside *aside);

/* minspect_separate - an empty line between the texts of two files */
void minspect_separate(struct minspect_look *l);

/* minspect_print_json - the document to standard output; frees it; returns an exit status */
int minspect_print_json(struct mpk_json *j);

/* minspect_weights_open - a file of weights with its shards, which count as files that are inspected
 * Returns  as mpk_weight_set_open, the error carrying the file's name. mpk_weight_set_close in every case. */
enum mpk_code minspect_weights_open(struct minspect_file *file, struct mpk_weightfile *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_weights_begin - begin to show how far the reading of all of it is, its shards included
 * @what    as of mpk_progress_begin */
void minspect_weights_begin(const char *what, const struct mpk_weightfile *f);

/* minspect_compare - what differs between an older file and the one that is looked at, as --diff says it
 * @older   open until what was found is printed
 * @ignores_noise  whether the digests of their code are compared alone
 * @diff    receives it, in the arena of the file that is looked at */
struct mpk_diff; /* compare/differ.h */
enum mpk_code minspect_compare(struct minspect_look *l, struct minspect_file *older,
			       bool ignores_noise, struct mpk_diff *diff,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_save - write a file that appears whole or not at all; "-": standard output
 * Returns  an exit status; an error is printed with the name of the file */
int minspect_save(const char *path, const struct mpk_rope *content);

/* minspect_each - open every file of the command line and let look at it; prints one document,
 * or the texts in their order
 * @user    is handed to the action
 * Returns  the first exit status that is not 0 */
int minspect_each(const struct minspect_options *o, const struct minspect_action *action,
		  void *user);

#endif
