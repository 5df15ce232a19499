/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the catalogue: each change writes the collection's row anew from its parsed form. */
#include "engine/internal.h"

#include "base/mem.h"
#include "bson/builder.h"

#include <string.h>

/* What differs from the entry in the row to be written. */
typedef struct row_change {
    const bson_t *options;        /* NULL: as they are */
    const ash_index *index;       /* the one to change, or NULL */
    const bson_t *spec;           /* its new specification, or NULL */
    bool ready, multikey, remove; /* what becomes of it */
    uint32_t kinds;               /* to be added to its own */
    uint32_t new_id;              /* a new index: its id; spec is its specification */
} row_change;

static int next_id(ash_writer *w, const char *name, uint32_t *out, ash_error *err)
{
    MDB_val value;
    bool found;
    uint8_t bytes[4];
    int rc =
        ash__row_get(&w->snap, ASH_DB_META, ash__bytes(name, strlen(name)), &value, &found, err);
    if (rc != 0)
        return rc;
    /* Never given twice: entries and records of what was dropped are still there for a while, under
     * the old id. */
    *out = found && value.mv_size == 4 ? ash__get_le32(value.mv_data) + 1 : 1;
    if (*out == 0)
        return ash__fail(err, ASH_ETOOBIG, "no %s id is left", name);
    ash__put_le32(bytes, *out);
    return ash__row_put(w, ASH_DB_META, ash__bytes(name, strlen(name)),
                        ash__bytes(bytes, sizeof bytes), err);
}

static bool is_unique(const bson_t *spec)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, spec, "unique") && bson_iter_as_bool(&it);
}

/* An index as the collection's row has it. */
typedef struct index_item {
    uint32_t id;
    bool ready, multikey;
    bool rids; /* its entries were made when it was not unique */
    uint32_t kinds;
    const bson_t *spec;
} index_item;

static void append_index(ash_builder *row, uint32_t *count, const index_item *i)
{
    char name[12];
    ash__builder_begin_doc(row, ash__index_name((*count)++, name));
    ash__builder_int64(row, "id", i->id);
    ash__builder_bool(row, "ready", i->ready);
    ash__builder_bool(row, "multikey", i->multikey);
    /* Of others the specification says the same. */
    if (i->rids && is_unique(i->spec))
        ash__builder_bool(row, "rids", true);
    if (i->kinds != ASH_KINDS_UNKNOWN)
        ash__builder_int64(row, "kinds", i->kinds);
    ash__builder_doc_value(row, "spec", ash__doc_from_bson(i->spec));
    ash__builder_end(row);
}

/* What becomes of an index of the entry's. */
static index_item item_of(const ash_index *index, const row_change *change)
{
    static const row_change none = {0};
    if (change->index == NULL || change->index->id != index->id)
        change = &none;
    return (index_item){.id = index->id,
                        .ready = index->ready || change->ready,
                        .multikey = index->multikey || change->multikey,
                        .rids = index->rid_in_key,
                        .kinds = index->kinds | change->kinds,
                        .spec = change->spec != NULL ? change->spec : &index->spec};
}

/* The row's document; whoever calls releases *out. */
static ash_doc build_row(const ash_coll *c, const row_change *change, ash_builder *out)
{
    uint32_t count = 0;
    *out = (ash_builder)ASH_BUILDER_INIT;
    ash__builder_begin(out);
    ash__builder_int64(out, "id", c->id);
    ash__builder_binary(out, "uuid", BSON_SUBTYPE_UUID, c->uuid, 16);
    ash__builder_doc_value(
        out, "options",
        ash__doc_from_bson(change->options != NULL ? change->options : &c->options));
    ash__builder_begin_array(out, "indexes");
    for (uint32_t i = 0; i < c->index_count; i++) {
        const ash_index *index = &c->indexes[i];
        bool is_it = change->index != NULL && change->index->id == index->id;
        if (is_it && change->remove)
            continue;
        const index_item item = item_of(index, change);
        append_index(out, &count, &item);
    }
    if (change->new_id != 0) {
        const index_item item = {
            .id = change->new_id, .ready = change->ready, .spec = change->spec};
        append_index(out, &count, &item);
    }
    ash__builder_end(out);
    ash__builder_end(out);
    return ash__builder_doc(out);
}

