/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_TREE_H
#define ASHLAR_TREE_H

/* Trees: folders and files with a past, on any store.
 *
 * The documents are those of v7files ("seed" below): one for each file and folder in a collection,
 * earlier versions in COLLECTION.vermongo, contents in a bucket under their digest, so that equal
 * contents are kept once.  docs/TREES.md teaches trees, docs/FORMAT.md has every field.
 *
 * A tree is a root: a name chosen by the user, which is the `parent` of what lies in it.  Paths are
 * UTF-8 with '/' between at most 4,096 names, and of at most 65,536 bytes; a first '/' may be left
 * out, which is counted all the same, and "" or "/" is the root itself.  What lies deeper than that, as a folder was moved or
 * somebody else wrote it so, is left out of listings (ASH_ECORRUPT) and is reached by its id alone, its path being
 * "?/NAME", which no path of a tree can be; moving a folder above it up brings it back.  Names are not empty, not "." or "..", of at most 1,024 bytes, without NUL and '/'; they
 * are told apart byte by byte.
 *
 * Each change is one commit, durable when the call returns 0 (ash_op.durability may say otherwise):
 * the version of before in the history, the document of now, what refers to contents.  A crash
 * leaves the tree of before or of after.  To delete or undelete a very large folder is several, and
 * so is whatever says so.
 * Readers see files whole, as one version.  Where the store has no transactions (a single MongoDB
 * server), trees are read only: ASH_EUNSUPPORTED.
 *
 * Every call takes an ash_op (NULL: none): deadline, cancel flag, principal, durability.  With
 * op->transaction a call is part of the caller's transaction; those that cannot be are ASH_ESTATE.
 * A principal is held to the access lists (ash_tree_allows()); without one, everything is allowed.
 *
 * Threads: a tree may be used by any number of threads; writers, readers, listings and watches
 * belong to one thread at a time.
 *
 * Pointers must not be NULL unless a comment allows it.  Allowed everywhere: options and op (NULL:
 * the defaults), err (NULL: only the code is wanted), *entry results that nobody wants, and what a
 * free or close function is given.  Any other NULL is a bug of the caller and ends the program.
 *
 * Common errors: ASH_ENOTFOUND no such path, or not at that time; ASH_ENOREVISION no such version;
 * ASH_EEXISTS the name is taken; ASH_ECONFLICT somebody else's change came first: nothing was done,
 * look again; ASH_ECONDITION a condition of the caller does not hold; ASH_EACCES an access list
 * refuses; ASH_EINVAL paths that cannot be, a file where a folder is needed or the other way round;
 * ASH_ECORRUPT contents that do not give their digest, or documents that cannot be (the text says
 * which).  After any failure the tree is as before, but where a call is said to be several commits.
 *
 * A file has at most 16 TiB, of which 1 TiB is the same again and again: ASH_ETOOBIG.
 *
 * Damage costs what is damaged, and nothing else.  Who puts a file whose content is there already,
 * but cannot be read, stores it anew, for all versions that have it. */

#include <ashlar/bucket.h>
#include <ashlar/digest.h>
#include <ashlar/maintain.h>
#include <ashlar/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     ash_error err = ASH_ERROR_INIT;
 *     ash_store *store = NULL;
 *     ash_tree *tree = NULL;
 *     ash_tree_writer *writer = NULL;
 *     int rc = ash_store_open("./files", NULL, &store, &err);
 *     if (rc == 0)
 *         rc = ash_tree_open(store, "/", NULL, &tree, &err);
 *     if (rc == 0)
 *         rc = ash_tree_open_writer(tree, "hello.txt", NULL, NULL, &writer, &err);
 *     if (rc == 0)
 *         rc = ash_tree_writer_write(writer, "hello\n", 6, &err);
 *     if (rc == 0)
 *         rc = ash_tree_writer_finish(writer, NULL, NULL, &err);
 *     if (rc != 0)
 *         fprintf(stderr, "%s\n", err.text);
 *     ash_tree_writer_free(writer);
 *     ash_tree_close(tree);
 *     ash_store_close(store);
 */

typedef struct ash_tree ash_tree;
typedef struct ash_tree_entry ash_tree_entry;
typedef struct ash_tree_listing ash_tree_listing;
typedef struct ash_tree_writer ash_tree_writer;
typedef struct ash_tree_reader ash_tree_reader;
typedef struct ash_tree_watch ash_tree_watch;

/* ---- opening ---- */

typedef struct ash_tree_options {
    size_t size;
    const char *db;         /* NULL: the store's default database */
    const char *collection; /* NULL: "v7files", or "v7files.files" where only v7files' last
                               generation has left its documents, which is read only */
    const char *bucket;     /* of the contents; NULL: "v7.fs", of another collection
                               COLLECTION.fs.  One bucket is for one collection: ASH_EEXISTS from
                               the first change */
    unsigned digest;        /* ASH_DIGEST_SHA256 or ASH_DIGEST_SHA1, of new contents; 0: as those
                               that are there, else SHA-256 */
    bool must_exist;        /* the collection has to be there: ASH_ENOTFOUND */
    int64_t piece_bytes;    /* contents above it are kept in pieces; 0: 32 MiB, which is also the
                               most; tests make it small */
} ash_tree_options;
#define ASH_TREE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_options)

