/* SPDX-License-Identifier: Apache-2.0 */
#include "lock/lock.h"

#include "base/mem.h"

/* token = base + reads + writes of the lock document.
 *
 * reads + writes grows by one with every grant, whoever grants.  base is what keeps it growing when
 * the document was removed and made anew: ROOT.lockseq {_id: "tokens", high: int64} hands out
 * ranges [base, ceil) that never overlap, and a token is used only if it lies in the range of its
 * document.  A range is taken when the document is there, never in advance: one that was reserved
 * before an earlier document of the same file was removed would be lower than that one's.
 *
 * It is taken when a token is first asked for, not at the grant, since many locks are never asked:
 * which number a grant has in its document is settled by the grant, and the base is the same for
 * all of them, however late it comes. */
#define RANGE ((int64_t)1 << 20)

typedef struct range {
    int64_t base, ceil;
} range;

static int reserve(ash_lock_collection *c, int64_t count, range *out, ash_error *err)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER, change = BSON_INITIALIZER, doc;
    bool found;
    int rc, tries = 0;
    BSON_APPEND_UTF8(&filter, "_id", "tokens");
    BCON_APPEND(&change, "$inc", "{", "high", BCON_INT64(count), "}");
    const bson_value_t update = ash__lock_view(&change, BSON_TYPE_DOCUMENT);
    o.op = ash__lock_op(c);
    o.update = &update;
    o.upsert = true;
    o.return_new = true;
    do { /* two that make the first document at once: one of them finds it made */
        rc = ash_collection_find_and_modify(c->sequence, &filter, &o, &doc, &found, NULL, err);
    } while (rc == ASH_EEXISTS && ++tries < 10);
    bson_destroy(&filter);
    bson_destroy(&change);
    if (rc != 0)
        return rc;
    out->ceil = ash__lock_int(&doc, "high");
    out->base = out->ceil - count;
    bson_destroy(&doc);
    return 0;
}

/* Give the document a range, unless somebody was faster; then that one's counts, and *doc is left
 * alone. */
static int set_range(ash_lock_collection *c, const ash_lock_grant *g, const bson_value_t *old_base,
                     const range *r, bson_t **doc, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, change = BSON_INITIALIZER, now;
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bool found = false;
    /* By the grant, so that a range for a removed document goes to no other. */
    ash__lock_ownership(g, &filter);
    if (old_base != NULL)
        ash__lock_filter_id(&filter, "base", old_base);
    else
        BSON_APPEND_NULL(&filter, "base");
    BCON_APPEND(&change, "$set", "{", "base", BCON_INT64(r->base), "ceil", BCON_INT64(r->ceil),
                "}");
    const bson_value_t update = ash__lock_view(&change, BSON_TYPE_DOCUMENT);
    o.op = ash__lock_op(c);
    o.update = &update;
    o.return_new = true;
    int rc = ash_collection_find_and_modify(c->locks, &filter, &o, &now, &found, NULL, err);
    if (rc == 0 && found)
        *doc = bson_copy(&now);
    if (rc == 0)
        bson_destroy(&now);
    bson_destroy(&filter);
    bson_destroy(&change);
    return rc;
}

/* Only while the grant stands: a base that was raised for a later one would put this one above it. */
static int read_again(ash_lock_collection *c, const ash_lock_grant *g, bson_t **doc, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, now;
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    o.op = ash__lock_op(c);
    ash__lock_ownership(g, &filter);
    int rc = ash_collection_find_one(c->locks, &filter, &o, &now, err);
    bson_destroy(&filter);
    if (rc == 0) {
        *doc = bson_copy(&now);
        bson_destroy(&now);
    }
    if (rc == ASH_ENOTFOUND)
        rc = ash__fail(err, ASH_ELOST, "%s lock was taken over since it was granted",
                       g->write ? "write" : "read");
    return rc;
}

int ash__lock_find_token(ash_lock_collection *c, ash_lock_grant *g, ash_error *err)
{
    bson_t *doc = g->doc != NULL ? bson_copy(g->doc) : NULL;
    int rc = doc != NULL ? 0 : read_again(c, g, &doc, err);
    for (int tries = 0; rc == 0; tries++) {
        bson_iter_t at;
        int64_t base = 0;
        range fresh;
        bool known = bson_iter_init_find(&at, doc, "base") && BSON_ITER_HOLDS_NUMBER(&at);
        if (known)
            base = bson_iter_as_int64(&at);
        if (known && base + g->count < ash__lock_int(doc, "ceil")) {
            g->token = base + g->count;
            break;
        }
        /* Each round means that somebody set a range in between, and it did not do either. */
        if (tries > 4) {
            rc = ash__fail(err, ASH_ECONFLICT, "lock document is remade all the time");
            break;
        }
        bson_t *next = NULL;
        /* `count` more than a range: base + count, with which this document begins, is in it. */
        rc = reserve(c, RANGE + g->count, &fresh, err);
        if (rc == 0)
            rc = set_range(c, g, known ? bson_iter_value(&at) : NULL, &fresh, &next, err);
        bson_destroy(doc);
        doc = next;
        if (rc == 0 && doc == NULL)
            rc = read_again(c, g, &doc, err);
    }
    if (doc != NULL)
        bson_destroy(doc);
    return rc;
}
