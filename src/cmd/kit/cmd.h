/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_CMD_H
#define ASH_CMD_KIT_CMD_H

/* What the verbs of the command share: options, opening, output, errors.
 *
 * A verb is one file with one ash_cmd_verb; verbs.c lists them.  A verb's function returns an exit
 * code.  Results go to standard output, as text for people or with --json as one object a line;
 * errors, warnings and progress go to standard error. */

#include <stdbool.h>
#include <stdio.h>

#include <ashlar/bucket.h>
#include <ashlar/log.h>
#include <ashlar/store.h>

enum {
    ASH_EXIT_OK = 0,
    ASH_EXIT_OTHER = 1,
    ASH_EXIT_USAGE = 2,
    ASH_EXIT_PARTIAL = 3,
    ASH_EXIT_INTERRUPTED = 130,
    ASH_EXIT_PIPE = 141 /* whoever read standard output has had enough: as SIGPIPE would have it */
};

typedef struct ash_cmd_option {
    char letter;          /* 0: long form only */
    const char *name;     /* long form, without dashes */
    const char *argument; /* what the value is called in the help; NULL: a flag */
    const char *help;
    const char
        *choices; /* for completion: all values that it takes, by spaces; NULL: others, too */
} ash_cmd_option;

#define ASH_CMD_MAX_OPTIONS 48

/* Parsed command line of a verb: values by the option's place in its table. */
typedef struct ash_cmd_args {
    const char *values[ASH_CMD_MAX_OPTIONS]; /* last value given; "" for a flag; NULL: not given */
    const char **words;                      /* everything that is no option */
    int count;
    /* The verb's own options that have a value, in their order: for what may be given repeatedly.
     */
    struct ash_cmd_given {
        int option;
        const char *value;
    } * given;
    int given_count;
} ash_cmd_args;

typedef struct ash_cmd {
    const char *store_uri;
    const char *db;     /* NULL: the store's default */
    const char *bucket; /* NULL: "fs" */
    bool json;
    bool quiet;
    bool dry_run;
    int verbose;
    int64_t started_ms; /* monotonic */
    bool mongofiles;    /* called under that name */
    enum { ASH_PROGRESS_AUTO, ASH_PROGRESS_ON, ASH_PROGRESS_OFF } progress;
    const struct ash_cmd_verb *verb;
} ash_cmd;

typedef struct ash_cmd_verb {
    const char *name;
    const char *group;             /* heading in `ashlar help` */
    const char *synopsis;          /* after the verb's name */
    const char *summary;           /* one line */
    const char *details;           /* for `ashlar help VERB`; NULL: none */
    const ash_cmd_option *options; /* ends with a NULL name; or NULL */
    const char *choices;           /* for completion: what its first word can be, by spaces; NULL */
    bool takes_names;              /* for completion: its words are names of stored files */
    bool has_dry_run;              /* it looks at cmd->dry_run; -n is a mistake with the others */
    int min_words, max_words;      /* max < 0: any number */
    int (*run)(ash_cmd *cmd, const ash_cmd_args *args);
    /* Verbs of its own, to one of which its first word leads; ends with NULL; or NULL.  Each is
     * called "VERB WORD", and its table of options begins with this one's, so that these may stand
     * before the word. */
    const struct ash_cmd_verb *const *verbs;
    const char *const *known_as; /* for "did you mean": what other programs call them, and they us:
                                    word, answer, word, answer …, NULL; or NULL */
} ash_cmd_verb;

extern const ash_cmd_verb *const ash__cmd_verbs[]; /* NULL-terminated */
extern const ash_cmd_option ash__cmd_globals[];
const ash_cmd_verb *ash__cmd_find_verb(const char *name);
int ash__cmd_unknown_verb(const ash_cmd *cmd, const char *name); /* says so: ASH_EXIT_USAGE */
/* Of the verb's own verbs the one that the word leads to; or NULL, which the second one tells. */
const ash_cmd_verb *ash__cmd_find_own_verb(const ash_cmd_verb *verb, const char *word);
int ash__cmd_unknown_own_verb(const ash_cmd *cmd, const ash_cmd_verb *verb, const char *word);
const char *ash__cmd_own_word(const ash_cmd_verb *verb); /* "put" of "tree put" */

