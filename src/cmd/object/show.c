/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/object/room.h"

#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

/* Stored, a field is called as the ADR has it; in --json all words are joined as elsewhere. */
static void append_options(const bson_iter_t *options, bson_t *out)
{
    bson_t inner;
    bson_iter_t it;
    BSON_APPEND_DOCUMENT_BEGIN(out, "options", &inner);
    if (bson_iter_recurse(options, &it))
        while (bson_iter_next(&it)) {
            bool size = strcmp(bson_iter_key(&it), "max_chunk_size") == 0;
            bson_append_iter(&inner, size ? "maxChunkSize" : NULL, size ? -1 : 0, &it);
        }
    bson_append_document_end(out, &inner);
}

void ash__cmd_object_json(const ash_object *o, bson_t *out)
{
    ash_doc doc = ash_object_document(o);
    bson_iter_t it;
    if (!bson_iter_init_from_data(&it, doc.data, doc.len))
        return;
    while (bson_iter_next(&it)) {
        if (strcmp(bson_iter_key(&it), "options") == 0 && BSON_ITER_HOLDS_DOCUMENT(&it))
            append_options(&it, out);
        else
            bson_append_iter(out, NULL, 0, &it);
    }
}

bool ash__cmd_object_emit(const ash_cmd_object_run *r, const ash_object *o)
{
    bson_t out = BSON_INITIALIZER;
    if (r->cmd->json) {
        ash__cmd_object_json(o, &out);
        ash__cmd_emit(&out);
    }
    bson_destroy(&out);
    return r->cmd->json;
}

static void field(const char *name, const char *value)
{
    char *shown = ash__cmd_printable(value);
    printf("%14s: %s\n", name, shown);
    ash__free(shown);
}

static void number(const char *name, int64_t value)
{
    printf("%14s: %" PRId64 "\n", name, value);
}

static void date(const char *name, int64_t ms)
{
    char text[64];
    ash__clock_print(text, sizeof text, ms);
    if (ms != 0)
        field(name, text);
}

static void size(const char *name, int64_t bytes)
{
    char text[32];
    ash__cmd_print_size(text, sizeof text, bytes);
    printf("%14s: %s (%" PRId64 " bytes)\n", name, text, bytes);
}

static void map(const char *name, const bson_t *doc)
{
    bson_iter_t it, in;
    if (!bson_iter_init(&it, doc))
        return;
    while (bson_iter_next(&it)) {
        bool list = BSON_ITER_HOLDS_ARRAY(&it) && bson_iter_recurse(&it, &in);
        while (list ? bson_iter_next(&in) : BSON_ITER_HOLDS_UTF8(&it)) {
            char *pair =
                ash__sprintf("%s: %s", bson_iter_key(&it), bson_iter_utf8(list ? &in : &it, NULL));
            field(name, pair);
            ash__free(pair);
            if (!list)
                break;
        }
    }
}

static void place(const char *name, const char *store, const char *object)
{
    char *text = object != NULL ? ash__sprintf("%s > %s", store, object) : ash__strdup(store);
    field(name, text);
    ash__free(text);
}

static void show_bytes(const ash_object *o)
{
    size("Size", ash_object_size(o));
    number("Chunks", ash_object_chunks(o));
    if (ash_object_digest(o)[0] != '\0')
        field("Digest", ash_object_digest(o));
    if (ash_object_encoding(o) != NULL)
        field("Encoding", ash_object_encoding(o));
    if (ash_object_is_archived(o))
        field("Archived", "yes");
}

void ash__cmd_object_show(const ash_cmd_object_run *r, const ash_object *o)
{
    bson_t doc;
    if (ash__cmd_object_emit(r, o))
        return;
    place("Object", ash_object_store_of(o), ash_object_name(o));
    if (ash_object_description(o)[0] != '\0')
        field("Description", ash_object_description(o));
    if (ash_object_is_link(o))
        place("Link to", ash_object_link_store(o), ash_object_link_name(o));
    else
        show_bytes(o);
    date("Modified", ash_object_modified_ms(o));
    printf("%14s: %" PRIu64 "\n", "Revision", ash_object_revision(o));
    date("Expires", ash_object_expires_ms(o));
    if (ash_object_is_deleted(o))
        field("Deleted", "yes");
    if (ash_object_headers(o, &doc))
        map("Header", &doc);
    if (ash_object_metadata(o, &doc))
        map("Metadata", &doc);
    for (size_t i = 0; i < ash_object_tag_count(o); i++)
        field("Tag", ash_object_tag(o, i));
    ash__cmd_keep_output_error();
}

static void print_target(const ash_object *o)
{
    const char *name = ash_object_link_name(o);
    char *shown = ash__cmd_printable(name != NULL ? name : "");
    printf(" -> %s%s%s", ash_object_link_store(o), name != NULL ? " > " : "", shown);
    ash__free(shown);
}

void ash__cmd_object_line(const ash_cmd_object_run *r, const ash_object *o)
{
    char when[64], bytes[32] = "-";
    if (ash__cmd_object_emit(r, o))
        return;
    char *name = ash__cmd_printable(ash_object_name(o));
    ash__clock_print(when, sizeof when, ash_object_modified_ms(o));
    if (!ash_object_is_link(o) && !ash_object_is_deleted(o))
        ash__cmd_print_size(bytes, sizeof bytes, ash_object_size(o));
    printf("%8" PRIu64 "  %s  %10s  %s", ash_object_revision(o), when, bytes, name);
    if (ash_object_is_link(o))
        print_target(o);
    printf("%s\n", ash_object_is_deleted(o) ? " (deleted)" : "");
    ash__cmd_keep_output_error();
    ash__free(name);
}