/* Touches the store to learn which digests and which generation there are; makes nothing: indexes
 * come with the first change.  root: 1 to 1,024 bytes, copied.  *out is yours: ash_tree_close(),
 * before the store is closed.  ASH_EINVAL names that cannot be. */
int ash_tree_open(ash_store *store, const char *root, const ash_tree_options *opts, ash_tree **out,
                  ash_error *err);
void ash_tree_close(ash_tree *tree);
/* Makes the collections and indexes that are missing.  The first change does it by itself; whoever
 * changes a tree in a transaction of his own calls it before (else ASH_ESTATE). */
int ash_tree_prepare(ash_tree *tree, const ash_op *op, ash_error *err);
const char *ash_tree_root(const ash_tree *tree);
ash_store *ash_tree_store(const ash_tree *tree);

/* ---- entries ---- */

/* A file or a folder, as one version of it was or is.  An entry has its own copy of everything and
 * is freed with ash_tree_entry_free(), unless it was borrowed. */
void ash_tree_entry_free(ash_tree_entry *e);
/* Yours, to keep what was borrowed. */
ash_tree_entry *ash_tree_entry_copy(const ash_tree_entry *e);
/* The root's own entry is a folder without a name, of version 0 and without dates (0) until
 * something is set on it. */
bool ash_tree_entry_is_folder(const ash_tree_entry *e);
bool ash_tree_entry_is_deleted(const ash_tree_entry *e); /* what the trash lists, and histories */
const bson_value_t *ash_tree_entry_id(const ash_tree_entry *e); /* stays through moves */
const char *ash_tree_entry_name(const ash_tree_entry *e);       /* "" for the root */
const char *ash_tree_entry_path(const ash_tree_entry *e);       /* "/a/b"; of that moment */
/* Does a path lead to it?  It does not to what lies too deep, or in another root: "?/NAME". */
bool ash_tree_entry_has_path(const ash_tree_entry *e);
int32_t ash_tree_entry_version(const ash_tree_entry *e); /* from 1 */
int64_t ash_tree_entry_length(const ash_tree_entry *e);  /* bytes; 0 for folders */
/* Lower-case hexadecimal: 40 digits SHA-1, 64 SHA-256.  "" for folders; for contents inside the
 * document it is computed. */
const char *ash_tree_entry_digest(const ash_tree_entry *e);
int64_t ash_tree_entry_created_ms(const ash_tree_entry *e); /* since 1970, of the first version */
int64_t ash_tree_entry_changed_ms(const ash_tree_entry *e); /* when this version began */
int64_t ash_tree_entry_ended_ms(const ash_tree_entry *e);   /* when it ended; 0: it is current */
/* As the user's system had it; else when the version began. */
int64_t ash_tree_entry_modified_ms(const ash_tree_entry *e);
const char *ash_tree_entry_content_type(const ash_tree_entry *e); /* or NULL */
const char *ash_tree_entry_changed_by(const ash_tree_entry *e);   /* or NULL */
/* Whose the bytes of a file are: who put them there, rather than who gave the file another name, place,
 * type or property since.  NULL: nobody is known to have. */
const char *ash_tree_entry_written_by(const ash_tree_entry *e);
bool ash_tree_entry_has_tag(const ash_tree_entry *e, const char *tag);
/* When the tag was set, ms since 1970; *by (or NULL): by whom, or NULL.  0: it has no such tag, or
 * nobody knows since when. */
int64_t ash_tree_entry_tagged_ms(const ash_tree_entry *e, const char *tag, const char **by);
/* The whole document, fields that nobody here knows included. */
ash_doc ash_tree_entry_document(const ash_tree_entry *e);

/* Which state is meant: all zero is the newest. */
typedef struct ash_tree_when {
    size_t size;
    int64_t at_ms;   /* the tree as it was then, ms since 1970; or 0 */
    int32_t version; /* of the last name in the path, which is looked up as above; or 0 */
} ash_tree_when;
#define ASH_TREE_WHEN_INIT ASH_OPTIONS_INIT(ash_tree_when)

/* One index lookup for each name in the path.  *out is yours. */
int ash_tree_get(ash_tree *tree, const char *path, const ash_tree_when *when, const ash_op *op,
                 ash_tree_entry **out, ash_error *err);
/* By its id, wherever it lies below this root or any other; deleted ones, too, as their last version. */
int ash_tree_get_by_id(ash_tree *tree, const bson_value_t *id, int32_t version, const ash_op *op,
                       ash_tree_entry **out, ash_error *err);