static bool has_ttl(const ash_coll *c)
{
    for (uint32_t i = 0; i < c->index_count; i++) {
        if (c->indexes[i].expire_after_s >= 0)
            return true;
    }
    return false;
}

/* Write a row under a name and give back what it parses to. */
static int put_row(ash_writer *w, const char *db, const char *name, ash_doc row,
                   const ash_coll **out, ash_error *err)
{
    uint8_t key[ASH_KEY_MAX], letter[5];
    const ash_coll *c = NULL;
    size_t len = ash__entry_key(key, db, name, err);
    if (len == 0)
        return ASH_EINVAL;
    int rc = ash__sum_put(w, ASH_DB_CATALOG, ash__bytes(key, len), row, err);
    if (rc == 0)
        rc = ash__catalog_find(&w->snap, db, name, &c, err);
    if (rc != 0)
        /* The row is written; without those beside it the catalogue contradicts itself. */
        return ash__writer_break(w, rc, err);
    ash__letter_key(letter, 'I', c->id);
    rc = ash__row_put(w, ASH_DB_CATALOG, ash__bytes(letter, 5), ash__bytes(key + 1, len - 1), err);
    ash__letter_key(letter, 'T', c->id);
    if (rc == 0 && has_ttl(c))
        rc = ash__row_put(w, ASH_DB_CATALOG, ash__bytes(letter, 5), ash__bytes(NULL, 0), err);
    else if (rc == 0)
        rc = ash__row_delete(w, ASH_DB_CATALOG, ash__bytes(letter, 5), err);
    if (out != NULL)
        *out = c;
    return rc;
}

/* The caller's c may be older than what this writer changed since. */
static int current(ash_writer *w, const ash_coll *c, const ash_coll **out, ash_error *err)
{
    int rc = ash__catalog_find_id(&w->snap, c->id, out, err);
    if (rc == 0 && *out == NULL)
        rc = ash__fail(err, ASH_ENOTFOUND, "%s.%s is gone", c->db, c->name);
    return rc;
}

/* A specification or option that cannot be parsed must fail before the first change. */
static int check_row(ash_writer *w, const char *db, const char *name, ash_doc row, ash_error *err)
{
    uint8_t key[ASH_KEY_MAX];
    ash_catalog_entry *entry = NULL;
    size_t len = ash__entry_key(key, db, name, err);
    if (len == 0)
        return ASH_EINVAL;
    int rc = ash__entry_parse(w->engine, ash__bytes(key + 1, len - 1), row, 0, &entry, err);
    if (rc == 0)
        ash__entry_unref(entry);
    return rc;
}

static int rewrite(ash_writer *w, const ash_coll *c, const row_change *change, const ash_coll **out,
                   ash_error *err)
{
    ash_builder built;
    const ash_coll *now = NULL;
    int rc = current(w, c, &now, err);
    if (rc != 0)
        return rc;
    ash_doc row = build_row(now, change, &built);
    if (change->options != NULL || change->spec != NULL)
        rc = check_row(w, now->db, now->name, row, err);
    if (rc == 0)
        rc = put_row(w, now->db, now->name, row, out, err);
    ash__builder_release(&built);
    return rc;
}

/* As build_row. */
static ash_doc id_index_spec(const bson_t *options, ash_builder *out)
{
    *out = (ash_builder)ASH_BUILDER_INIT;
    ash__builder_begin(out);
    ash__builder_int32(out, "v", 2);
    ash__builder_begin_doc(out, "key");
    ash__builder_int32(out, "_id", 1);
    ash__builder_end(out);
    ash__builder_text(out, "name", "_id_");
    ash__builder_value(out, "collation", ash__doc_get(ash__doc_from_bson(options), "collation"));
    ash__builder_end(out);
    return ash__builder_doc(out);
}

