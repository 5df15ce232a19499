/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from whatever pages are left: first what the trees still lead to, then leaves that no tree
 * leads to any more.  The same record may turn up several times, and the best of them is kept. */
#include "engine/salvage/internal.h"

#include "base/mem.h"
#include "bson/builder.h"

#include <stdlib.h>
#include <string.h>

ash_salvage_record *ash__salvage_list_add(ash_salvage_list *list)
{
    list->items = ash__grow_array(list->items, list->count, &list->capacity, sizeof *list->items);
    ash_salvage_record *r = &list->items[list->count++];
    memset(r, 0, sizeof *r);
    return r;
}

static uint64_t id_of(const void *coll)
{
    return ((const ash_salvage_coll *)coll)->id;
}

/* Where the collection is among those known, or belongs. */
static size_t coll_place(const ash_salvage *s, uint32_t id)
{
    return ash__first_not_below(s->colls, s->coll_count, sizeof *s->colls, id, id_of);
}

static ash_salvage_coll *find_coll(ash_salvage *s, uint32_t id)
{
    size_t at = coll_place(s, id);
    return at < s->coll_count && s->colls[at].id == id ? &s->colls[at] : NULL;
}

static ash_salvage_coll *add_coll(ash_salvage *s, uint32_t id)
{
    size_t at = coll_place(s, id);
    if (at < s->coll_count && s->colls[at].id == id)
        return &s->colls[at];
    s->colls = ash__grow_array(s->colls, s->coll_count, &s->coll_capacity, sizeof *s->colls);
    ash_salvage_coll *c = &s->colls[at];
    memmove(c + 1, c, (s->coll_count++ - at) * sizeof *c);
    memset(c, 0, sizeof *c);
    c->id = id;
    c->options = bson_new();
    c->indexes = bson_new();
    return c;
}

static bool is_dropped(const ash_salvage *s, uint32_t id)
{
    for (size_t i = 0; i < s->dropped_count; i++) {
        if (s->dropped[i] == id)
            return true;
    }
    return false;
}

/* db NUL name; false when it is not that. */
static bool take_name(ash_salvage_coll *c, const uint8_t *data, size_t len)
{
    const char *text = (const char *)data;
    size_t db_len = strnlen(text, len);
    if (db_len == 0 || db_len + 2 > len || memchr(text + db_len + 1, 0, len - db_len - 1) != NULL)
        return false;
    if (c->db == NULL) {
        c->db = ash__strndup(text, db_len);
        c->name = ash__strndup(text + db_len + 1, len - db_len - 1);
    }
    return true;
}

/* ---- rows of the catalogue ---- */

enum { NAME_KEY_LEAST = 4 }; /* N, db, NUL, name */

static void copy_indexes(ash_salvage_coll *c, ash_doc list)
{
    uint32_t count = 0;
    ash_builder specs = ASH_BUILDER_INIT;
    ash__builder_begin(&specs);
    for (ash_doc_iter it = ash__doc_iter(list); ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_DOCUMENT)
            continue;
        ash_doc item = ash__value_doc(it.value);
        ash_value spec = ash__doc_get(item, "spec");
        if (spec.type != BSON_TYPE_DOCUMENT || !ash__value_truthy(ash__doc_get(item, "ready")))
            continue;
        int64_t id;
        if (ash__salvage_is_chunk_index(item) && ash__value_as_int64(ash__doc_get(item, "id"), &id))
            c->chunk_index = (uint32_t)id;
        ash__builder_item(&specs, count++, spec);
    }
    ash__builder_end(&specs);
    ash_doc doc = ash__builder_doc(&specs);
    bson_destroy(c->indexes);
    c->indexes = bson_new_from_data(doc.data, doc.len);
    ash__builder_release(&specs);
}

static void take_collection(ash_salvage *s, const ash_pages_row *row)
{
    ash_doc doc;
    int64_t id = 0;
    MDB_val key = ash__val(row->key.data, row->key.len);
    if (ash__sum_check(key, ash__val(row->value.data, row->value.len), &doc, "", NULL) != 0 ||
        ash__bson_validate(doc.data, doc.len, 2 * ASH_DOC_MAX_DEPTH, NULL) != 0)
        return;
    ash_value options = ash__doc_get(doc, "options"), indexes = ash__doc_get(doc, "indexes");
    if (!ash__value_as_int64(ash__doc_get(doc, "id"), &id) || id <= 0 || id > UINT32_MAX ||
        indexes.type != BSON_TYPE_ARRAY)
        return;
    ash_salvage_coll *c = add_coll(s, (uint32_t)id);
    /* A row on a page that was given free is an old state of the catalogue. */
    if (c->described || row->vacant)
        return;
    /* This row has a checksum, the row by id that may have been before it has none. */
    ash__free(c->db);
    ash__free(c->name);
    c->db = c->name = NULL;
    if (!take_name(c, row->key.data + 1, row->key.len - 1))
        return;
    if (options.type == BSON_TYPE_DOCUMENT) {
        bson_destroy(c->options);
        c->options = bson_new_from_data(ash__value_doc(options).data, ash__value_doc(options).len);
    }
    copy_indexes(c, ash__value_doc(indexes));
    c->described = true;
    c->stray = row->stray;
}

