/* SPDX-License-Identifier: Apache-2.0 */
/* listCollections and listDatabases: the whole list is built at once, from one state. */

#include "store/embedded/catalog/slots.h"

#include "base/budget.h"
#include "bson/builder.h"
#include "query/match/match.h"
#include "store/embedded/kit/embedded.h"
#include "store/embedded/kit/give.h"

#include <string.h>

typedef struct listing {
    ash_embedded *store;
    ash_snapshot *snap;
    const ash_matcher *filter;
    ash_builder docs;
    ash_builder one;
    uint32_t count;
    int rc;
    ash_error *err;
} listing;

static void describe(const listing *l, const ash_coll *c, ash_builder *b)
{
    ash__builder_begin(b);
    ash__builder_text(b, "name", c->name);
    /* A view has no documents, hence neither a UUID nor an index. */
    bool is_view = bson_has_field(&c->options, "viewOn");
    ash__builder_text(b, "type", is_view ? "view" : "collection");
    ash__builder_doc_value(b, "options", ash__doc_from_bson(&c->options));
    ash__builder_begin_doc(b, "info");
    ash__builder_bool(b, "readOnly", is_view || l->store->read_only);
    if (!is_view)
        ash__builder_binary(b, "uuid", BSON_SUBTYPE_UUID, c->uuid, sizeof c->uuid);
    ash__builder_end(b);
    if (!is_view)
        ash__builder_doc_value(b, "idIndex", ash__doc_from_bson(&c->indexes[0].spec));
    ash__builder_end(b);
}

static bool list_one(void *ctx, const ash_coll *c)
{
    listing *l = ctx;
    char name[12];
    describe(l, c, &l->one);
    ash_doc doc = ash__builder_doc(&l->one);
    bool wanted = false;
    /* The filter is on what is shown, so each is described first. */
    l->rc = ash__matcher_check(l->filter, doc, NULL, &wanted, l->err);
    if (wanted)
        ash__builder_doc_value(&l->docs, ash__index_name(l->count++, name), doc);
    return l->rc == 0;
}

int ash__embedded_list_collections(ash_store *store, const char *db, const bson_t *filter,
                                   const ash_op *op, ash_cursor **out, ash_error *err)
{
    listing l = {.store = ash__embedded(store), .err = err};
    ash_env env;
    ash_matcher *m = NULL;
    ash_reading reading = {0};
    bson_t view;
    ash_budget outer = ash__budget_enter(op->deadline_ms, op->cancel, 0);
    int rc = ash__env_init(l.store, op, NULL, NULL, &env, err);
    if (rc == 0)
        rc = ash__matcher_new(filter, &env.query, &m, err);
    if (rc == 0)
        rc = ash__reading_begin(l.store, op, &reading, err);
    if (rc == 0) {
        l.filter = m;
        ash__builder_begin(&l.docs);
        rc = ash__catalog_each(reading.snap, db, list_one, &l, err);
        ash__builder_end(&l.docs);
    }
    if (rc == 0)
        rc = l.rc;
    ash__budget_leave(outer);
    ash__reading_end(&reading);
    if (rc == 0) {
        ash__doc_to_bson(ash__builder_doc(&l.docs), &view);
        *out = ash__cursor_from_array(store, bson_copy(&view));
    }
    ash__builder_release(&l.docs);
    ash__builder_release(&l.one);
    ash__matcher_free(m);
    ash__env_release(&env);
    return rc;
}

/* ---- databases ---- */

typedef struct sizing {
    ash_snapshot *snap;
    uint64_t bytes;
    int rc;
    ash_error *err;
} sizing;

static bool add_size(void *ctx, const ash_coll *c)
{
    sizing *s = ctx;
    ash_coll_stats stats;
    s->rc = ash__coll_stats(s->snap, c, &stats, s->err);
    s->bytes += s->rc == 0 ? stats.storage_bytes : 0;
    return s->rc == 0;
}

typedef struct db_listing {
    ash_snapshot *snap;
    ash_builder b;
    uint32_t count;
    uint64_t total;
    int rc;
    ash_error *err;
} db_listing;

static bool list_db(void *ctx, const char *db)
{
    db_listing *l = ctx;
    sizing s = {.snap = l->snap, .err = l->err};
    char name[12];
    /* There are as many databases as have a collection; none is empty. */
    l->rc = ash__catalog_each(l->snap, db, add_size, &s, l->err);
    if (l->rc == 0)
        l->rc = s.rc;
    if (l->rc != 0)
        return false;
    ash__builder_begin_doc(&l->b, ash__index_name(l->count++, name));
    ash__builder_text(&l->b, "name", db);
    ash__builder_int64(&l->b, "sizeOnDisk", (int64_t)s.bytes);
    ash__builder_bool(&l->b, "empty", false);
    ash__builder_end(&l->b);
    l->total += s.bytes;
    return true;
}

int ash__embedded_list_databases(ash_store *store, const ash_op *op, bson_t *out, ash_error *err)
{
    db_listing l = {.err = err};
    ash_reading reading = {0};
    int rc = ash__reading_begin(ash__embedded(store), op, &reading, err);
    if (rc != 0)
        return rc;
    l.snap = reading.snap;
    ash__builder_begin(&l.b);
    ash__builder_begin_array(&l.b, "databases");
    rc = ash__catalog_each_db(reading.snap, list_db, &l, err);
    ash__builder_end(&l.b);
    ash__builder_int64(&l.b, "totalSize", (int64_t)l.total);
    ash__builder_end(&l.b);
    ash__reading_end(&reading);
    if (rc == 0)
        rc = l.rc;
    if (rc == 0) {
        ash__doc_give(ash__builder_doc(&l.b), out);
    }
    ash__builder_release(&l.b);
    return rc;
}
