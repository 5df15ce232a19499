/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of rows without looking anything up: their checksums, and that the databases
 * tell the same of each other: as many records and entries as `counts` has, as many blocks in use
 * as the segment's row says, each collection by its name and by its id. */
#include "engine/census.h"

#include "base/mem.h"

#include <string.h>

typedef struct tally {
    uint32_t id;
    uint64_t count;
} tally;

typedef struct tally_list {
    tally *items;
    size_t count, capacity;
} tally_list;

struct ash_census_rows {
    tally_list records, entries; /* as they are, by id */
    tally_list dropped_colls, dropped_indexes;
    uint64_t by_name, by_id; /* sums over the catalogue's rows of either kind */
    uint64_t logged, logged_bytes;
    uint32_t last_coll, last_index; /* the greatest that the catalogue has */
    bool counted_log;
    uint64_t matched_records, matched_entries; /* with their counts */
    uint32_t segment;                          /* whose slices are at hand */
    uint64_t segment_used, segment_marked;
};

struct ash_census_rows *ash__census_rows_new(void)
{
    return ash__new(struct ash_census_rows);
}

void ash__census_rows_free(struct ash_census_rows *r)
{
    if (r == NULL)
        return;
    ash__free(r->records.items);
    ash__free(r->entries.items);
    ash__free(r->dropped_colls.items);
    ash__free(r->dropped_indexes.items);
    ash__free(r);
}

/* A row may have had another key, between those beside it.  A record is missed only by who asks for
 * it by that key: scans meet the row, and go on behind it where one damaged row costs only itself.
 */
static void row_found(ash_census *c, int invariant, int db, uint64_t page, const char *what)
{
    static const ash_doc none = {NULL, 0};
    ash_census_finding f = {.invariant = invariant,
                            .kind = "row",
                            .tree = ash__census_tree_name(db),
                            .page = page,
                            .db = db,
                            .exact = db == ASH_DB_RECORDS,
                            .low = page == UINT64_MAX ? none : c->row_before,
                            .high = page == UINT64_MAX ? none : c->row_behind};
    if (page == UINT64_MAX)
        ash__census_found(c, f, "meta.mdb, %s: %s", f.tree, what);
    else
        ash__census_found(c, f, "page %llu of meta.mdb, %s: %s", (unsigned long long)page, f.tree,
                          what);
}

/* Ids come in ascending order. */
static void count_one(tally_list *list, uint32_t id)
{
    if (list->count == 0 || list->items[list->count - 1].id != id) {
        list->items = ash__grow_array(list->items, list->count, &list->capacity, sizeof(tally));
        list->items[list->count++] = (tally){.id = id};
    }
    list->items[list->count - 1].count++;
}

static uint64_t tally_number(const void *item)
{
    return ((const tally *)item)->id;
}

static const tally *tally_of(const tally_list *list, uint32_t id)
{
    size_t at = ash__first_not_below(list->items, list->count, sizeof(tally), id, tally_number);
    return at < list->count && list->items[at].id == id ? &list->items[at] : NULL;
}

/* ---- one database each ---- */

static bool has_sum(ash_doc key, ash_doc row, ash_doc *value)
{
    return ash__sum_check(ash__val(key.data, key.len), ash__val(row.data, row.len), value, "",
                          NULL) == 0;
}

static void greatest(uint32_t *last, ash_value id)
{
    int64_t number = 0;
    if (ash__value_as_int64(id, &number) && number > *last && number <= UINT32_MAX)
        *last = (uint32_t)number;
}

/* A collection's name and id, however the row tells them. */
static uint64_t name_sum(ash_doc names, uint32_t id)
{
    uint8_t number[4];
    ash__put_be32(number, id);
    return ash__row_sum(number, sizeof number, names.data, names.len);
}