typedef struct ash_tree_list_options {
    size_t size;
    int64_t at_ms;     /* the folder as it was then; 0: now */
    const char *after; /* only names behind this one, which need not exist; or NULL */
    int64_t limit;     /* 0: all */
    bool recursive;    /* all below, each folder before what lies in it; no `after` then */
} ash_tree_list_options;
#define ASH_TREE_LIST_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_list_options)

/* What lies in a folder, by name, byte by byte; for a principal, without what it may not read.  *out
 * is yours: ash_tree_listing_free(). */
int ash_tree_list(ash_tree *tree, const char *path, const ash_tree_list_options *opts,
                  const ash_op *op, ash_tree_listing **out, ash_error *err);
/* Borrowed until the next call on the listing; NULL at the end.  ASH_ECORRUPT: an entry that cannot
 * be read, which the text names as far as it can; whoever asks again gets what lies behind it.
 * Where an index is damaged, names that were found without it come last. */
int ash_tree_listing_next(ash_tree_listing *l, const ash_tree_entry **out, ash_error *err);
void ash_tree_listing_free(ash_tree_listing *l);

/* ---- changing ---- */

/* What every change may say.  Conditions are looked at in the commit. */
typedef struct ash_tree_change_options {
    size_t size;
    int32_t if_version;    /* the entry's; 0: any.  Else ASH_ECONFLICT */
    const char *if_digest; /* hexadecimal; NULL: any.  Else ASH_ECONDITION */
    bool if_absent;        /* new names only: ASH_EEXISTS */
    bool replace;          /* moves and copies: onto a file that is there, which becomes history */
    bool recursive;        /* removing and copying folders with what lies in them */
    bool make_folders;     /* those of the path that are not there yet */
    int64_t modified_ms;   /* as the user's system has it; 0: says nothing */
    const char *content_type; /* NULL: as before */
    const bson_t *props;      /* properties to set, merged with those that are there; null values
                                 remove one.  At most 64 KiB together (ASH_ETOOBIG) */
    const char *changed_by;   /* NULL: the principal's user ("ann", of another database than admin
                                 "ann@files"), else nobody */
    const ash_fence *fence;   /* of locks (ashlar/lock.h) in the tree's database: ASH_ELOST once one
                                 is not held as granted.  With writes < 0: ASH_ELOST if anybody holds
                                 a lock on the resource (files_id) lock_id; beside a deployment's other
                                 clients as of just before the commit */
    const char *written_by;   /* whose the bytes are that it writes, as quotas of users count them;
                                 NULL: the principal's user, else changed_by */
} ash_tree_change_options;
#define ASH_TREE_CHANGE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_change_options)

int ash_tree_make_folder(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                         const ash_op *op, ash_tree_entry **entry, ash_error *err);

/* A new file, or a new version of one.  Nothing is visible before finish; equal contents make no
 * new version, unless the type, the time or a property differs.  Holds up to about three times
 * ash_tree_options.piece_bytes in memory.  *out is yours: ash_tree_writer_free(). */
int ash_tree_open_writer(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                         const ash_op *op, ash_tree_writer **out, ash_error *err);
int ash_tree_writer_write(ash_tree_writer *w, const void *data, size_t len, ash_error *err);
/* No more bytes: contents that are large are stored, and what the file will be called is known.
 * Once more: nothing. */
int ash_tree_writer_seal(ash_tree_writer *w, ash_error *err);
/* To another path, in the same tree, for as long as it is not finished: when a name turns out to be
 * taken (ASH_EEXISTS).  That nothing is there, and that it may be, is found out by finish. */
int ash_tree_writer_redirect(ash_tree_writer *w, const char *path, ash_error *err);
/* op NULL: as the writer was opened with.  With op->transaction the writer has to be sealed before
 * (ASH_ESTATE).  ASH_ECONFLICT: another version came since it was looked at, or contents that this
 * one is made of went, though it was tried again (in a caller's transaction: once).  A failure
 * leaves the writer as it was, to be finished again or freed.  *entry: yours. */
int ash_tree_writer_finish(ash_tree_writer *w, const ash_op *op, ash_tree_entry **entry,
                           ash_error *err);
/* Before finish: forgets the bytes; never commits.  NULL is fine. */
void ash_tree_writer_free(ash_tree_writer *w);
/* The same from a stream, read to its end. */
int ash_tree_put(ash_tree *tree, const char *path, const ash_input *in,
                 const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                 ash_error *err);

/* Properties, type and time of a file or folder, without new contents: a version, as any change. */
int ash_tree_set(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                 const ash_op *op, ash_tree_entry **entry, ash_error *err);

/* Another name, another folder, or both: one document changes, whatever lies below.  ASH_EINVAL
 * into itself or below.  to: the whole new path. */
