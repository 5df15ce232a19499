/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_DOCS_COMMIT_H
#define ASH_OBJECT_DOCS_COMMIT_H

/* The commit of a change: one transaction, which begins with the store's document and ends with
 * writing it.  Everything that a change decides by is looked at in it, and it may run again. */

#include "object/docs/docs.h"

typedef struct ash_docs_commit {
    ash_docs *store;
    ash_op op;      /* with the transaction */
    int64_t now_ms; /* of the store's clock; the same in each run */
    const ash_object_change_options *opts;
    bool care; /* what is no change for users: also of a sealed store, and no new revision */
    ash_docs_config config; /* as the transaction sees it */
    int64_t revision;       /* of this change */
    int64_t bytes, objects; /* what it adds */
    bool unchanged;         /* the function found nothing to do: there is no new revision */
} ash_docs_commit;

typedef int (*ash_docs_commit_fn)(ash_docs_commit *c, void *ctx, ash_error *err);

typedef struct ash_docs_change {
    const ash_object_change_options *opts; /* NULL: none */
    const ash_op *op;
    bool care;
    ash_docs_commit_fn fn;
    void *ctx;
} ash_docs_change;

/* In a transaction of its own, or in op's, which a failure then breaks.  Over a limit, what has
 * expired makes room, and it is tried again. */
int ash__docs_commit(ash_docs *s, const ash_docs_change *change, ash_error *err);

/* ---- in the commit ---- */

/* if_revision, if_absent and the fence, of the object that the name has; NULL: none. */
int ash__commit_check(ash_docs_commit *c, const ash_object *old, ash_error *err);
/* mtime and revision of this commit, and when it expires, by its own and the store's time to live. */
void ash__commit_stamp(ash_docs_commit *c, bson_t *set);
void ash__commit_stamp_expiry(ash_docs_commit *c, int64_t ttl_ms, bson_t *set);
/* `object` takes the place of `old` (NULL: there is none), which becomes a version or goes, unless
 * it is over already.  The name is the same. */
int ash__commit_replace(ash_docs_commit *c, const ash_object *old, const ash_object *object,
                        ash_error *err);
/* The name is gone: what it had becomes a version, or goes; its bytes stay if `heir` has them. */
int ash__commit_vacate(ash_docs_commit *c, const ash_object *old, const ash_object *heir,
                       ash_error *err);
/* Without a version, whatever is kept. */
int ash__commit_forget(ash_docs_commit *c, const ash_object *old, ash_error *err);
/* An earlier version, and its bytes unless others have them. */
int ash__commit_forget_version(ash_docs_commit *c, const ash_object *version, ash_error *err);
/* The file, unless an object or a version has it.  *gone (may be NULL): nobody had it. */
int ash__commit_drop_bytes(ash_docs_commit *c, const char *nuid, bool *gone, ash_error *err);
/* Has an object or a version bytes of that NUID in an archive? */
int ash__commit_needs_archived(ash_docs_commit *c, const char *nuid, bool *out, ash_error *err);
/* Drivers find the bytes by the name, too. */
int ash__commit_rename_bytes(ash_docs_commit *c, const ash_object *o, ash_error *err);
/* Only the document, in its place. */
int ash__commit_rewrite(ash_docs_commit *c, const ash_object *old, const ash_object *object,
                        ash_error *err);

/* What an object's document and bytes count for. */
int64_t ash__docs_cost(const ash_object *o);
bool ash__docs_has_bytes(const ash_object *o); /* a file of its nuid */
/* What has the file; bson_destroy(). */
bson_t *ash__docs_filter_bytes(const char *nuid);
bool ash__docs_keeps(const ash_object_config *c); /* versions */

#define ASH_FIELD_STORED "stored" /* bytes of the file, where that is not the size */

#endif
