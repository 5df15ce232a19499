/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of keys that a census says may be missed, and the file in which the next run finds them.
 * What cannot be understood of it counts as damage of everything: forgetting would be believing in
 * rows again. */
#include "engine/damaged_rows.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"
#include "bson/builder.h"

#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 4 << 20 };

static const char file_name[] = "damage";
static const char magic[] = "ASHDAMG1";

/* ---- ranges ---- */

static ash_damaged_range *new_range(ash_damaged_rows *rows, int db)
{
    rows->items = ash__grow_array(rows->items, rows->count, &rows->capacity, sizeof *rows->items);
    ash_damaged_range *r = &rows->items[rows->count++];
    /* All of it, padding too: ranges are compared by memcmp. */
    memset(r, 0, sizeof *r);
    r->db = db;
    return r;
}

static bool set_end(ash_doc key, bool *has, uint16_t *len, uint8_t *bytes)
{
    *has = key.data != NULL && key.len <= ASH_KEY_MAX;
    *len = *has ? (uint16_t)key.len : 0;
    if (*has && key.len > 0)
        memcpy(bytes, key.data, key.len);
    return *has;
}

void ash__damaged_rows_add_all(ash_damaged_rows *rows, int db)
{
    new_range(rows, db)->is_stale = true;
}

static ash_damaged_range *add_range(ash_damaged_rows *rows, int db, ash_doc low, ash_doc high)
{
    ash_damaged_range *r = new_range(rows, db);
    set_end(low, &r->has_low, &r->low_len, r->low);
    set_end(high, &r->has_high, &r->high_len, r->high);
    return r;
}

void ash__damaged_rows_add(ash_damaged_rows *rows, const ash_census_finding *f)
{
    if (f->db < 0 && !f->all_rows)
        return;
    if (f->all_rows) {
        ash__damaged_rows_add_all(rows, -1);
        return;
    }
    add_range(rows, f->db, f->low, f->high)->is_exact = f->exact;
    if (f->stale)
        add_range(rows, f->db, f->stale_low, f->stale_high)->is_stale = true;
}

bool ash__damaged_rows_copy(ash_damaged_rows *rows, const ash_damaged_range *range)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (memcmp(&rows->items[i], range, sizeof *range) == 0)
            return false;
    }
    memcpy(new_range(rows, range->db), range, sizeof *range);
    return true;
}

static bool lies_in(const ash_damaged_range *r, int db, ash_doc low, ash_doc high)
{
    /* One key is asked for by the same bytes at both ends. */
    bool is_key = low.data != NULL && low.data == high.data && low.len == high.len;
    if (r->db != db)
        return r->db < 0;
    /* Whoever walks meets the damaged row, and the records beside it are whole. */
    if (r->is_exact && !is_key)
        return false;
    ash_doc from = {r->low, r->low_len}, to = {r->high, r->high_len};
    /* A stretch of keys ends before `high`, a single key is `high` itself. */
    return (!r->has_low || high.data == NULL ||
            ash__bytes_compare(high, from) >= (is_key ? 0 : 1)) &&
           (!r->has_high || low.data == NULL || ash__bytes_compare(low, to) < 0);
}

bool ash__damaged_rows_meet(const ash_damaged_rows *rows, int db, ash_doc low, ash_doc high)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (lies_in(&rows->items[i], db, low, high))
            return true;
    }
    return false;
}

bool ash__damaged_rows_are_stale(const ash_damaged_rows *rows, int db, ash_doc low, ash_doc high)
{
    for (size_t i = 0; i < rows->count; i++) {
        const ash_damaged_range *r = &rows->items[i];
        if (r->is_stale && lies_in(r, db, low, high))
            return true;
    }
    return false;
}

void ash__damaged_rows_release(ash_damaged_rows *rows)
{
    ash__free(rows->items);
    *rows = (ash_damaged_rows){NULL, 0, 0};
}

/* ---- the file ---- */

/* Magic (8), checksum (8) of the document that follows:
 * {store: id, findings: n, structure: true or false, first: text,
 *  rows: [{db: name or "*", low: key, high: key, stale: true or false, exact: true or false}]},
 * without low or high where there is no end. */
enum { SUM_AT = 8, DOC_AT = 16 };

static void append_bytes(ash_builder *doc, const char *name, const uint8_t *bytes, size_t len)
{
    ash__builder_binary(doc, name, BSON_SUBTYPE_BINARY, bytes, (uint32_t)len);
}

static void append_ranges(ash_builder *doc, const ash_damaged_rows *rows)
{
    char name[12];
    ash__builder_begin_array(doc, "rows");
    for (size_t i = 0; i < rows->count; i++) {
        const ash_damaged_range *r = &rows->items[i];
        ash__builder_begin_doc(doc, ash__index_name((uint32_t)i, name));
        ash__builder_text(doc, "db", r->db < 0 ? "*" : ash__database_names[r->db]);
        if (r->has_low)
            append_bytes(doc, "low", r->low, r->low_len);
        if (r->has_high)
            append_bytes(doc, "high", r->high, r->high_len);
        ash__builder_bool(doc, "stale", r->is_stale);
        ash__builder_bool(doc, "exact", r->is_exact);
        ash__builder_end(doc);
    }
    ash__builder_end(doc);
}