int ash__cmd_object_print(const ash_cmd_object_run *r, ash_object_listing *l, bool names,
                          int64_t *shown, ash_error *err)
{
    const ash_object *o = NULL;
    int rc = 0;
    while (rc == 0 && !ferror(stdout)) {
        rc = ash_object_listing_next(l, &o, err);
        if (rc != 0 || o == NULL)
            break;
        if (shown != NULL)
            ++*shown;
        if (names && !r->cmd->json) {
            char *name = ash__cmd_printable(ash_object_name(o));
            puts(name);
            ash__cmd_keep_output_error();
            ash__free(name);
        } else {
            ash__cmd_object_line(r, o);
        }
    }
    ash_object_listing_free(l);
    return rc;
}

bool ash__cmd_object_tell(void *ctx, const ash_object *o)
{
    const ash_cmd_object_teller *t = ctx;
    if (t->progress != NULL)
        ash__progress_clear(t->progress);
    if (!ash__cmd_object_emit(t->run, o))
        ash__cmd_say(t->run->cmd, "%s %s", t->did, ash_object_name(o));
    return !ash__cmd_is_interrupted() && !ferror(stdout);
}

/* ---- stores ---- */

static void emit_config(const ash_object_config *c, bson_t *out)
{
    if (c->description != NULL)
        BSON_APPEND_UTF8(out, "description", c->description);
    if (c->metadata != NULL)
        BSON_APPEND_DOCUMENT(out, "metadata", c->metadata);
    BCON_APPEND(out, "ttlMs", BCON_INT64(c->ttl_ms), "maxBytes", BCON_INT64(c->max_bytes),
                "storage", BCON_UTF8(c->storage == ASH_OBJECT_STORAGE_FILE ? "file" : "memory"),
                "replicas", BCON_INT32(c->replicas), "keepLast", BCON_INT32(c->keep_last),
                "keepWithinMs", BCON_INT64(c->keep_within_ms), "tombstoneTtlMs",
                BCON_INT64(c->tombstone_ttl_ms), "maxObjectBytes", BCON_INT64(c->max_object_bytes),
                "maxObjects", BCON_INT64(c->max_objects), "chunkSize", BCON_INT32(c->chunk_size));
}

static bool emit_status(const ash_cmd_object_run *r, const ash_object_status *st)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    bson_t out = BSON_INITIALIZER;
    if (!r->cmd->json)
        return false;
    (void)ash_object_status_config(st, &c, NULL);
    BSON_APPEND_UTF8(&out, "bucket", ash_object_status_name(st));
    emit_config(&c, &out);
    BCON_APPEND(&out, "compressed", BCON_BOOL(ash_object_status_is_compressed(st)), "sealed",
                BCON_BOOL(ash_object_status_is_sealed(st)), "bytes",
                BCON_INT64(ash_object_status_bytes(st)), "objects",
                BCON_INT64(ash_object_status_objects(st)), "revision",
                BCON_INT64((int64_t)ash_object_status_revision(st)), "created",
                BCON_DATE_TIME(ash_object_status_created_ms(st)), "backingStore",
                BCON_UTF8(ash_object_status_backing(st)));
    ash__cmd_emit(&out);
    bson_destroy(&out);
    return true;
}

static void seconds(const char *name, int64_t ms)
{
    if (ms != 0)
        printf("%14s: %g s\n", name, (double)ms / 1000);
}

void ash__cmd_object_show_status(const ash_cmd_object_run *r, const ash_object_status *st)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    if (emit_status(r, st))
        return;
    (void)ash_object_status_config(st, &c, NULL);
    field("Bucket", c.name);
    if (c.description != NULL)
        field("Description", c.description);
    date("Created", ash_object_status_created_ms(st));
    number("Replicas", c.replicas);
    if (c.ttl_ms == 0)
        field("TTL", "unlimited");
    seconds("TTL", c.ttl_ms);
    field("Sealed", ash_object_status_is_sealed(st) ? "true" : "false");
    size("Size", ash_object_status_bytes(st));
    if (c.max_bytes > 0)
        size("Maximum", c.max_bytes);
    if (ash_object_status_objects(st) >= 0)
        number("Objects", ash_object_status_objects(st));
    if (c.max_objects > 0)
        number("At most", c.max_objects);
    if (c.max_object_bytes > 0)
        size("Each at most", c.max_object_bytes);
    if (c.keep_last != 0)
        number("Versions kept", c.keep_last);
    seconds("Kept within", c.keep_within_ms);
    seconds("Tombstones", c.tombstone_ttl_ms);
    field("Compressed", ash_object_status_is_compressed(st) ? "true" : "false");
    field("Storage", c.storage == ASH_OBJECT_STORAGE_FILE ? "file" : "memory");
    field("Backing store", ash_object_status_backing(st));
    if (c.metadata != NULL)
        map("Metadata", c.metadata);
    ash__cmd_keep_output_error();
}

void ash__cmd_object_status_line(const ash_cmd_object_run *r, const ash_object_status *st)
{
    char bytes[32], created[64];
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    if (emit_status(r, st))
        return;
    (void)ash_object_status_config(st, &c, NULL);
    char *description = ash__cmd_printable(c.description != NULL ? c.description : "");
    ash__cmd_print_size(bytes, sizeof bytes, ash_object_status_bytes(st));
    ash__clock_print(created, sizeof created, ash_object_status_created_ms(st));
    printf("%-24s  %s  %10s  %s%s\n", c.name, created, bytes,
           ash_object_status_is_sealed(st) ? "(sealed) " : "", description);
    ash__cmd_keep_output_error();
    ash__free(description);
}