/* ---- errors and output (output.c) ---- */

/* Report err and return its exit code.  The text is prefixed by `what` ("put a.txt") unless that is
 * NULL. */
int ash__cmd_fail(const ash_cmd *cmd, const char *what, const ash_error *err);
/* Report a mistake on the command line; returns ASH_EXIT_USAGE. */
int ash__cmd_usage(const ash_cmd *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ash__cmd_warn(const ash_cmd *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Something to know, on standard error; nothing with --quiet. */
void ash__cmd_note(const ash_cmd *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What happens and how long after the start, on standard error: level 1 for -v, 2 for -vv. */
void ash__cmd_trace(const ash_cmd *cmd, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line of a server's log with its date, on standard error. */
void ash__cmd_log(const ash_cmd *cmd, ash_log_level level, const char *line);
/* A line for people only, as ash__cmd_printable() shows it: nothing with --quiet or --json. */
void ash__cmd_say(const ash_cmd *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One JSON object (relaxed Extended JSON) on a line of standard output, whatever it holds. */
void ash__cmd_emit(const bson_t *object);
/* Control characters as \xNN and \u00NN, so that a name cannot play tricks on a terminal, and
 * U+FFFD for what is not UTF-8.  The caller frees. */
char *ash__cmd_printable(const char *text);
/* The `findings` of a report of ash_store_maintain, an array of {text, …}: each a line. */
void ash__cmd_print_findings(const bson_t *report);
const char *ash__cmd_s(int64_t count); /* of a plural: "" for 1, else "s" */
void ash__cmd_print_size(char *buf, size_t size, int64_t bytes); /* "1.2 GiB" */
/* Write to standard output, past its buffer; an ash_output's write, whose ctx is not used.  Ends
 * with ASH_EINTERRUPTED when the reader does not read and somebody interrupts. */
int ash__cmd_write_out(void *ctx, const void *data, size_t len, ash_error *err);
/* Flush standard output, and when it had bytes, end it: who reads them to their end may be somebody
 * we are about to wait for. */
void ash__cmd_end_bytes(void);
/* Directly after a print to standard output: if that failed, its errno is kept for
 * ash__cmd_finish_output(), which may come after much else has set another. */
void ash__cmd_keep_output_error(void);
/* In place of fflush(stdout); false: it failed, and why is kept. */
bool ash__cmd_flush_output(void);
/* Flush standard output; a full disk there is an error too, a reader that went away is not. */
int ash__cmd_finish_output(const ash_cmd *cmd, int exit_code);

/* ---- opening (open.c) ---- */

enum ash_cmd_open { ASH_CMD_READ, ASH_CMD_WRITE /* creates a missing store */ };
int ash__cmd_open_store(const ash_cmd *cmd, enum ash_cmd_open how, ash_store_options *opts,
                        ash_store **out, ash_error *err);
/* In place of ash_store_close: waits for the commands that use it through this one.  NULL is fine.
 */
void ash__cmd_close_store(ash_store *store);
/* Was a folder opened whose files may only be read? */
bool ash__cmd_files_are_read_only(void);
/* Is there a store in the folder, if it is one? */
bool ash__cmd_store_is_there(const ash_cmd *cmd);
/* For a dry run: as with ASH_CMD_READ, but a folder that ASH_CMD_WRITE would make is no error: *out
 * is NULL then. */
int ash__cmd_open_if_any(const ash_cmd *cmd, ash_store **out, ash_error *err);
/* The store that the command line or the environment names, and its folder (NULL: it is none); the
 * caller frees.  Both are NULL where nothing names one and there is no home folder: opening says
 * so. */
char *ash__cmd_store_uri(const ash_cmd *cmd);
char *ash__cmd_store_folder(const ash_cmd *cmd);
/* The folder before anything is opened; NULL with err filled, by refusal for a deployment. */
char *ash__cmd_need_folder(const ash_cmd *cmd, const char *refusal, ash_error *err);
/* A verb that works on a folder alone: ASH_EXIT_USAGE for an address (unless of a socket in the
 * file system), else 0. */
int ash__cmd_refuse_address(const ash_cmd *cmd);
/* A text with [**REDACTED**] for passwords and tokens of the connection strings in it, as all
 * messages have it; the caller frees. */
char *ash__cmd_uri_shown(const char *text);
/* Behind "://": the '@' that ends user and password, or NULL. */
const char *ash__cmd_uri_at(const char *authority);
/* Overwrites them in their place; was there any? */
bool ash__cmd_uri_blot(char *text);
/* The user's folder, an absolute path; the caller frees.  NULL: there is none. */
char *ash__cmd_home(void);
int ash__cmd_open_bucket(const ash_cmd *cmd, enum ash_cmd_open how, ash_store **store,
                         ash_bucket **bucket, ash_error *err);

/* Most verbs are this: open the bucket, do the work, report what went wrong, close.  work returns a
 * negative ASH_E… with err filled, or an exit code. */
typedef int (*ash_cmd_work)(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args,
                            ash_error *err);
int ash__cmd_with_bucket(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                         ash_cmd_work work);

/* The same for verbs on a whole store. */
typedef int (*ash_cmd_store_work)(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args,
                                  ash_error *err);
int ash__cmd_with_store(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                        ash_cmd_store_work work);

/* Do each word by itself; failures are reported and the rest goes on.  The exit code: that of the
 * only word, or 3 when some of several failed. */
typedef int (*ash_cmd_item)(ash_cmd *cmd, ash_bucket *bucket, const char *word, void *ctx,
                            ash_error *err);
int ash__cmd_each_word(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args,
                       ash_cmd_item item, void *ctx);

/* ---- addresses of files (address.c) ---- */

/* NAME, NAME@REV or id:VALUE.  VALUE is an ObjectId's 24 digits or Extended JSON.  A name may end
 * like a revision, or begin like an id: where a file has the whole text as its name, that is meant
 * (find). */
typedef struct ash_cmd_address {
    char *name; /* NULL: by id */
    bool has_revision;
    int32_t revision;
    bson_value_t id;
} ash_cmd_address;
int ash__cmd_address_parse(const char *text, ash_cmd_address *out, ash_error *err);
int ash__cmd_address_find(ash_bucket *b, const char *text, ash_cmd_address *out, ash_error *err);
void ash__cmd_address_release(ash_cmd_address *a);
int ash__cmd_address_file(ash_bucket *b, const ash_cmd_address *a, ash_file **out, ash_error *err);
int ash__cmd_address_download(ash_bucket *b, const ash_cmd_address *a, ash_download_options *opts,
                              ash_download **out, ash_error *err);

/* One document of Extended JSON and nothing else.  *out has to be destroyed in any case. */
bool ash__cmd_json(const char *text, bson_t *out, bson_error_t *reason);

/* The value of an option: a whole number from min to max; else a message and ASH_EXIT_USAGE. */
int ash__cmd_number(const ash_cmd *cmd, const char *option, const char *text, int64_t min,
                    int64_t max, int64_t *out);

/* Times and sizes with their units (units.c): s, m, h, d and w; k, M and G, of 1024.  A message and
 * ASH_EXIT_USAGE when it is none, or not from min to max.  Only the first takes parts of a second.
 */
int ash__cmd_time(const ash_cmd *cmd, const char *option, const char *text, double *seconds);
int ash__cmd_seconds(const ash_cmd *cmd, const char *option, const char *text, int64_t min,
                     int64_t max, int64_t *out);
/* Also "2 weeks", "last month", a date: how long ago that was (kit/when.h). */
int ash__cmd_age(const ash_cmd *cmd, const char *option, const char *text, int64_t min, int64_t max,
                 int64_t *out);
int ash__cmd_bytes(const ash_cmd *cmd, const char *option, const char *text, int64_t min,
                   int64_t max, int64_t *out);

/* Names must be UTF-8: ASH_EINVAL with the offset of the first bad byte. */
int ash__cmd_check_name(const char *name, ash_error *err);

/* The last part of a path or name; "x/" for a name that ends so. */
const char *ash__cmd_last_part(const char *name);
/* Where a file goes: NAME, or NAME/ and the last part of what it was called.  ASH_EINVAL, and NULL,
 * when NAME is empty or that last part is.  The caller frees. */
char *ash__cmd_target_name(const char *name, const char *was, ash_error *err);

/* The id as it would be typed behind "id:".  The caller frees. */
char *ash__cmd_id_text(const bson_value_t *id);

/* The file as an object: {id, name, length, chunkSize, uploadDate, …}. */
void ash__cmd_file_object(const ash_file *f, bson_t *out);

/* The file that a files document describes.  A damaged document is reported (unless cmd is NULL),
 * counted and passed over: 0 with *out NULL. */
int ash__cmd_read_file(const ash_cmd *cmd, ash_doc doc, ash_file **out, int *damaged,
                       ash_error *err);
/* The next files document of a bucket's find, or none (data NULL) at the end.  Damaged ones are
 * reported (unless cmd is NULL), counted and passed over; where the store cannot go on behind one,
 * it ends with ASH_ECORRUPT. */
int ash__cmd_next_document(const ash_cmd *cmd, ash_bucket *b, ash_cursor *cursor, ash_doc *doc,
                           int *damaged, ash_error *err);
/* What a NAME stands for that may mean several files. */
enum ash_cmd_scope {
    ASH_CMD_FOLDER, /* the file NAME, and all below the folder NAME; "" or ".": everything */
    ASH_CMD_PREFIX  /* each name that begins so, wherever NAME ends */
};
/* Who is shown files, in the order of their names. */
typedef struct ash_file_visitor {
    int (*visit)(void *ctx, const ash_file *f); /* an exit code; non-zero stops */
    void *ctx;
    bool all_revisions; /* else only the newest of each name */
} ash_file_visitor;
/* These files.  Damaged files documents do not stop it; when there were any, ASH_EPARTIAL at the
 * end. */
int ash__cmd_each_file(const ash_cmd *cmd, ash_bucket *b, const char *name,
                       enum ash_cmd_scope scope, const ash_file_visitor *visitor, ash_error *err);
/* Where there is no file of the name (rc is ASH_ENOTFOUND) but a folder: err says so, and what
 * to do.  Returns rc. */
int ash__cmd_explain_folder(const ash_cmd *cmd, ash_bucket *b, const char *name, int rc,
                            ash_error *err);
/* There was none: ASH_ENOTFOUND. */
int ash__cmd_no_such(const char *name, enum ash_cmd_scope scope, ash_error *err);
/* The same for the files that a filter finds. */
int ash__cmd_each_match(const ash_cmd *cmd, ash_bucket *b, const bson_t *filter,
                        const ash_file_visitor *visitor, ash_error *err);

/* ---- buckets of a store (buckets.c) ---- */

/* Does -d, or the URI of a deployment, name one database? */
bool ash__cmd_names_database(const ash_cmd *cmd);
/* Call visit for each bucket that has a collection NAME.suffix (".files", ".chunks",
 * ".attributes"): of the bucket that -b names, or all; of the database that -d or the URI names,
 * or all.  visit returns a negative ASH_E… with err filled to stop, else 0. */
typedef int (*ash_cmd_bucket_visit)(void *ctx, ash_store *store, const char *db, const char *name,
                                    ash_error *err);
int ash__cmd_each_bucket(const ash_cmd *cmd, ash_store *store, const char *suffix,
                         ash_cmd_bucket_visit visit, void *ctx, ash_error *err);

/* Call visit for the database that -d or the URI names, or for all but a server's own.  Otherwise like
 * ash__cmd_each_bucket. */
typedef int (*ash_cmd_database_visit)(void *ctx, ash_store *store, const char *db, ash_error *err);
int ash__cmd_each_database(const ash_cmd *cmd, ash_store *store, ash_cmd_database_visit visit,
                           void *ctx, ash_error *err);

/* Call visit with each description of a collection or view, as ash_store_list_collections gives it,
 * of the database that -d or the URI names, or of all.  Otherwise like ash__cmd_each_bucket. */
typedef int (*ash_cmd_collection_visit)(void *ctx, ash_store *store, const char *db,
                                        ash_doc description, ash_error *err);
int ash__cmd_each_collection(const ash_cmd *cmd, ash_store *store, ash_cmd_collection_visit visit,
                             void *ctx, ash_error *err);

/* Is there a collection BUCKET.suffix? */
int ash__cmd_has_collection(ash_store *store, const char *db, const char *bucket,
                            const char *suffix, bool *there, ash_error *err);
/* Nothing was found: ASH_ENOTFOUND when that is because -b or -d names what does not exist; for a
 * database that only the URI names, which may be a new one, a note. */
int ash__cmd_check_named(const ash_cmd *cmd, ash_bucket *bucket, ash_error *err);

/* ---- what a server does in the background (chore.c) ---- */

/* A thread that goes round all buckets of the store every interval_ms (0: as its kind has it) and
 * takes at most a twentieth of the time, unless one file takes longer. */
typedef struct ash_chore ash_chore;
enum ash_chore_kind {
    ASH_CHORE_EXPIRE, /* delete expired files, and uploads nobody went on with */
    ASH_CHORE_SUM     /* compute the digests of files that came without */
};
int ash__chore_start(ash_store *store, enum ash_chore_kind kind, int64_t interval_ms,
                     ash_chore **out, ash_error *err);
/* From its next rest on. */
void ash__chore_set_interval(ash_chore *c, int64_t interval_ms); /* NULL is fine */
void ash__chore_stop(ash_chore *c); /* waits for the thread; NULL is fine */

/* ---- interruption (signals.c) ---- */

/* SIGINT, SIGTERM and SIGHUP (unless it is ignored) set this flag instead of ending the process; a
 * second one of a kind ends it. */
void ash__cmd_catch_signals(void);
extern volatile int ash__cmd_interrupted; /* for ash_op.cancel; else: */
bool ash__cmd_is_interrupted(void);
int ash__cmd_check_interrupted(ash_error *err); /* ASH_EINTERRUPTED when it is set */

/* ---- progress (progress.c) ---- */

/* A line on standard error with rate and time left, redrawn ten times a second; thread-safe. */
typedef struct ash_progress ash_progress;
ash_progress *ash__progress_new(const ash_cmd *cmd, int64_t total_bytes,
                                int64_t total_items); /* totals may be 0: unknown */
void ash__progress_set_total(ash_progress *p, int64_t total_bytes, int64_t total_items);
void ash__progress_add_total(ash_progress *p, int64_t bytes);
void ash__progress_add(ash_progress *p, int64_t bytes, int64_t items,
                       const char *name);  /* name NULL: as before */
void ash__progress_clear(ash_progress *p); /* wipe the line, before other output */
void ash__progress_free(ash_progress *p);
/* An ash_progress_fn for ash_store_maintain and sweeps; ctx is an ash_progress.  What is done is
 * bytes of records when what is "bytes", else so many of what. */
bool ash__progress_maintain(void *ctx, const char *what, int64_t done, int64_t total);

#endif