int ash__damaged_rows_save(const ash_engine *e, const ash_damage *damage,
                           const ash_damaged_rows *rows, ash_error *err)
{
    ash_buffer b = ASH_BUFFER_INIT;
    uint8_t sum[8];
    ash_builder doc = ASH_BUILDER_INIT;
    char *path = ash__path_join(e->folder, file_name);
    ash__builder_begin(&doc);
    append_bytes(&doc, "store", e->store_id, sizeof e->store_id);
    ash__builder_int64(&doc, "findings", (int64_t)damage->findings);
    ash__builder_bool(&doc, "structure", damage->structure);
    ash__builder_text(&doc, "first", damage->first);
    append_ranges(&doc, rows);
    ash__builder_end(&doc);
    ash_doc bytes = ash__builder_doc(&doc);
    ash__put_le64(sum, ash__checksum(bytes.data, bytes.len));
    ash__buffer_append(&b, magic, SUM_AT);
    ash__buffer_append(&b, sum, sizeof sum);
    ash__buffer_append(&b, bytes.data, bytes.len);
    /* The file is replaced by name: it must not become part of another store. */
    int rc = ash__folder_require(e, err);
    if (rc == 0)
        rc = ash__file_replace(path, b.data, b.len, err);
    ash__builder_release(&doc);
    ash__buffer_release(&b);
    ash__free(path);
    return rc;
}

void ash__damaged_rows_forget(const ash_engine *e)
{
    char *path = ash__path_join(e->folder, file_name);
    if (ash__folder_require(e, NULL) == 0)
        ash__io()->unlink(path);
    ash__free(path);
}

static bool get_bytes(ash_doc doc, const char *name, ash_doc *bytes)
{
    uint8_t subtype;
    uint32_t len = 0;
    ash_value value = ash__doc_get(doc, name);
    if (value.type != BSON_TYPE_BINARY)
        return false;
    bytes->data = ash__value_binary(value, &subtype, &len);
    bytes->len = len;
    return true;
}

static int database_of(const char *name)
{
    for (int i = 0; i < ASH_DB_COUNT; i++) {
        if (strcmp(name, ash__database_names[i]) == 0)
            return i;
    }
    /* "*", and what a later version may have: of all databases. */
    return -1;
}

static void take_range(ash_damaged_rows *rows, ash_doc doc)
{
    ash_doc low = {NULL, 0}, high = {NULL, 0};
    ash_damaged_range *r = new_range(rows, database_of(ash__doc_utf8(doc, "db", "")));
    if (get_bytes(doc, "low", &low))
        set_end(low, &r->has_low, &r->low_len, r->low);
    if (get_bytes(doc, "high", &high))
        set_end(high, &r->has_high, &r->high_len, r->high);
    r->is_stale = ash__value_truthy(ash__doc_get(doc, "stale"));
    r->is_exact = ash__value_truthy(ash__doc_get(doc, "exact"));
}

static bool take_file(const ash_engine *e, const uint8_t *bytes, size_t len, ash_damage *damage,
                      ash_damaged_rows *rows)
{
    ash_doc doc = {bytes + DOC_AT, len - DOC_AT}, id;
    int64_t findings = 0;
    if (len < DOC_AT || memcmp(bytes, magic, SUM_AT) != 0 ||
        ash__get_le64(bytes + SUM_AT) != ash__checksum(doc.data, doc.len) ||
        ash__bson_validate(doc.data, doc.len, ASH_DOC_MAX_DEPTH, NULL) != 0 ||
        !get_bytes(doc, "store", &id) || id.len != sizeof e->store_id ||
        memcmp(id.data, e->store_id, id.len) != 0 ||
        !ash__value_as_int64(ash__doc_get(doc, "findings"), &findings) || findings <= 0)
        return false;
    damage->findings = (uint64_t)findings;
    damage->structure = ash__value_truthy(ash__doc_get(doc, "structure"));
    snprintf(damage->first, sizeof damage->first, "%s", ash__doc_utf8(doc, "first", ""));
    ash_doc_iter it = ash__doc_iter(ash__value_doc(ash__doc_get(doc, "rows")));
    while (ash__doc_iter_next(&it))
        take_range(rows, ash__value_doc(it.value));
    return true;
}

int ash__damaged_rows_load(const ash_engine *e, ash_damage *damage, ash_damaged_rows *rows,
                           ash_error *err)
{
    char *path = ash__path_join(e->folder, file_name);
    uint8_t *bytes = NULL;
    size_t len = 0;
    memset(damage, 0, sizeof *damage);
    int rc = ash__file_load(path, FILE_MAX, &bytes, &len, err);
    bool strange = rc == ASH_ECORRUPT || rc == ASH_ETOOBIG;
    if (strange || (rc == 0 && !take_file(e, bytes, len, damage, rows))) {
        damage->findings = 1;
        damage->structure = true;
        snprintf(damage->first, sizeof damage->first,
                 "damage was found earlier, and %s, which says more, cannot be read", path);
        ash__damaged_rows_add_all(rows, -1);
    }
    ash__free(bytes);
    ash__free(path);
    return strange || rc == ASH_ENOTFOUND ? 0 : rc;
}