int ash_tree_move(ash_tree *tree, const char *from, const char *to,
                  const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                  ash_error *err);
/* New entries with the same contents; no bytes are copied.  when: of the source.  Up to 10,000
 * entries (through a server 2,500) come in one commit.  More of them are what the source was at one
 * moment; they come in many commits, of up to 1,000 entries, and are seen with the last, all at
 * once; a watch is told of the folder then, and need not be of what lies in it.  What a failure leaves half-way is not seen, and goes
 * with the next ash_tree_collect(), an hour later as a rule.  With op->transaction: in its commit,
 * and all in memory.  ASH_ETOOBIG: something in it would have a path that is too long. */
int ash_tree_copy(ash_tree *tree, const char *from, const ash_tree_when *when, const char *to,
                  const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                  ash_error *err);
/* A folder that is not empty needs recursive: ASH_ESTATE.  What is removed can be undeleted until
 * it is pruned.  Up to 10,000 entries (through a server 2,500) go in one commit.  Of more, what lies
 * in the folder goes first, in commits of up to 1,000, each folder after what lies in it, with the
 * time of the first: whoever looks meanwhile finds some of them, and after a failure the same call
 * does the rest, and ash_tree_undelete() brings back what went, by then or before; rights are asked for all before the first goes.  With op->transaction: all at once,
 * and all in memory. */
int ash_tree_remove(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                    const ash_op *op, ash_error *err);

/* ---- reading ---- */

typedef struct ash_tree_read_options {
    size_t size;
    int64_t at_ms;   /* as in ash_tree_when; of an entry that is given by itself: no matter */
    int32_t version; /* likewise */
    bool unverified; /* do not compare the digest when all bytes were read */
    int64_t start;   /* first byte */
    int64_t end;     /* first byte not wanted; 0: to the end.  Not 0 <= start <= end <= length:
                        ASH_EINVAL */
} ash_tree_read_options;
#define ASH_TREE_READ_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_read_options)

/* Bytes of one version to the end, whatever becomes of it.  Read from the first byte to the last,
 * the digest is compared: ASH_ECORRUPT from the read that reaches the end.  *out is yours. */
int ash_tree_open_reader(ash_tree *tree, const char *path, const ash_tree_read_options *opts,
                         const ash_op *op, ash_tree_reader **out, ash_error *err);
/* The same of an entry that was looked up before. */
int ash_tree_open_entry(ash_tree *tree, const ash_tree_entry *entry,
                        const ash_tree_read_options *opts, const ash_op *op, ash_tree_reader **out,
                        ash_error *err);
/* The bytes of a content by its digest alone, whatever names it: 4 or more hexadecimal digits that no
 * other digest begins with (ASH_EINVAL: several do).  The reader's entry is a file that is called
 * after its digest.  What stands in its file's own document has no digest to be found by:
 * ASH_ENOTFOUND.  No access list stands before contents, so a principal has to be allowed to read,
 * write and enter this tree's root: ASH_EACCES. */
int ash_tree_open_content(ash_tree *tree, const char *digest, const ash_tree_read_options *opts,
                          const ash_op *op, ash_tree_reader **out, ash_error *err);
/* Is a file's content there?  Told by rows alone, so that it costs little however long the file is:
 * its document, what it is made of, and as many chunks as there have to be.  Bytes that are damaged
 * are found by reading them.  ASH_ECORRUPT: something is missing, which the text names; whoever puts
 * the same bytes brings it back.  0 also for folders, and what stands in the file's own document.
 * With a principal as ash_tree_open_entry(). */
int ash_tree_probe(ash_tree *tree, const ash_tree_entry *entry, const ash_op *op, ash_error *err);
const ash_tree_entry *ash_tree_reader_entry(const ash_tree_reader *r); /* borrowed until free */
/* *got 0 at the end, and only there. */
int ash_tree_reader_read(ash_tree_reader *r, void *buf, size_t len, size_t *got, ash_error *err);
/* Absolute, within the range; what is read afterwards is not compared with the digest. */
int ash_tree_reader_seek(ash_tree_reader *r, int64_t position, ash_error *err);
void ash_tree_reader_free(ash_tree_reader *r);

/* ---- history ---- */

/* Versions of one entry, newest first; a deletion is a version of its own.  A path that is not
 * there any more: the entry that had it last. */
int ash_tree_history(ash_tree *tree, const char *path, int64_t limit, const ash_op *op,
                     ash_tree_listing **out, ash_error *err);
/* Entries that were deleted below a folder and can be undeleted, the latest first.  They are looked
 * up as the listing goes on. */
int ash_tree_trash(ash_tree *tree, const char *path, int64_t limit, const ash_op *op,
                   ash_tree_listing **out, ash_error *err);
/* What an earlier version said becomes a new one: contents, type, time and properties; name and
 * place stay. */
int ash_tree_restore(ash_tree *tree, const char *path, int32_t version,
                     const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                     ash_error *err);
