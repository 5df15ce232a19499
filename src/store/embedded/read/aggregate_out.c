/* SPDX-License-Identifier: Apache-2.0 */
/* $out: the documents go into a collection of another name, which takes the target's place when all
 * of them are on disk. */

#include "store/embedded/read/aggregate.h"

#include "store/embedded/catalog/slots.h"
#include "store/embedded/read/views.h"
#include "store/embedded/write/slots.h"

#define BATCH_DOCS  500
#define BATCH_BYTES ((size_t)4 << 20)

/* $out writes a collection of its own and puts it into the target's place when it is whole, so that
 * the target is the old one or the new one, and may be the one being read. */
typedef struct output {
    ash_agg_host *host;
    ash_ns ns;   /* the target */
    ash_ns temp; /* beside it, until it is whole */
    ash_op op;   /* what is on disk is decided once, by the rename */
    ash_buffer bytes;
    ash_doc docs[BATCH_DOCS];
    size_t count;
} output;

/* The target's options and indexes: the new collection inherits them. */
static int copy_shape(output *o, ash_error *err)
{
    ash_reading reading = {0};
    const ash_coll *c = NULL;
    bson_t options = BSON_INITIALIZER;
    bson_t reply;
    ash_builder specs = ASH_BUILDER_INIT;
    char name[12];
    bson_t view;
    bool has_indexes = false;
    ash_store *store = &o->host->store->base;
    ash__builder_begin(&specs);
    int rc = ash__reading_begin(o->host->store, &o->op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, o->ns.db, o->ns.coll, &c, err);
    if (rc == 0)
        rc = ash__view_refuse(c, err);
    if (rc == 0 && c != NULL) {
        bson_concat(&options, &c->options);
        /* The first is the index on _id, which is made with the collection. */
        for (uint32_t i = 1; i < c->index_count; i++)
            ash__builder_doc_value(&specs, ash__index_name(i - 1, name),
                                   ash__doc_from_bson(&c->indexes[i].spec));
        has_indexes = c->index_count > 1;
        if (c->capped)
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_OUT_TO_CAPPED,
                                  "namespace '%s.%s' is capped so it can't "
                                  "be used for $out",
                                  o->ns.db, o->ns.coll);
    }
    ash__builder_end(&specs);
    ash__reading_end(&reading);
    if (rc == 0)
        rc = ash__embedded_create(store, o->temp, &options, &o->op, err);
    if (rc == 0 && has_indexes) {
        ash__doc_to_bson(ash__builder_doc(&specs), &view);
        rc = ash__embedded_create_indexes(store, o->temp, &view, &o->op, &reply, err);
        if (rc == 0)
            bson_destroy(&reply);
    }
    ash__builder_release(&specs);
    bson_destroy(&options);
    return rc;
}

static int flush(output *o, ash_error *err)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    ash_write_result result;
    size_t offset = 0;
    ash_doc_list list = {o->docs, o->count};
    opts.op = o->op;
    for (size_t i = 0; i < o->count; i++) {
        /* The buffer may have moved while it grew. */
        o->docs[i].data = o->bytes.data + offset;
        offset += o->docs[i].len;
    }
    ash_write_result_init(&result);
    int rc = ash__embedded_insert(&o->host->store->base, o->temp, &list, &opts, &result, err);
    ash_write_result_release(&result);
    ash__buffer_clear(&o->bytes);
    o->count = 0;
    return rc;
}

static int copy_documents(output *o, ash_source *input, ash_error *err)
{
    for (;;) {
        ash_doc doc;
        int rc = ash__op_check(&o->op, err);
        if (rc == 0)
            rc = input->next(input->ctx, &doc, err);
        if (rc != 0)
            return rc;
        if (doc.data == NULL)
            return o->count > 0 ? flush(o, err) : 0;
        ash__buffer_append(&o->bytes, doc.data, doc.len);
        o->docs[o->count++].len = doc.len;
        if (o->count == BATCH_DOCS || o->bytes.len >= BATCH_BYTES) {
            rc = flush(o, err);
            if (rc != 0)
                return rc;
        }
    }
}

int ash__agg_out(ash_agg_host *h, ash_value spec, ash_source *input, ash_error *err)
{
    output *o = ash__new(output);
    bson_oid_t oid;
    char hex[25];
    ash_store *store = &h->store->base;
    o->host = h;
    o->op = h->op;
    o->op.durability = ASH_DURABILITY_INTERVAL;
    bson_oid_init(&oid, NULL);
    bson_oid_to_string(&oid, hex);
    char *name = ash__sprintf("tmp.agg_out.%s", hex);
    uint64_t losses = ash__engine_losses(h->store->engine);
    int rc = ash__agg_namespace(h, spec, &o->ns, err);
    if (rc == 0) {
        o->temp = (ash_ns){o->ns.db, name};
        rc = copy_shape(o, err);
        if (rc == 0)
            rc = copy_documents(o, input, err);
        if (rc == 0)
            /* Before the rename: what took the target's place must not lose documents to a crash.
             */
            rc = ash__engine_flush(h->store->engine, h->op.deadline_ms, err);
        if (rc == 0)
            rc = ash__losses_check(h->store, losses, err);
        if (rc == 0)
            rc = ash__embedded_rename(store, o->temp, o->ns, true, &h->op, err);
        if (rc != 0) {
            /* Without the caller's deadline, which may be what ended it; and nobody waits for a
             * drop. */
            ash_op undo = {.size = sizeof(ash_op), .durability = ASH_DURABILITY_INTERVAL};
            ash__embedded_drop(store, o->temp, &undo, NULL);
        }
    }
    ash__buffer_release(&o->bytes);
    ash__free(name);
    ash__free(o);
    return rc;
}
