/* SPDX-License-Identifier: Apache-2.0 */
/* A collection's row of the catalogue, parsed.  Its strings and documents point into the entry's
 * own copy of the row. */
#include "engine/internal.h"

#include "base/mem.h"

#include <string.h>

size_t ash__entry_key(uint8_t out[ASH_KEY_MAX], const char *db, const char *name, ash_error *err)
{
    size_t db_len = strlen(db), name_len = strlen(name);
    if (db_len + name_len + 2 > ASH_NAME_MAX) {
        ash__fail(err, ASH_EINVAL, "the collection's name is too long");
        return 0;
    }
    out[0] = 'N';
    memcpy(out + 1, db, db_len + 1);
    memcpy(out + 2 + db_len, name, name_len);
    return db_len + name_len + 2;
}

static bool child_doc(ash_doc doc, const char *name, bson_t *out)
{
    bson_t all;
    bson_iter_t it;
    const uint8_t *data;
    uint32_t len;
    if (!bson_init_static(&all, doc.data, doc.len) || !bson_iter_init_find(&it, &all, name))
        return false;
    if (BSON_ITER_HOLDS_DOCUMENT(&it))
        bson_iter_document(&it, &len, &data);
    else if (BSON_ITER_HOLDS_ARRAY(&it))
        bson_iter_array(&it, &len, &data);
    else
        return false;
    return bson_init_static(out, data, len);
}

static bool flag_of(const bson_t *b, const char *name)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, b, name) && bson_iter_as_bool(&it);
}

static int64_t number_of(const bson_t *b, const char *name, int64_t fallback)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, b, name) && BSON_ITER_HOLDS_NUMBER(&it)
               ? bson_iter_as_int64(&it)
               : fallback;
}

static int compile_filter(const ash_filter_hooks *hooks, const bson_t *from, const char *name,
                          const ash_collation *collation, void **out, ash_error *err)
{
    bson_t filter;
    if (!child_doc(ash__doc_from_bson(from), name, &filter))
        return 0;
    /* Where nobody understands filters, one must not be taken for none. */
    if (hooks->compile == NULL)
        return ash__fail(err, ASH_EUNSUPPORTED, "nobody here understands %s", name);
    return hooks->compile(&filter, collation, out, err);
}

static int parse_collation(const bson_t *from, bool *has, ash_collation *out, ash_error *err)
{
    bson_t spec;
    bool simple = true;
    int rc = 0;
    *has = false;
    if (child_doc(ash__doc_from_bson(from), "collation", &spec)) {
        rc = ash__collation_parse(&spec, out, &simple, err);
        /* The simple collation is what there is without one. */
        *has = rc == 0 && !simple;
    }
    return rc;
}

static int parse_index(const ash_filter_hooks *hooks, const bson_t *item, ash_index *out,
                       ash_error *err)
{
    bson_iter_t it;
    ash_collation collation;
    bool has_collation;
    out->id = (uint32_t)number_of(item, "id", 0);
    out->ready = flag_of(item, "ready");
    out->multikey = flag_of(item, "multikey");
    out->kinds = (uint32_t)number_of(item, "kinds", ASH_KINDS_UNKNOWN);
    /* The row's checksum was right, but who can write files can write that, too. */
    if (out->id == 0 || !child_doc(ash__doc_from_bson(item), "spec", &out->spec) ||
        !child_doc(ash__doc_from_bson(&out->spec), "key", &out->key) ||
        !bson_iter_init_find(&it, &out->spec, "name") || !BSON_ITER_HOLDS_UTF8(&it))
        return ash__fail(err, ASH_ECORRUPT, "an index in the catalogue is damaged");
    out->name = bson_iter_utf8(&it, NULL);
    out->unique = flag_of(&out->spec, "unique");
    out->sparse = flag_of(&out->spec, "sparse");
    out->hidden = flag_of(&out->spec, "hidden");
    out->expire_after_s = number_of(&out->spec, "expireAfterSeconds", -1);
    int rc = parse_collation(&out->spec, &has_collation, &collation, err);
    if (rc == 0)
        rc = ash__key_pattern_parse(&out->key, out->sparse, has_collation ? &collation : NULL,
                                    &out->pattern, err);
    if (rc == 0)
        rc = compile_filter(hooks, &out->spec, "partialFilterExpression",
                            has_collation ? &out->pattern.collation : NULL, &out->partial, err);
    /* Specifications of the index on _id do not say so, as in MongoDB. */
    out->unique = out->unique || out->pattern.is_id;
    out->guarded = out->unique || flag_of(&out->spec, "prepareUnique");
    /* Read from the row, not from the specification: an index that became unique keeps its entries
     * as they are. */
    out->rid_in_key = !out->unique || flag_of(item, "rids");
    return rc;
}