static void make_uuid(uint8_t uuid[16])
{
    ash__random(uuid, 16);
    /* Version 4, variant 1: random. */
    uuid[6] = (uint8_t)((uuid[6] & 0x0F) | 0x40);
    uuid[8] = (uint8_t)((uuid[8] & 0x3F) | 0x80);
}

int ash__catalog_create(ash_writer *w, const char *db, const char *name, const bson_t *options,
                        const ash_coll **out, ash_error *err)
{
    ash_builder built, spec_built;
    bson_t spec, none = BSON_INITIALIZER;
    const ash_coll *there = NULL;
    ash_coll fresh = {.db = db, .name = name};
    uint8_t key[ASH_KEY_MAX];
    if (options == NULL)
        options = &none;
    if (ash__entry_key(key, db, name, err) == 0)
        return ASH_EINVAL;
    int rc = ash__catalog_find(&w->snap, db, name, &there, err);
    if (rc == 0 && there != NULL)
        rc = ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_NAMESPACE_EXISTS,
                              "collection %s.%s exists", db, name);
    if (rc != 0)
        return rc;
    row_change change = {.options = options, .new_id = 1, .spec = &spec, .ready = true};
    fresh.id = 1;
    make_uuid(fresh.uuid);
    ash__doc_to_bson(id_index_spec(options, &spec_built), &spec);
    /* With ids of 1 for now: those that are given are used up, also when the specification turns
     * out to be wrong. */
    rc = check_row(w, db, name, build_row(&fresh, &change, &built), err);
    ash__builder_release(&built);
    if (rc == 0)
        rc = next_id(w, "collection", &fresh.id, err);
    if (rc == 0)
        rc = next_id(w, "index", &change.new_id, err);
    if (rc == 0) {
        rc = put_row(w, db, name, build_row(&fresh, &change, &built), out, err);
        ash__builder_release(&built);
    }
    ash__builder_release(&spec_built);
    return rc;
}

static int queue_drop(ash_writer *w, char letter, uint32_t id, ash_error *err)
{
    uint8_t key[5];
    /* A drop is to work on a full disk. */
    w->deletes = true;
    ash__letter_key(key, letter, id);
    w->drops_pending = true;
    return ash__row_put(w, ASH_DB_DROPS, ash__bytes(key, sizeof key), ash__bytes(NULL, 0), err);
}

static int delete_row(ash_writer *w, const ash_coll *c, ash_error *err)
{
    uint8_t key[ASH_KEY_MAX];
    size_t len = ash__entry_key(key, c->db, c->name, err);
    return ash__row_delete(w, ASH_DB_CATALOG, ash__bytes(key, len), err);
}

int ash__catalog_drop(ash_writer *w, const ash_coll *c, ash_error *err)
{
    uint8_t letter[5];
    const ash_coll *now = NULL;
    int rc = current(w, c, &now, err);
    if (rc != 0)
        return rc;
    /* The name goes at once, and can be used again; what the id leads to is deleted by drops.c. */
    rc = delete_row(w, now, err);
    ash__letter_key(letter, 'I', c->id);
    if (rc == 0)
        rc = ash__row_delete(w, ASH_DB_CATALOG, ash__bytes(letter, 5), err);
    ash__letter_key(letter, 'T', c->id);
    if (rc == 0)
        rc = ash__row_delete(w, ASH_DB_CATALOG, ash__bytes(letter, 5), err);
    if (rc == 0)
        rc = queue_drop(w, 'R', c->id, err);
    for (uint32_t i = 0; rc == 0 && i < now->index_count; i++)
        rc = queue_drop(w, 'X', now->indexes[i].id, err);
    return rc;
}

