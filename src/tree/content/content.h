/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_CONTENT_H
#define ASH_TREE_CONTENT_CONTENT_H

/* Contents of files, kept once under their digest in a bucket (v7files' `v7.fs`).
 *
 * A content's files document has the fields of GridFS, and of v7files `refs`, `refHistory`, `store`
 * and `alt`; docs/FORMAT.md, Trees, has every form.  In short, by `store`:
 *
 *   none, "raw"    the chunks are the content
 *   "z" "gz"       … raw deflate, gzip
 *   "in" "zin"     the bytes, or raw deflate, in the field `in`
 *   "alt"          made of others: alt: [{store: "cat", base: [bytes | {_id, len, off?}]}, …]
 *   "zip"          an entry of a zip archive that is another content
 *   "zstd"         ours: a zstd frame, in the chunks or in `in`; `size` is what comes out
 *   "delta"        ours: the same with a prefix, which others give: base: [{_id, len, off?}];
 *                  `depth` is how many deltas have to be undone, this one included
 *
 * Invariants
 * 1. A content is what its digest says; whoever reads it whole finds out.
 * 2. What a content is made of is there as long as it is: whoever makes one looks in his commit,
 *    whoever deletes one looks in his.
 * 3. A content that a document names is there: the same.
 * 4. `refs` has every current entry that names the content, `refHistory` each that ever did, up to
 *    ASH_REFS_MAX; one more sets `refsMore`, and from then on they are a part of the truth.  Nothing
 *    but v7files' own programs decides by them: what is in use is asked of the documents. */

#include <ashlar/digest.h>
#include <ashlar/store.h>
#include <ashlar/tree.h>

#include "base/buffer.h"
#include "base/error.h"

#define ASH_REFS_MAX 100

/* Adds a length out of a document, where several lies may come to more than there is. */
static inline void ash__add_length(int64_t *sum, int64_t length)
{
    *sum = length > INT64_MAX - *sum ? INT64_MAX : *sum + (length > 0 ? length : 0);
}

/* The digest that names a content.  len: 20 (SHA-1), 32 (SHA-256), 0: none. */
typedef struct ash_content_id {
    uint8_t bytes[32];
    uint8_t len;
} ash_content_id;

/* How a file's document points to its content. */
typedef struct ash_content_ref {
    ash_content_id id; /* len 0: the bytes stand here */
    int64_t length;
    const uint8_t *in; /* v7files' `in`, repeated where length is more; borrowed from whoever made
                          this */
    uint32_t in_len;
} ash_content_ref;

typedef struct ash_contents ash_contents;

typedef struct ash_contents_options {
    const char *db, *bucket; /* not NULL */
    bool last_generation;    /* v7files' last: the collection `bucket` has documents without
                                     chunks; read only */
    ash_digest_kind digest;  /* of new contents */
    int64_t piece_bytes;     /* 0: the default */
    int64_t renew_ms;        /* how often a writer renews his pieces; 0: every ten minutes */
    const char *holders[2];  /* collections whose field `sha` names contents, and which have a
                                sparse index on it: current entries first, then the history */
} ash_contents_options;

int ash__contents_new(ash_store *store, const ash_contents_options *opts, ash_contents **out,
                      ash_error *err);
void ash__contents_free(ash_contents *c);
ash_digest_kind ash__contents_digest(const ash_contents *c);
/* The collection of their documents. */
const char *ash__contents_collection(const ash_contents *c);
/* Indexes on what contents are made of and look like; once per object, before the first write. */
int ash__contents_prepare(ash_contents *c, const ash_op *op, ash_error *err);
/* The same, also when it was done before. */
int ash__contents_prepare_anew(ash_contents *c, const ash_op *op, ash_error *err);

bool ash__content_id_equal(const ash_content_id *a, const ash_content_id *b);
/* `sha` of a document; false: it is no digest. */
bool ash__content_id_read(bson_iter_t *it, ash_content_id *out);
void ash__content_id_hex(const ash_content_id *id, char hex[ASH_DIGEST_TEXT_BYTES]);

/* ---- writing ---- */

/* What is known beforehand. */
typedef struct ash_content_hint {
    ash_content_id before;    /* that the same path had: the first choice as a base */
    const char *filename;     /* of whoever brings it first */
    const char *content_type; /* or NULL */
} ash_content_hint;

/*   open ──add──▶ open ──seal──▶ sealed ──store in a transaction──▶ sealed
 *
 * Nothing names the content before the transaction is committed; what large ones need by then
 * (pieces) is stored earlier, and taken by collection when the writer dies.  A writer holds up to
 * piece_bytes, as much again of what it builds on, and zstd's tables.  Pieces are stored beside the
 * caller, by a thread that the writer's free waits for; seal has them all.
 *
 * When add fails, or seal while it stores pieces, bytes are lost: each later add and seal fails with
 * the same code.  What an add failed with may be about bytes of earlier ones.
 *
 * ASH_EREADONLY: v7files' last generation.  ASH_EUNSUPPORTED: a store without transactions. */
typedef struct ash_content_writer ash_content_writer;
int ash__content_writer_new(ash_contents *c, const ash_content_hint *hint, ash_content_writer **out,
                            ash_error *err);
int ash__content_writer_add(ash_content_writer *w, const void *data, size_t len, const ash_op *op,
                            ash_error *err);