static int parse_indexes(ash_catalog_entry *entry, const bson_t *list, ash_error *err)
{
    bson_iter_t it;
    int rc = 0;
    ash_coll *c = &entry->coll;
    uint32_t count = bson_count_keys(list);
    entry->indexes = ash__alloc_array(count, sizeof *entry->indexes);
    c->indexes = entry->indexes;
    bson_iter_init(&it, list);
    while (rc == 0 && c->index_count < count && bson_iter_next(&it)) {
        bson_t item;
        const uint8_t *data;
        uint32_t len;
        if (!BSON_ITER_HOLDS_DOCUMENT(&it))
            return ash__fail(err, ASH_ECORRUPT, "the catalogue's list of indexes is damaged");
        bson_iter_document(&it, &len, &data);
        bson_init_static(&item, data, len);
        rc = parse_index(entry->hooks, &item, &entry->indexes[c->index_count++], err);
    }
    if (rc == 0 && c->index_count == 0)
        rc = ash__fail(err, ASH_ECORRUPT, "a collection without an index on _id");
    return rc;
}

static int parse_options(ash_catalog_entry *entry, ash_error *err)
{
    ash_coll *c = &entry->coll;
    c->capped = flag_of(&c->options, "capped");
    c->capped_bytes = c->capped ? number_of(&c->options, "size", 0) : 0;
    c->capped_docs = c->capped ? number_of(&c->options, "max", 0) : 0;
    int rc = parse_collation(&c->options, &c->has_collation, &c->collation, err);
    if (rc == 0)
        rc = compile_filter(entry->hooks, &c->options, "validator",
                            c->has_collation ? &c->collation : NULL, &c->validator, err);
    return rc;
}

int ash__entry_parse(const ash_engine *e, ash_doc names, ash_doc row, uint64_t sum,
                     ash_catalog_entry **out, ash_error *err)
{
    bson_t all, list;
    bson_iter_t it;
    bson_subtype_t subtype;
    const uint8_t *uuid = NULL;
    uint32_t uuid_len = 0;
    int rc = 0;
    size_t db_len = strnlen((const char *)names.data, names.len);
    if (db_len + 1 > names.len)
        return ash__fail(err, ASH_ECORRUPT, "a name in the catalogue is damaged");
    ash_catalog_entry *entry = ash__new(ash_catalog_entry);
    ash_coll *c = &entry->coll;
    /* The caller's; the cache takes another. */
    atomic_store(&entry->refs, 1);
    entry->hooks = &e->opts.filters;
    entry->sum = sum;
    /* The caller's bytes are in LMDB's map and do not outlive its snapshot. */
    entry->row = ash__memdup(row.data, row.len);
    entry->names = ash__strndup((const char *)names.data, names.len);
    c->db = entry->names;
    c->name = entry->names + db_len + 1;
    c->entry = entry;
    row.data = entry->row;
    if (bson_init_static(&all, row.data, row.len)) {
        c->id = (uint32_t)number_of(&all, "id", 0);
        if (bson_iter_init_find(&it, &all, "uuid") && BSON_ITER_HOLDS_BINARY(&it))
            bson_iter_binary(&it, &subtype, &uuid_len, &uuid);
    }
    if (c->id == 0 || uuid_len != 16 || !child_doc(row, "options", &c->options) ||
        !child_doc(row, "indexes", &list)) {
        rc = ash__fail(err, ASH_ECORRUPT, "the catalogue's row is damaged");
    } else {
        memcpy(c->uuid, uuid, 16);
        rc = parse_options(entry, err);
    }
    if (rc == 0)
        rc = parse_indexes(entry, &list, err);
    if (rc != 0) {
        ash__error_prefix(err, "%s.%s", c->db, c->name);
        /* What was parsed so far is released with it: all else is zero. */
        ash__entry_unref(entry);
        return rc;
    }
    *out = entry;
    return 0;
}

void ash__entry_unref(ash_catalog_entry *entry)
{
    if (entry == NULL || atomic_fetch_sub(&entry->refs, 1) != 1)
        return;
    for (uint32_t i = 0; i < entry->coll.index_count; i++) {
        ash_index *index = &entry->indexes[i];
        if (index->partial != NULL)
            entry->hooks->free(index->partial);
        ash__key_pattern_release(&index->pattern);
    }
    if (entry->coll.validator != NULL)
        entry->hooks->free(entry->coll.validator);
    ash__free(entry->indexes);
    ash__free(entry->names);
    ash__free(entry->row);
    ash__free(entry);
}