static void see_catalog(ash_census *c, uint64_t page, ash_doc key, ash_doc row)
{
    struct ash_census_rows *r = c->rows;
    ash_doc value;
    int64_t id = 0;
    if (key.data[0] == 'I' && key.len == 5) {
        /* Sums over both kinds of rows are equal when each has its counterpart; no list has to be
         * kept. */
        r->by_id += name_sum(row, ash__get_be32(key.data + 1));
    } else if (key.data[0] == 'N' && has_sum(key, row, &value) &&
               ash__bson_validate(value.data, value.len, 2 * ASH_DOC_MAX_DEPTH, NULL) == 0 &&
               ash__value_as_int64(ash__doc_get(value, "id"), &id)) {
        r->by_name += name_sum((ash_doc){key.data + 1, key.len - 1}, (uint32_t)id);
        greatest(&r->last_coll, ash__doc_get(value, "id"));
        ash_doc_iter it = ash__doc_iter(ash__value_doc(ash__doc_get(value, "indexes")));
        while (ash__doc_iter_next(&it))
            greatest(&r->last_index, ash__doc_get(ash__value_doc(it.value), "id"));
    } else if (key.data[0] != 'T' || key.len != 5 || row.len != 0) {
        row_found(c, 3, ASH_DB_CATALOG, page, "a row of the catalogue is damaged");
    }
}

static void see_drop(ash_census *c, uint64_t page, ash_doc key, ash_doc row)
{
    struct ash_census_rows *r = c->rows;
    if (key.len != 5 || row.len != 0 || (key.data[0] != 'R' && key.data[0] != 'X'))
        row_found(c, 3, ASH_DB_DROPS, page, "a dropped collection's row is damaged");
    else
        count_one(key.data[0] == 'R' ? &r->dropped_colls : &r->dropped_indexes,
                  ash__get_be32(key.data + 1));
}

static void see_record(ash_census *c, uint64_t page, ash_doc key, ash_doc row)
{
    ash_pointer place;
    ash_doc doc;
    /* Counted even when its sum is wrong: the counts have it. */
    if (key.len == ASH_RECORD_KEY_BYTES)
        count_one(&c->rows->records, ash__get_be32(key.data));
    if (ash__record_parse(ash__val(key.data, key.len), ash__val(row.data, row.len), &place, &doc,
                          NULL) != 0)
        row_found(c, 4, ASH_DB_RECORDS, page, "a record's row has a wrong checksum");
}

static void see_entry(ash_census *c, uint64_t page, ash_doc key, ash_doc row)
{
    if (key.len > 4)
        count_one(&c->rows->entries, ash__get_be32(key.data));
    if (!ash__entry_is_whole(ash__val(key.data, key.len), ash__val(row.data, row.len)))
        row_found(c, 8, ASH_DB_INDEX, page, "an entry of an index has a wrong checksum");
}

static void see_sum(ash_census *c, int db, uint64_t page, ash_doc key, ash_doc row)
{
    ash_doc value;
    /* A damaged entry is one that is there: the counts are right about it. */
    if (db == ASH_DB_OPLOG && row.len >= ASH_SUM_BYTES) {
        c->rows->logged++;
        c->rows->logged_bytes += row.len - ASH_SUM_BYTES;
    }
    if (!has_sum(key, row, &value))
        row_found(c, db == ASH_DB_OPLOG ? 10 : 11, db, page, "a row has a wrong checksum");
}

/* Of dropped ones nobody counts what is left. */
static bool agrees(const tally_list *seen, const tally_list *dropped, uint32_t id, uint64_t count,
                   uint64_t *matched)
{
    const tally *t = tally_of(seen, id);
    *matched += t != NULL;
    return tally_of(dropped, id) != NULL || (t != NULL ? t->count : 0) == count;
}

static void see_count(ash_census *c, uint64_t page, ash_doc key, ash_doc row)
{
    struct ash_census_rows *r = c->rows;
    bool good = false;
    uint32_t id = key.len == 5 ? ash__get_be32(key.data + 1) : 0;
    uint64_t count = row.len >= 16 ? ash__get_le64(row.data) : 0;
    if (key.len == 5 && key.data[0] == 'C' && row.len == 32) {
        good = agrees(&r->records, &r->dropped_colls, id, count, &r->matched_records);
    } else if (key.len == 5 && key.data[0] == 'X' && row.len == 16) {
        good = agrees(&r->entries, &r->dropped_indexes, id, count, &r->matched_entries);
    } else if (key.len == 5 && key.data[0] == 'O' && row.len == 16) {
        r->counted_log = true;
        good = count == r->logged && ash__get_le64(row.data + 8) == r->logged_bytes;
    }
    if (!good)
        row_found(c, 9, ASH_DB_COUNTS, page, "counts are not what there is");
}