/* A deleted entry comes back at its place, or as the path `to`; a folder with all that was deleted
 * with it.  Of more than 10,000 entries (through a server 2,500) the folder comes first, and the rest
 * in commits of up to 1,000; after a failure the same call without `to` goes on.  So it does with a
 * folder that is there, but whose own deletion was interrupted.  ASH_EEXISTS:
 * somebody has the name, or nothing of it is deleted.  ASH_ENOTFOUND: its folder is gone (give
 * `to`). */
int ash_tree_undelete(ash_tree *tree, const bson_value_t *id, const char *to,
                      const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                      ash_error *err);
/* Mark a version, so that it is found and never pruned; version 0: the newest.  remove: take the
 * mark away.  No new version.  A tag is 1 to 255 bytes. */
int ash_tree_tag(ash_tree *tree, const char *path, int32_t version, const char *tag, bool remove,
                 const ash_op *op, ash_error *err);

/* The same with conditions (of the current version), fence and changed_by of the options: who set a
 * mark, and when, is kept beside it, for as long as it is there. */
int ash_tree_tag_with(ash_tree *tree, const char *path, int32_t version, const char *tag,
                      bool remove, const ash_tree_change_options *opts, const ash_op *op,
                      ash_error *err);

/* One version of a file's past goes for good, and a deletion that it ended with; at a moment at which
 * it was current, nothing is there any more, as after ash_tree_prune().  Its space comes back with
 * ash_tree_collect(); what other contents are made of stays.  path: as in ash_tree_history(), but of
 * what was moved away: ASH_ENOTFOUND.  ASH_ESTATE: it is the newest (of what was deleted: the one that
 * comes back), or tagged.  ASH_ENOREVISION: there is no such version, or it is a deletion.
 * ASH_EINVAL: a folder's.  Conditions (of the newest version) and fence of the options count; it
 * takes the right to write. */
int ash_tree_forget(ash_tree *tree, const char *path, int32_t version,
                    const ash_tree_change_options *opts, const ash_op *op, ash_error *err);

/* How much history a folder and all below it keep, unless a nearer folder says so.  A version goes
 * when no part of the rule keeps it. */
typedef struct ash_tree_keep {
    size_t size;
    bool all;         /* everything: the rule where none is set */
    int32_t last;     /* so many versions of each file, the current one not counted */
    int64_t within_s; /* versions that were current within that time */
} ash_tree_keep;
#define ASH_TREE_KEEP_INIT ASH_OPTIONS_INIT(ash_tree_keep)

/* keep NULL: no rule of its own any more.  A version, as any change; conditions, fence and
 * changed_by of the options count. */
int ash_tree_set_keep(ash_tree *tree, const char *path, const ash_tree_keep *keep,
                      const ash_tree_change_options *opts, const ash_op *op, ash_error *err);
/* The rule that counts there, and the path of the folder that has it (NULL: none has; yours, free()
 * by ash_tree_string_free()). */
int ash_tree_get_keep(ash_tree *tree, const char *path, const ash_op *op, ash_tree_keep *keep,
                      char **from, ash_error *err);
void ash_tree_string_free(char *text);

/* How many bytes the newest versions of all files in a folder, and in all folders below it, may have
 * together: their lengths, whatever they share.  Versions of the past do not count: prune and
 * collect answer for them.  Each folder above has its own say.  A change that would make it more is
 * refused whole, at its commit: ASH_ENOSPC, with the server code 12501; what adds nothing passes, also
 * where there is more already.
 *
 * A user has a quota likewise: for the files, in all trees of the collection, whose bytes are his
 * (ash_tree_entry_written_by).  Who puts, copies, restores or undeletes has them then, whoever had them
 * before; who moves a file, or changes what else it says, leaves them to whom they belong; who deletes
 * it sets them free.  Both hold, and so the one that leaves less. */
typedef struct ash_tree_quota {
    size_t size;
    int64_t max_bytes;       /* -1: there is none, or not for the eyes of who asks */
    int64_t used_bytes;      /* -1: likewise, or not counted yet, and not enforced */
    int64_t available_bytes; /* how many more there may be, never negative; -1: any number */
} ash_tree_quota;
#define ASH_TREE_QUOTA_INIT ASH_OPTIONS_INIT(ash_tree_quota)

/* max_bytes < 0: none any more.  No version.  What is there is counted anew, in the commit, or, where
 * that is too much, beside others who go on: ASH_ECONFLICT when they change it faster than it can be
 * counted.  Conditions, fence and changed_by of the options count; it takes the right to write.
 * ASH_EINVAL: it is a file.  ASH_ESTATE: in a transaction. */
int ash_tree_set_quota(ash_tree *tree, const char *path, int64_t max_bytes,
                       const ash_tree_change_options *opts, const ash_op *op, ash_error *err);