int ash__catalog_rename(ash_writer *w, const ash_coll *c, const char *to_db, const char *to_name,
                        ash_error *err)
{
    ash_builder built;
    uint8_t key[ASH_KEY_MAX];
    const ash_coll *now = NULL, *there = NULL;
    row_change none = {0};
    if (ash__entry_key(key, to_db, to_name, err) == 0)
        return ASH_EINVAL;
    int rc = current(w, c, &now, err);
    if (rc == 0)
        rc = ash__catalog_find(&w->snap, to_db, to_name, &there, err);
    if (rc == 0 && there != NULL)
        rc = ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_NAMESPACE_EXISTS, "target %s.%s exists",
                              to_db, to_name);
    if (rc != 0)
        return rc;
    ash_doc row = build_row(now, &none, &built);
    rc = delete_row(w, now, err);
    if (rc == 0)
        rc = put_row(w, to_db, to_name, row, NULL, err);
    ash__builder_release(&built);
    return rc;
}

int ash__catalog_set_options(ash_writer *w, const ash_coll *c, const bson_t *options,
                             ash_error *err)
{
    row_change change = {.options = options};
    return rewrite(w, c, &change, NULL, err);
}

static const ash_index *index_by_name(const ash_coll *c, const char *name)
{
    for (uint32_t i = 0; i < c->index_count; i++) {
        if (strcmp(c->indexes[i].name, name) == 0)
            return &c->indexes[i];
    }
    return NULL;
}

int ash__catalog_set_index(ash_writer *w, const ash_coll *c, const char *index_name,
                           const bson_t *spec, ash_error *err)
{
    const ash_coll *now = NULL;
    int rc = current(w, c, &now, err);
    if (rc != 0)
        return rc;
    row_change change = {.index = index_by_name(now, index_name), .spec = spec};
    if (change.index == NULL)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_INDEX_NOT_FOUND, "no index called %s",
                                index_name);
    return rewrite(w, now, &change, NULL, err);
}

int ash__catalog_widen_index(ash_writer *w, const ash_coll *c, const ash_index *i, bool multikey,
                             uint32_t kinds, ash_error *err)
{
    const ash_coll *now = NULL;
    int rc = current(w, c, &now, err);
    for (uint32_t n = 0; rc == 0 && n < now->index_count; n++) {
        const ash_index *index = &now->indexes[n];
        /* The caller's index may be older than what this batch has noted. */
        if (index->id == i->id && (index->multikey || !multikey) && (kinds & ~index->kinds) == 0)
            return 0;
    }
    row_change change = {.index = i, .multikey = multikey, .kinds = kinds};
    return rc == 0 ? rewrite(w, c, &change, NULL, err) : rc;
}

int ash__index_create(ash_writer *w, const ash_coll *c, const bson_t *spec, const ash_index **out,
                      ash_error *err)
{
    const ash_coll *now = NULL;
    row_change change = {.spec = spec, .new_id = UINT32_MAX};
    ash_builder built;
    int rc = current(w, c, &now, err);
    if (rc != 0)
        return rc;
    rc = check_row(w, now->db, now->name, build_row(now, &change, &built), err);
    ash__builder_release(&built);
    if (rc == 0)
        rc = next_id(w, "index", &change.new_id, err);
    if (rc == 0)
        rc = rewrite(w, now, &change, &now, err);
    if (rc == 0 && out != NULL)
        *out = &now->indexes[now->index_count - 1];
    return rc;
}

int ash__index_ready(ash_writer *w, const ash_coll *c, const ash_index *i, ash_error *err)
{
    row_change change = {.index = i, .ready = true};
    return rewrite(w, c, &change, NULL, err);
}

int ash__index_drop(ash_writer *w, const ash_coll *c, const ash_index *i, ash_error *err)
{
    row_change change = {.index = i, .remove = true};
    if (i->pattern.is_id)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "cannot drop the index on _id");
    int rc = rewrite(w, c, &change, NULL, err);
    /* Its entries are of no index from here on, and are deleted in turns. */
    return rc == 0 ? queue_drop(w, 'X', i->id, err) : rc;
}
