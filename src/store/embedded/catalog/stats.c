/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, from the sums that the engine keeps: nothing is counted here. */

#include "store/embedded/catalog/slots.h"

#include "bson/builder.h"
#include "store/embedded/kit/embedded.h"
#include "store/embedded/kit/give.h"

/* Sums over a database, or over one collection. */
typedef struct totals {
    ash_snapshot *snap;
    int64_t collections;
    int64_t objects;
    int64_t data;
    int64_t storage;
    int64_t indexes;
    int64_t index_bytes;
    int rc;
    ash_error *err;
} totals;

static bool add_collection(void *ctx, const ash_coll *c)
{
    totals *t = ctx;
    ash_coll_stats stats;
    t->rc = ash__coll_stats(t->snap, c, &stats, t->err);
    t->collections++;
    t->objects += (int64_t)stats.count;
    t->data += (int64_t)stats.data_bytes;
    t->storage += (int64_t)stats.storage_bytes;
    for (uint32_t i = 0; t->rc == 0 && i < c->index_count; i++) {
        uint64_t keys;
        uint64_t bytes;
        t->rc = ash__index_stats(t->snap, &c->indexes[i], &keys, &bytes, t->err);
        t->indexes++;
        t->index_bytes += t->rc == 0 ? (int64_t)bytes : 0;
    }
    return t->rc == 0;
}

static void append_average(ash_builder *b, const totals *t)
{
    ash__builder_double(b, "avgObjSize", t->objects > 0 ? (double)t->data / (double)t->objects : 0);
}

static void append_disk(const ash_embedded *s, int64_t scale, ash_builder *b)
{
    uint64_t bytes, used;
    if (!ash__engine_disk(s->engine, &bytes, &used))
        return;
    ash__builder_double(b, "fsUsedSize", (double)((int64_t)used / scale));
    ash__builder_double(b, "fsTotalSize", (double)((int64_t)bytes / scale));
}

static int db_stats(ash_embedded *s, ash_snapshot *snap, const char *db, int64_t scale,
                    ash_builder *b, ash_error *err)
{
    totals t = {.snap = snap, .err = err};
    int rc = ash__catalog_each(snap, db, add_collection, &t, err);
    if (rc == 0)
        rc = t.rc;
    ash__builder_text(b, "db", db);
    ash__builder_int64(b, "collections", t.collections);
    ash__builder_int64(b, "views", 0);
    ash__builder_int64(b, "objects", t.objects);
    append_average(b, &t);
    ash__builder_double(b, "dataSize", (double)(t.data / scale));
    ash__builder_double(b, "storageSize", (double)(t.storage / scale));
    ash__builder_int64(b, "indexes", t.indexes);
    ash__builder_double(b, "indexSize", (double)(t.index_bytes / scale));
    ash__builder_double(b, "totalSize", (double)((t.storage + t.index_bytes) / scale));
    ash__builder_double(b, "scaleFactor", (double)scale);
    append_disk(s, scale, b);
    return rc;
}

static int append_index_sizes(ash_snapshot *snap, const ash_coll *c, int64_t scale, ash_builder *b,
                              ash_error *err)
{
    int rc = 0;
    ash__builder_begin_doc(b, "indexSizes");
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++) {
        uint64_t keys = 0;
        uint64_t bytes = 0;
        rc = ash__index_stats(snap, &c->indexes[i], &keys, &bytes, err);
        ash__builder_int64(b, c->indexes[i].name, (int64_t)bytes / scale);
    }
    ash__builder_end(b);
    return rc;
}

static int coll_stats(ash_snapshot *snap, ash_ns ns, int64_t scale, ash_builder *b, ash_error *err)
{
    totals t = {.snap = snap, .err = err};
    const ash_coll *c = NULL;
    char *name = ash__sprintf("%s.%s", ns.db, ns.coll);
    ash__builder_text(b, "ns", name);
    ash__free(name);
    int rc = ash__catalog_find(snap, ns.db, ns.coll, &c, err);
    /* Of a collection that is not there all sizes are 0, as in MongoDB. */
    if (rc == 0 && c != NULL) {
        add_collection(&t, c);
        rc = t.rc;
    }
    ash__builder_int64(b, "size", t.data / scale);
    ash__builder_int64(b, "count", t.objects);
    if (t.objects > 0)
        ash__builder_int64(b, "avgObjSize", t.data / t.objects);
    ash__builder_int64(b, "storageSize", t.storage / scale);
    /* Free space is the segments', which all collections share. */
    ash__builder_int64(b, "freeStorageSize", 0);
    ash__builder_bool(b, "capped", c != NULL && c->capped);
    if (c != NULL && c->capped) {
        ash__builder_int64(b, "max", c->capped_docs);
        ash__builder_int64(b, "maxSize", c->capped_bytes / scale);
    }
    ash__builder_int64(b, "nindexes", t.indexes);
    ash__builder_int64(b, "totalIndexSize", t.index_bytes / scale);
    ash__builder_int64(b, "totalSize", (t.storage + t.index_bytes) / scale);
    if (rc == 0 && c != NULL)
        rc = append_index_sizes(snap, c, scale, b, err);
    ash__builder_int64(b, "scaleFactor", scale);
    return rc;
}