/* The one that leaves least there to op's principal: his own, or one of a folder, whose path comes as in
 * ash_tree_get_keep(); without a principal only folders' are looked at.  Of a folder that he may not read
 * only available_bytes is told.  ASH_EACCES: he may neither read what is at path nor write to it. */
int ash_tree_get_quota(ash_tree *tree, const char *path, const ash_op *op, ash_tree_quota *quota,
                       char **from, ash_error *err);
/* Whether any folder or user has one, in this tree or another one of its collection; cheap. */
int ash_tree_has_quotas(ash_tree *tree, const ash_op *op, bool *any, ash_error *err);
/* All that count at a path, of it and of folders above, and all below it, in the order of their
 * folders' paths.  Borrowed for the call; false stops: ASH_EINTERRUPTED. */
typedef bool (*ash_tree_quota_fn)(void *ctx, const char *path, const ash_tree_quota *quota);
int ash_tree_quotas(ash_tree *tree, const char *path, const ash_op *op, ash_tree_quota_fn fn,
                    void *ctx, ash_error *err);
/* The same for a user, by the name that versions carry: "ann", of another database than admin
 * "ann@files".  Nobody asks whether there is such a user, and the quota outlives one that is dropped.  Of
 * the options changed_by counts, and a fence.  As durable as any change.  ASH_EINVAL: a name that is empty,
 * longer than 1,024 bytes or no UTF-8.  ASH_EACCES: with a principal, who would set his own.  ASH_ESTATE,
 * ASH_ECONFLICT: as above. */
int ash_tree_set_user_quota(ash_tree *tree, const char *user, int64_t max_bytes,
                            const ash_tree_change_options *opts, const ash_op *op, ash_error *err);
/* All that users have, in the order of their names, which fn gets as paths; to a principal only his own.
 * user: only that one's; NULL: all. */
int ash_tree_user_quotas(ash_tree *tree, const char *user, const ash_op *op, ash_tree_quota_fn fn,
                         void *ctx, ash_error *err);

/* Each entry or version that something is done with; false stops (ASH_EINTERRUPTED), and what was
 * done stays.  entry: borrowed for the call. */
typedef bool (*ash_tree_entry_fn)(void *ctx, const ash_tree_entry *entry);

typedef struct ash_tree_prune_options {
    size_t size;
    const ash_tree_keep *keep; /* NULL: by the rules that are set */
    bool dry_run;
    ash_tree_entry_fn each; /* that goes, or would go; or NULL */
    void *each_ctx;
} ash_tree_prune_options;
#define ASH_TREE_PRUNE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_prune_options)
typedef struct ash_tree_prune_report {
    size_t size;
    int64_t versions; /* that went, or would */
    int64_t bytes;    /* of their files, before anything that contents share */
} ash_tree_prune_report;
#define ASH_TREE_PRUNE_REPORT_INIT ASH_OPTIONS_INIT(ash_tree_prune_report)
/* Forget versions that no rule keeps, below path; their space comes back with ash_tree_collect().
 * Small commits; tagged and current versions never go. */
int ash_tree_prune(ash_tree *tree, const char *path, const ash_tree_prune_options *opts,
                   const ash_op *op, ash_tree_prune_report *report, ash_error *err);

/* ---- contents that nobody has ---- */

/* One content that goes, or would.  digest: hexadecimal; stored: bytes that it takes. */
typedef bool (*ash_tree_content_fn)(void *ctx, const char *digest, int64_t stored);

typedef struct ash_tree_collect_options {
    size_t size;
    bool dry_run;
    int64_t min_age_s; /* contents younger than that stay, since a writer may be about to use them;
                          0: an hour; < 0: of any age, which is safe, but makes writers begin again */
    ash_tree_content_fn each;
    void *each_ctx;
} ash_tree_collect_options;
#define ASH_TREE_COLLECT_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_collect_options)
typedef struct ash_tree_collect_report {
    size_t size;
    int64_t looked_at;
    int64_t contents; /* that went, or would */
    int64_t bytes;    /* that they took */
    int64_t young;    /* that nobody has, and were too young */
} ash_tree_collect_report;
#define ASH_TREE_COLLECT_REPORT_INIT ASH_OPTIONS_INIT(ash_tree_collect_report)
/* Delete contents that no current or kept version, and no other content, is made of; of all roots
 * in the collection.  Each goes in a commit that looks whether it is still unused.  Other writers
 * wait for one such commit at most.  A principal has to be allowed to read, write and enter this
 * tree's root: ASH_EACCES. */
int ash_tree_collect(ash_tree *tree, const ash_tree_collect_options *opts, const ash_op *op,
                     ash_tree_collect_report *report, ash_error *err);

/* ---- who may ---- */

typedef enum ash_tree_right {
    ASH_TREE_READ = 1,
    ASH_TREE_WRITE = 2,
    ASH_TREE_ENTER = 4 /* v7files' `open`: pass through a folder */
} ash_tree_right;