static void visit_catalog(void *ctx, const ash_pages_row *row)
{
    ash_salvage *s = ctx;
    if (row->key.len < NAME_KEY_LEAST)
        return;
    if (row->key.data[0] == 'N') {
        take_collection(s, row);
    } else if (row->key.data[0] == 'I' && row->key.len == 5) {
        ash_salvage_coll *c = add_coll(s, ash__get_be32(row->key.data + 1));
        take_name(c, row->value.data, row->value.len);
    }
}

static void visit_drops(void *ctx, const ash_pages_row *row)
{
    ash_salvage *s = ctx;
    if (row->key.len != 5 || row->key.data[0] != 'R')
        return;
    s->dropped =
        ash__grow_array(s->dropped, s->dropped_count, &s->dropped_capacity, sizeof *s->dropped);
    s->dropped[s->dropped_count++] = ash__get_be32(row->key.data + 1);
}

static void visit_counts(void *ctx, const ash_pages_row *row)
{
    ash_salvage *s = ctx;
    if (row->key.len != 5 || row->key.data[0] != 'C' || row->value.len < 8)
        return;
    ash_salvage_coll *c = find_coll(s, ash__get_be32(row->key.data + 1));
    if (c != NULL) {
        c->expected = ash__get_le64(row->value.data);
        c->counted = true;
    }
}

/* ---- rows of records ---- */

static void visit_records(void *ctx, const ash_pages_row *row)
{
    ash_salvage *s = ctx;
    ash_pointer place;
    ash_doc doc;
    if (row->key.len != ASH_RECORD_KEY_BYTES || row->value.len > UINT32_MAX)
        return;
    bool damaged =
        ash__record_parse(ash__val(row->key.data, row->key.len),
                          ash__val(row->value.data, row->value.len), &place, &doc, NULL) != 0;
    uint32_t id = ash__get_be32(row->key.data);
    /* A stray leaf may be anything, so its rows need their checksum; those that a tree leads to are
     * records even when damaged. */
    if ((damaged && row->stray) || is_dropped(s, id) || (row->vacant && find_coll(s, id) == NULL))
        return;
    ash_salvage_record *r = ash__salvage_list_add(&s->records);
    r->coll_id = id;
    r->rid = ash__get_be64(row->key.data + 4);
    r->offset = row->offset;
    r->row_len = (uint32_t)row->value.len;
    r->place = place;
    r->damaged = damaged;
    r->stray = row->stray;
    r->vacant = row->vacant;
}

static void visit_meta(void *ctx, const ash_pages_row *row)
{
    ash_salvage *s = ctx;
    if (row->key.len == 4 && memcmp(row->key.data, "open", 4) == 0)
        s->was_open = true;
    if (row->key.len == 7 && memcmp(row->key.data, "journal", 7) == 0 && row->value.len == 8)
        s->generation = ash__get_le64(row->value.data);
}

static void visit_stray(void *ctx, const ash_pages_row *row)
{
    if (row->key.len == ASH_RECORD_KEY_BYTES)
        visit_records(ctx, row);
    if (row->key.len > 1 && row->key.data[0] == 'N')
        visit_catalog(ctx, row);
}

/* ---- changes of the journal ---- */

void ash__salvage_take_change(ash_salvage *s, const ash_pages_row *row, uint64_t number,
                              bool is_delete)
{
    size_t before = s->records.count;
    if (is_delete) {
        ash_salvage_record *r = ash__salvage_list_add(&s->records);
        r->coll_id = ash__get_be32(row->key.data);
        r->rid = ash__get_be64(row->key.data + 4);
        r->gone = true;
    } else {
        visit_records(s, row);
    }
    if (s->records.count > before)
        s->records.items[before].change = number;
}

/* The collection of this name is not there any more; or it was renamed, and has another by now. */
static void forget_coll(ash_salvage *s, ash_doc key)
{
    for (size_t i = 0; i < s->coll_count; i++) {
        ash_salvage_coll *c = &s->colls[i];
        size_t db_len = c->db != NULL ? strlen(c->db) : 0;
        if (c->db == NULL || key.len != db_len + strlen(c->name) + 2 ||
            memcmp(key.data + 1, c->db, db_len + 1) != 0 ||
            memcmp(key.data + db_len + 2, c->name, strlen(c->name)) != 0)
            continue;
        ash__free(c->db);
        ash__free(c->name);
        bson_destroy(c->options);
        bson_destroy(c->indexes);
        memmove(c, c + 1, (--s->coll_count - i) * sizeof *c);
        return;
    }
}