static void append_damage(ash_embedded *s, ash_builder *b)
{
    ash_damage damage;
    ash__engine_damage(s->engine, &damage);
    ash__builder_begin_doc(b, "damage");
    ash__builder_bool(b, "looked", damage.censuses);
    ash__builder_int64(b, "findings", (int64_t)damage.findings);
    ash__builder_bool(b, "writable", !damage.structure);
    if (damage.findings > 0)
        ash__builder_text(b, "first", damage.first);
    ash__builder_end(b);
}

static int store_stats(ash_embedded *s, int64_t scale, ash_builder *b, ash_error *err)
{
    ash_engine_stats e;
    /* The unit of space in segments. */
    const int64_t block = 4096;
    int rc = ash__engine_stats(s->engine, &e, err);
    /* What is known of damage is told, whatever cannot be read because of it. */
    if (rc != 0 && rc != ASH_ECORRUPT)
        return rc;
    ash__builder_begin_doc(b, "storageEngine");
    ash__builder_text(b, "name", "ashlar");
    ash__builder_bool(b, "readOnly", s->read_only);
    ash__builder_bool(b, "persistent", true);
    ash__builder_end(b);
    ash__builder_begin_doc(b, "ashlar");
    ash__builder_int64(b, "commits", (int64_t)e.commits);
    ash__builder_int64(b, "applies", (int64_t)e.applies);
    ash__builder_int64(b, "snapshots", (int64_t)e.snapshots);
    ash__builder_int64(b, "losses", (int64_t)ash__engine_losses(s->engine));
    ash__builder_int64(b, "segmentFiles", (int64_t)e.segment_files);
    ash__builder_int64(b, "segmentBytes", (int64_t)e.segment_blocks * block / scale);
    ash__builder_int64(b, "usedBytes", (int64_t)e.used_blocks * block / scale);
    ash__builder_int64(b, "freeBytes", (int64_t)e.free_blocks * block / scale);
    ash__builder_int64(b, "heldBytes", (int64_t)e.held_blocks * block / scale);
    ash__builder_int64(b, "metaBytes", (int64_t)e.meta_bytes / scale);
    ash__builder_int64(b, "metaUsedBytes", (int64_t)e.meta_used_bytes / scale);
    ash__builder_int64(b, "pins", (int64_t)e.pins);
    ash__builder_int64(b, "oplogBytes", (int64_t)e.oplog_bytes / scale);
    append_damage(s, b);
    ash__builder_end(b);
    return 0;
}

int ash__embedded_stats(ash_store *store, ash_ns ns, int64_t scale, const ash_op *op, bson_t *out,
                        ash_error *err)
{
    ash_embedded *s = ash__embedded(store);
    ash_reading reading = {0};
    ash_builder b = ASH_BUILDER_INIT;
    if (scale < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "scale has to be at least 1");
    scale = scale == 0 ? 1 : scale;
    ash__builder_begin(&b);
    int rc = ns.db != NULL ? ash__reading_begin(s, op, &reading, err) : 0;
    if (rc == 0 && ns.db == NULL)
        rc = store_stats(s, scale, &b, err);
    else if (rc == 0 && ns.coll == NULL)
        rc = db_stats(s, reading.snap, ns.db, scale, &b, err);
    else if (rc == 0)
        rc = coll_stats(reading.snap, ns, scale, &b, err);
    ash__reading_end(&reading);
    ash__builder_end(&b);
    if (rc == 0) {
        ash__doc_give(ash__builder_doc(&b), out);
    }
    ash__builder_release(&b);
    return rc;
}