/* acl: {read: [...], write: [...], open: [...]} of roles, and of users as "user:NAME" (of the database
 * admin) or "user:NAME@DATABASE"; a list that is missing lets nobody; NULL:
 * none of its own, the folder's above counts.  A version, as any change; conditions, fence and
 * changed_by of the options count. */
int ash_tree_set_acl(ash_tree *tree, const char *path, const bson_t *acl,
                     const ash_tree_change_options *opts, const ash_op *op, ash_error *err);
/* The list that counts there; *from as in ash_tree_get_keep().  *acl: initialised on success. */
int ash_tree_get_acl(ash_tree *tree, const char *path, const ash_op *op, bson_t *acl, char **from,
                     ash_error *err);
/* May this principal (NULL: everything) do all of that there?  rights: as a sum.  ASH_EACCES when
 * not; the text says which list refuses. */
int ash_tree_allows(ash_tree *tree, const char *path, const ash_principal *who, unsigned rights,
                    const ash_op *op, ash_error *err);

/* ---- changes as they happen ---- */

typedef enum ash_tree_event_kind {
    ASH_TREE_CREATED = 1, /* new, or undeleted */
    ASH_TREE_CHANGED,     /* a new version in its place */
    ASH_TREE_MOVED,
    ASH_TREE_DELETED
} ash_tree_event_kind;

typedef struct ash_tree_event {
    size_t size;
    ash_tree_event_kind kind;    /* 0: nothing came in time */
    const char *path;            /* where it is now, or was last; valid until the next call */
    const char *from;            /* MOVED: where it was; else NULL */
    const ash_tree_entry *entry; /* as it became, or was last; valid until the next call */
} ash_tree_event;
#define ASH_TREE_EVENT_INIT ASH_OPTIONS_INIT(ash_tree_event)

/* Of path and all below it, from now on.  *out is yours: ash_tree_watch_close(). */
int ash_tree_watch_open(ash_tree *tree, const char *path, const ash_op *op, ash_tree_watch **out,
                        ash_error *err);
/* Waits at most timeout_ms. */
int ash_tree_watch_next(ash_tree_watch *w, int64_t timeout_ms, ash_tree_event *out, ash_error *err);
void ash_tree_watch_close(ash_tree_watch *w);

/* ---- a folder as it was ---- */

/* One change of a folder that becomes what it was, or would.  false stops (ASH_EINTERRUPTED), and
 * what was done stays.  event: borrowed for the call; its entry is of after the change, in a dry run
 * and of what is DELETED of before. */
typedef bool (*ash_tree_event_fn)(void *ctx, const ash_tree_event *event);

typedef struct ash_tree_restore_options {
    size_t size;
    int64_t at_ms; /* the folder as it was then, ms since 1970; must be said */
    bool dry_run;
    const char *changed_by; /* as in ash_tree_change_options, … */
    const ash_fence *fence; /* … likewise, in each commit */
    ash_tree_event_fn each; /* or NULL */
    void *each_ctx;
    ash_finding_fn failed; /* each entry that could not become what it was; or NULL.  facts: {text,
                              kind, path} */
    void *failed_ctx;
} ash_tree_restore_options;
#define ASH_TREE_RESTORE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_restore_options)
typedef struct ash_tree_restore_report {
    size_t size;
    int64_t created; /* came back: undeleted, or copied from then */
    int64_t changed; /* got the contents, type, time and properties of then, as one more version */
    int64_t moved;   /* back, from elsewhere in the folder */
    int64_t deleted; /* made since; a folder with all below it counts once */
    int64_t unchanged; /* files that are as they were; folders are not counted */
    int64_t failed;
} ash_tree_restore_report;
#define ASH_TREE_RESTORE_REPORT_INIT ASH_OPTIONS_INIT(ash_tree_restore_report)
/* The folder at a path, and all below it, become what they were.  What was deleted since is
 * undeleted; what was changed gets one more version; what was moved within the folder moves back,
 * and of what was moved out of it a copy comes back; what was made since, or moved in, is deleted,
 * and can be undeleted.  The folder itself may have been deleted.  Access lists, rules of history
 * and tags stay as they are.
 *
 * Many commits: each changes one entry, if that is still the version that was looked at
 * (ASH_ECONFLICT else); so others may work in the folder meanwhile, and the same call goes on where
 * it was interrupted.  What fails is told and left, and the others go on: ASH_EPARTIAL at the end;
 * when not all of then can be read, nothing is deleted.  Memory does not grow with the folder, but
 * in a dry run with what would be moved.  The report is filled in any case.  ASH_ENOTFOUND: there was no
 * such path then; ASH_EINVAL: it was a file.  ASH_ESTATE: in a transaction. */
int ash_tree_restore_folder(ash_tree *tree, const char *path, const ash_tree_restore_options *opts,
                            const ash_op *op, ash_tree_restore_report *report, ash_error *err);

