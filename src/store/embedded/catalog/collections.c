/* SPDX-License-Identifier: Apache-2.0 */
/* Collections are made, dropped and renamed on the writer, each with its entry in the change log in
 * the same apply. */

#include "store/embedded/catalog/slots.h"

#include "store/embedded/catalog/coll_options.h"
#include "store/embedded/kit/oplog.h"
#include "store/embedded/kit/view.h"
#include "store/ops.h"

#include <string.h>

/* A database may have thousands, and other writers wait behind a turn. */
#define DROPS_PER_TURN 100

typedef struct naming {
    ash_ns ns;
    ash_ns to; /* of a rename */
    bool drop_target;
    const bson_t *options;
    uint32_t dropped; /* in this turn */
    uint64_t total;
} naming;

/* ---- create ---- */

static int create_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    const naming *n = ctx;
    const ash_coll *c = NULL;
    int rc = ash__catalog_find(ash__writer_snapshot(w), n->ns.db, n->ns.coll, &c, err);
    if (rc != 0)
        return rc;
    if (c == NULL)
        return ash__oplog_create(w, n->ns, n->options, &c, err);
    /* As in MongoDB: to make what is there is no error. */
    if (ash__coll_options_equal(&c->options, n->options))
        return 0;
    return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_NAMESPACE_EXISTS,
                            "Collection %s.%s already exists, with other options", n->ns.db,
                            n->ns.coll);
}

int ash__embedded_create(ash_store *store, ash_ns ns, const bson_t *options, const ash_op *op,
                         ash_error *err)
{
    bson_t kept;
    int rc = ash__coll_options_parse(options, &kept, err);
    if (rc != 0)
        return rc;
    naming n = {.ns = ns, .options = &kept};
    ash_write_terms terms = {.op = op, .flags = ASH_APPLY_ATOMIC};
    rc = ash__write_run(ash__embedded(store), &terms, create_on_writer, &n, err);
    bson_destroy(&kept);
    return rc;
}

/* ---- drop ---- */

static int drop_coll(ash_writer *w, const ash_coll *c, ash_error *err)
{
    /* First, since the collection's names end with it. */
    ash_change change = {.kind = ASH_CHANGE_DROP, .db = c->db, .coll = c};
    int rc = ash__oplog_write(w, &change, err);
    return rc == 0 ? ash__catalog_drop(w, c, err) : rc;
}

static int drop_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    const naming *n = ctx;
    const ash_coll *c = NULL;
    int rc = ash__catalog_find(ash__writer_snapshot(w), n->ns.db, n->ns.coll, &c, err);
    if (rc != 0)
        return rc;
    if (c == NULL)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                                "ns not found %s.%s", n->ns.db, n->ns.coll);
    return drop_coll(w, c, err);
}

int ash__embedded_drop(ash_store *store, ash_ns ns, const ash_op *op, ash_error *err)
{
    naming n = {.ns = ns};
    ash_write_terms terms = {.op = op, .flags = ASH_APPLY_ATOMIC};
    return ash__write_run(ash__embedded(store), &terms, drop_on_writer, &n, err);
}

static bool take_first(void *ctx, const ash_coll *c)
{
    *(const ash_coll **)ctx = c;
    return false;
}

static int drop_some(ash_writer *w, void *ctx, ash_error *err)
{
    naming *n = ctx;
    n->dropped = 0;
    for (; n->dropped < DROPS_PER_TURN; n->dropped++) {
        const ash_coll *c = NULL;
        int rc = ash__catalog_each(ash__writer_snapshot(w), n->ns.db, take_first, &c, err);
        if (rc == 0 && c != NULL)
            rc = drop_coll(w, c, err);
        if (rc != 0)
            return rc;
        if (c == NULL)
            break;
    }
    n->total += n->dropped;
    /* Told with the last turn, and not of a database that was not there. */
    if (n->total == 0 || n->dropped == DROPS_PER_TURN)
        return 0;
    ash_change change = {.kind = ASH_CHANGE_DROP_DATABASE, .db = n->ns.db};
    return ash__oplog_write(w, &change, err);
}

int ash__embedded_drop_database(ash_store *store, const char *db, const ash_op *op, ash_error *err)
{
    naming n = {.ns.db = db};
    ash_write_terms terms = {.op = op, .flags = ASH_APPLY_ATOMIC};
    int rc;
    do
        rc = ash__write_run(ash__embedded(store), &terms, drop_some, &n, err);
    while (rc == 0 && n.dropped == DROPS_PER_TURN);
    return rc;
}

/* ---- rename ---- */

static int log_rename(ash_writer *w, const naming *n, const ash_coll *from, const ash_coll *target,
                      ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, "to");
    ash__builder_text(&b, "db", n->to.db);
    ash__builder_text(&b, "coll", n->to.coll);
    ash__builder_end(&b);
    if (target != NULL)
        ash__builder_binary(&b, "dropTarget", BSON_SUBTYPE_UUID, target->uuid, 16);
    ash__builder_end(&b);
    ash_change change = {.kind = ASH_CHANGE_RENAME,
                         .db = n->ns.db,
                         .coll = from,
                         .details = ash__builder_doc(&b),
                         .to_db = n->to.db,
                         .to_coll = n->to.coll};
    int rc = ash__oplog_write(w, &change, err);
    ash__builder_release(&b);
    return rc;
}

static int rename_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    const naming *n = ctx;
    const ash_coll *from = NULL;
    const ash_coll *to = NULL;
    ash_snapshot *snap = ash__writer_snapshot(w);
    int rc = ash__catalog_find(snap, n->ns.db, n->ns.coll, &from, err);
    if (rc == 0)
        rc = ash__catalog_find(snap, n->to.db, n->to.coll, &to, err);
    if (rc != 0)
        return rc;
    if (from == NULL)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                                "Source collection %s.%s does not exist", n->ns.db, n->ns.coll);
    rc = ash__view_refuse(from, err);
    if (rc == 0)
        /* Only the new name: what has a bad one can be given a better one. */
        rc = ash__namespace_check_new(n->to.db, n->to.coll, err);
    if (rc != 0)
        return rc;
    /* Pointers into one catalogue: the same collection. */
    if (from == to)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_ILLEGAL_OPERATION,
                                "Can't rename a collection to itself");
    if (to != NULL && !n->drop_target)
        return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_NAMESPACE_EXISTS,
                                "target namespace exists");
    /* Before the names change, which the entry tells both of. */
    rc = log_rename(w, n, from, to, err);
    /* What is replaced by a rename is no drop of its own. */
    if (rc == 0 && to != NULL) {
        rc = ash__catalog_drop(w, to, err);
        if (rc == 0)
            rc = ash__catalog_find(snap, n->ns.db, n->ns.coll, &from, err);
    }
    return rc == 0 ? ash__catalog_rename(w, from, n->to.db, n->to.coll, err) : rc;
}

int ash__embedded_rename(ash_store *store, ash_ns ns, ash_ns to, bool drop_target, const ash_op *op,
                         ash_error *err)
{
    naming n = {.ns = ns, .to = to, .drop_target = drop_target};
    ash_write_terms terms = {.op = op, .flags = ASH_APPLY_ATOMIC};
    return ash__write_run(ash__embedded(store), &terms, rename_on_writer, &n, err);
}