static void renew_coll(ash_salvage *s, const ash_pages_row *row)
{
    ash_doc doc;
    int64_t id = 0;
    MDB_val key = ash__val(row->key.data, row->key.len);
    if (ash__sum_check(key, ash__val(row->value.data, row->value.len), &doc, "", NULL) == 0 &&
        ash__bson_validate(doc.data, doc.len, 2 * ASH_DOC_MAX_DEPTH, NULL) == 0 &&
        ash__value_as_int64(ash__doc_get(doc, "id"), &id) && id > 0 && id <= UINT32_MAX) {
        ash_salvage_coll *c = find_coll(s, (uint32_t)id);
        if (c != NULL) {
            bson_reinit(c->options);
            bson_reinit(c->indexes);
            c->described = false;
        }
    }
    visit_catalog(s, row);
}

void ash__salvage_take_row(ash_salvage *s, enum ash_database db, const ash_pages_row *row,
                           bool is_delete)
{
    if (db == ASH_DB_CATALOG && is_delete && row->key.len >= NAME_KEY_LEAST &&
        row->key.data[0] == 'N')
        forget_coll(s, row->key);
    else if (is_delete)
        return;
    else if (db == ASH_DB_CATALOG && row->key.len >= NAME_KEY_LEAST && row->key.data[0] == 'N')
        renew_coll(s, row);
    else if (db == ASH_DB_DROPS)
        visit_drops(s, row);
    else if (db == ASH_DB_COUNTS)
        visit_counts(s, row);
}

/* The one to be kept first: the journal's last, then what the tree leads to, then the newer. */
static int by_record(const void *a, const void *b)
{
    const ash_salvage_record *x = a, *y = b;
    if (x->coll_id != y->coll_id)
        return x->coll_id < y->coll_id ? -1 : 1;
    if (x->rid != y->rid)
        return x->rid < y->rid ? -1 : 1;
    if (x->change != y->change)
        return x->change > y->change ? -1 : 1;
    if (x->stray != y->stray)
        return x->stray ? 1 : -1;
    if (x->vacant != y->vacant)
        return x->vacant ? 1 : -1;
    if (x->damaged != y->damaged)
        return x->damaged ? 1 : -1;
    if (x->place.sequence != y->place.sequence)
        return x->place.sequence > y->place.sequence ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void keep_one_of_each(ash_salvage_list *list)
{
    size_t kept = 0;
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_record);
    for (size_t i = 0; i < list->count; i++) {
        const ash_salvage_record *r = &list->items[i];
        if (kept > 0 && list->items[kept - 1].coll_id == r->coll_id &&
            list->items[kept - 1].rid == r->rid)
            continue;
        list->items[kept++] = *r;
    }
    list->count = kept;
    kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].gone)
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* Records whose collection nobody names get one without a name. */
static void name_the_rest(ash_salvage *s)
{
    uint32_t last = 0;
    for (size_t i = 0; i < s->records.count; i++) {
        const ash_salvage_record *r = &s->records.items[i];
        /* A damaged row's collection may be a wrong number, too. */
        if (r->coll_id != last && !r->damaged)
            add_coll(s, last = r->coll_id);
    }
}

void ash__salvage_name(ash_salvage *s, uint32_t coll_id, const char *db, const char *name)
{
    ash_salvage_coll *c = find_coll(s, coll_id);
    ash_assert(c != NULL && c->db == NULL);
    c->db = ash__strdup(db);
    c->name = ash__strdup(name);
}

void ash__salvage_gather(ash_salvage *s)
{
    static const char *const others[] = {"space", "oplog", "state"};
    /* In this order: each walk needs what those before it found.  Of the dropped no records are
     * taken, and only named collections have counts. */
    ash__pages_walk(s->pages, "meta", visit_meta, s);
    ash__salvage_judge_journal(s);
    ash__pages_walk(s->pages, "catalog", visit_catalog, s);
    ash__pages_walk(s->pages, "drops", visit_drops, s);
    ash__pages_walk(s->pages, "counts", visit_counts, s);
    ash__salvage_journal(s, false);
    ash__pages_walk(s->pages, "records", visit_records, s);
    ash__pages_walk(s->pages, "index", ash__salvage_visit_index, s);
    ash__salvage_journal(s, true);
    ash__salvage_sort_entries(s);
    /* Their pages are not strays. */
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++)
        ash__pages_walk(s->pages, others[i], NULL, NULL);
    /* In a whole file a page that no tree has is free, and so old. */
    if (!ash__pages_are_whole(s->pages))
        ash__pages_strays(s->pages, visit_stray, s);
    keep_one_of_each(&s->records);
    name_the_rest(s);
}