/* ---- looking after a tree ---- */

typedef struct ash_tree_usage {
    size_t size;
    int64_t folders, files; /* below the path, itself included */
    int64_t bytes;          /* of their current versions */
    int64_t versions;       /* earlier ones of entries that are or were there */
    int64_t version_bytes;
    int64_t contents;     /* of the whole collection, and … */
    int64_t stored_bytes; /* … what they take: what equal contents, deltas and zstd come to */
} ash_tree_usage;
#define ASH_TREE_USAGE_INIT ASH_OPTIONS_INIT(ash_tree_usage)
/* ASH_EPARTIAL: documents that cannot be read were left out, and *out has the others. */
int ash_tree_measure(ash_tree *tree, const char *path, const ash_op *op, ash_tree_usage *out,
                     ash_error *err);

typedef struct ash_tree_check_options {
    size_t size;
    bool without_contents;  /* documents alone: much faster, and finds no rotten bytes */
    ash_finding_fn finding; /* or NULL */
    void *finding_ctx;
    ash_progress_fn progress;
    void *progress_ctx;
} ash_tree_check_options;
#define ASH_TREE_CHECK_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_check_options)
typedef struct ash_tree_check_report {
    size_t size;
    int64_t entries, versions, contents;
    int64_t bytes; /* of contents that were read and gave their digest */
    int64_t findings;
} ash_tree_check_report;
#define ASH_TREE_CHECK_REPORT_INIT ASH_OPTIONS_INIT(ash_tree_check_report)
/* All roots of the collection: metadata that is whole, parents that are there, names that are unique, contents that are
 * there and give their digests, references that are right.  What damage to a content costs is told
 * version by version.  ASH_ECORRUPT: something was found; the report is complete.  A principal has
 * to be allowed to read, write and enter this tree's root, as he is told of everything: ASH_EACCES. */
int ash_tree_check(ash_tree *tree, const ash_tree_check_options *opts, const ash_op *op,
                   ash_tree_check_report *report, ash_error *err);

/* ---- from other trees ---- */

typedef struct ash_tree_import_options {
    size_t size;
    const char *from;     /* the folder whose contents are brought; NULL: the root */
    const char *to;       /* the folder that they come to lie in, made if missing; NULL: the root */
    bool without_history; /* what is there now, and nothing that was */
    bool dry_run;         /* count what would be brought, without reading contents */
    ash_tree_entry_fn
        each; /* each entry, as the source has it, when the first of it has arrived (in
                               a dry run: would); or NULL */
    void *each_ctx;
    ash_finding_fn failed; /* each version or document that is left out; or NULL.  facts: {text,
                              kind, id?, version?, path?} */
    void *failed_ctx;
    ash_progress_fn progress; /* "entries", how many were looked at, 0; or NULL */
    void *progress_ctx;
} ash_tree_import_options;
#define ASH_TREE_IMPORT_OPTIONS_INIT ASH_OPTIONS_INIT(ash_tree_import_options)
typedef struct ash_tree_import_report {
    size_t size;
    int64_t entries;  /* of which something was brought */
    int64_t versions; /* that were, deletions among them */
    int64_t bytes;    /* of their files */
    int64_t skipped;  /* versions that were there already */
    int64_t renamed;  /* entries whose name was taken: NAME (2) */
    int64_t failed;   /* versions and documents that were left out */
} ash_tree_import_report;
#define ASH_TREE_IMPORT_REPORT_INIT ASH_OPTIONS_INIT(ash_tree_import_report)
/* What lies in a folder of one tree, of any generation and on any store, comes to lie in a folder
 * of another that can be written, with its past and what was deleted: ids, versions, dates, names,
 * access lists, marks and fields that nobody here knows stay; contents are put anew, by the
 * target's digest.  The root's own document comes along from root to root.  Not between trees of
 * one collection or one bucket of contents: ASH_EINVAL.
 *
 * Many commits, of several versions each.  A version whose id and number the target has is skipped,
 * so that the same call goes on where it was interrupted, and later brings what came since; an
 * entry that has gone on in the target stays as it is there.  Where v7files let two entries of a
 * folder have one name, the second is called "NAME (2)" from here on.  A version that is damaged is
 * told and left out, the others are brought: ASH_EPARTIAL at the end.  The report is filled in
 * any case.  Over a quota: ASH_ENOSPC, and what came until then stays; quotas are counted anew at the
 * end, which another one that was killed would leave to ash_tree_set_quota(), and the source's do not
 * come along.  to: NULL in a dry run whose target is yet to be made.  ASH_EACCES: with a principal.
 * ASH_ESTATE: in a transaction. */
int ash_tree_import(ash_tree *to, ash_tree *from, const ash_tree_import_options *opts,
                    const ash_op *op, ash_tree_import_report *report, ash_error *err);

#ifdef __cplusplus
}
#endif
#endif