static void end_segment(ash_census *c)
{
    if (c->rows->segment_used != c->rows->segment_marked)
        row_found(c, 6, ASH_DB_SPACE, UINT64_MAX,
                  "a map of blocks has not as many as its row says");
    c->rows->segment_used = c->rows->segment_marked = 0;
}

static void see_space(ash_census *c, uint64_t page, ash_doc key, ash_doc row)
{
    struct ash_census_rows *r = c->rows;
    uint32_t segment = key.len >= 4 ? ash__get_be32(key.data) : 0;
    if (key.len == 4 && row.len == 8) {
        end_segment(c);
        r->segment = segment;
        r->segment_used = ash__get_le32(row.data + 4);
    } else if (key.len == 8 && row.len == ASH_SLICE_BYTES && segment == r->segment) {
        /* Only as many bits as there should be; which records own them is for the check to compare.
         */
        for (size_t i = 0; i < row.len; i += 8)
            r->segment_marked += (uint64_t)__builtin_popcountll(ash__get_le64(row.data + i));
    } else {
        row_found(c, 6, ASH_DB_SPACE, page, "a row of a segment is damaged");
    }
}

static bool is_named(ash_doc key, const char *name)
{
    return key.len == strlen(name) && memcmp(key.data, name, key.len) == 0;
}

static void see_number(ash_census *c, uint64_t page, ash_doc key, ash_doc row)
{
    bool good = false;
    if (is_named(key, "store"))
        good = row.len == 20 && memcmp(row.data, c->engine->store_id, 16) == 0;
    else if (is_named(key, "collection"))
        good = row.len == 4 && ash__get_le32(row.data) >= c->rows->last_coll;
    else if (is_named(key, "index"))
        good = row.len == 4 && ash__get_le32(row.data) >= c->rows->last_index;
    else if (is_named(key, "sequence") || is_named(key, "journal"))
        good = row.len == 8;
    else
        good = is_named(key, "open") && row.len == 0;
    if (!good)
        row_found(c, 1, ASH_DB_META, page, "a number of the store's is damaged");
}

void ash__census_row(ash_census *c, int tree, uint64_t page, ash_doc key, ash_doc row)
{
    switch (tree) {
    case ASH_DB_CATALOG:
        see_catalog(c, page, key, row);
        break;
    case ASH_DB_DROPS:
        see_drop(c, page, key, row);
        break;
    case ASH_DB_RECORDS:
        see_record(c, page, key, row);
        break;
    case ASH_DB_INDEX:
        see_entry(c, page, key, row);
        break;
    case ASH_DB_COUNTS:
        see_count(c, page, key, row);
        break;
    case ASH_DB_SPACE:
        see_space(c, page, key, row);
        break;
    case ASH_DB_META:
        see_number(c, page, key, row);
        break;
    default:
        see_sum(c, tree, page, key, row);
        break;
    }
}

/* Those of them that were not dropped. */
static uint64_t living(const tally_list *seen, const tally_list *dropped)
{
    uint64_t count = 0;
    for (size_t i = 0; i < seen->count; i++)
        count += tally_of(dropped, seen->items[i].id) == NULL;
    return count;
}

void ash__census_rows_judge(ash_census *c)
{
    struct ash_census_rows *r = c->rows;
    end_segment(c);
    if (r->by_name != r->by_id)
        row_found(c, 3, ASH_DB_CATALOG, UINT64_MAX,
                  "names and ids of the collections do not belong together");
    if (r->matched_records < living(&r->records, &r->dropped_colls) ||
        r->matched_entries < living(&r->entries, &r->dropped_indexes) ||
        (!r->counted_log && r->logged > 0))
        row_found(c, 9, ASH_DB_COUNTS, UINT64_MAX, "counts are missing");
}