/* No more bytes: the id is known, and how the content will be stored.  Not in a transaction.  Once
 * more after ASH_ECONFLICT from store: looks again whether it is there already, and chooses anew
 * what it is made of; but pieces that were collected meanwhile cannot be made again, and each store
 * is ASH_ECONFLICT then.  What is there but damaged is replaced by store.  ASH_ECORRUPT: there is a
 * SHA-1 content of this id that is another; the row of the one that is there cannot be read; or a
 * list of pieces would take the place of what one of them is made of. */
int ash__content_writer_seal(ash_content_writer *w, const ash_op *op, ash_error *err);
/* Borrowed from the writer. */
void ash__content_writer_ref(const ash_content_writer *w, ash_content_ref *out);
/* Sealed: the content is not there, or damaged, and store makes it. */
bool ash__content_writer_heals(const ash_content_writer *w);
/* In op->transaction, any number of times: afterwards the content is there and has the owner.
 * Five requests at most (nine where one is replaced, seven where one that is named comes back), with 2 MiB of chunks.  What was there before
 * was compared byte by byte, except that a list of just the pieces that came is taken for what they
 * come to.  ASH_ECONFLICT: what it builds on went since it was sealed, or it came or went. */
int ash__content_writer_store(ash_content_writer *w, const bson_value_t *owner, const ash_op *op,
                              ash_error *err);
void ash__content_writer_free(ash_content_writer *w);

/* ---- who has it ---- */

typedef struct ash_content_use {
    ash_content_id id;
    const bson_value_t *owner; /* _id of the entry */
} ash_content_use;

/* In op->transaction: each content is there, and has the owner.  ASH_ECONFLICT naming one that
 * is not. */
int ash__contents_hold(ash_contents *c, const ash_content_use *uses, size_t count, const ash_op *op,
                       ash_error *err);
/* In op->transaction: the owners do not use them any more; refHistory remembers. */
int ash__contents_let_go(ash_contents *c, const ash_content_use *uses, size_t count,
                         const ash_op *op, ash_error *err);
/* The same of files that have a newer content, in which what comes is found to be alike: what nobody
 * has any more then is no longer looked for. */
int ash__contents_go_on(ash_contents *c, const ash_content_use *uses, size_t count,
                        const ash_op *op, ash_error *err);

typedef enum ash_content_standing {
    ASH_CONTENT_THERE,
    ASH_CONTENT_UNLISTED, /* it is there, but its refs, which are complete, lack the owner */
    ASH_CONTENT_MISSING
} ash_content_standing;
/* standings[i], for each of them. */
int ash__contents_look_up(ash_contents *c, const ash_content_use *uses, size_t count,
                          ash_content_standing *standings, const ash_op *op, ash_error *err);

/* ---- reading ---- */

/* The one content whose digest begins with these hexadecimal digits, four at least.  ASH_EINVAL:
 * there are several, or they are none.  *out borrows nothing. */
int ash__contents_by_digest(ash_contents *c, const char *digits, const ash_op *op,
                            ash_content_ref *out, ash_error *err);

typedef struct ash_content_reader ash_content_reader;
/* Not in a transaction: ASH_ESTATE.  verify: compare the digest when everything was read in one go, from the first byte to the last.
 * ref->in is copied.  ASH_ECORRUPT: the content, or one that it is made of, is missing or cannot
 * be; the text names both. */
int ash__content_open(ash_contents *c, const ash_content_ref *ref, bool verify, const ash_op *op,
                      ash_content_reader **out, ash_error *err);
int64_t ash__content_reader_length(const ash_content_reader *r);
int ash__content_reader_read(ash_content_reader *r, void *buf, size_t len, size_t *got,
                             ash_error *err);
int ash__content_reader_seek(ash_content_reader *r, int64_t position, ash_error *err);
void ash__content_reader_free(ash_content_reader *r);

/* As ash_tree_probe(). */
int ash__content_probe(ash_contents *c, const ash_content_id *id, const ash_op *op, ash_error *err);

/* ---- care ---- */

/* As ash_tree_collect(). */
int ash__contents_collect(ash_contents *c, const ash_tree_collect_options *opts, const ash_op *op,
                          ash_tree_collect_report *report, ash_error *err);

/* ASH_ECORRUPT: rows of the store's metadata are damaged, so that what seems not to be there may be.
 * 0 also where nobody can say. */
int ash__contents_require_sound(ash_contents *c, ash_error *err);

typedef struct ash_contents_sum {
    int64_t contents;
    int64_t stored_bytes;
} ash_contents_sum;
int ash__contents_measure(ash_contents *c, const ash_op *op, ash_contents_sum *out, ash_error *err);

/* Told of each content that cannot be read (id.len 0: nobody knows which it is), and of each that
 * stands on one (because: of whom; NULL: by itself).  Returns 0 to go on. */
typedef struct ash_content_verdict {
    ash_content_id id;
    const ash_content_id *because;
    const char *text;
} ash_content_verdict;
typedef int (*ash_content_verdict_fn)(void *ctx, const ash_content_verdict *verdict,
                                      ash_error *err);
/* Every content: what it is made of is there, (refs) no entry is among its refs that does not have
 * it, and (deep) its bytes give its digest.  0 also when something was told.  *checked: how many; *bytes: that were read. */
typedef struct ash_contents_check {
    bool deep, refs;
    ash_content_verdict_fn tell;
    void *ctx;
    int64_t checked, bytes; /* results */
} ash_contents_check;
int ash__contents_check(ash_contents *c, ash_contents_check *check, const ash_op *op,
                        ash_error *err);

#endif
