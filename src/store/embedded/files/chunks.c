/* SPDX-License-Identifier: Apache-2.0 */
/* Which filters ask for the chunks of one file, and what an index on (files_id, n) says of them. */

#include "store/embedded/files/chunks.h"

#include "query/kit/value_text.h"
#include "store/embedded/scan/by_id.h"

#include <inttypes.h>
#include <string.h>

static bool take_file(void *ctx, const char *path, ash_value v)
{
    ash_value *out = ctx;
    if (strcmp(path, "files_id") == 0)
        *out = v;
    return true;
}

ash_value ash__chunks_file_of(const ash_matcher *filter)
{
    ash_value id = ASH_VALUE_MISSING;
    ash_error ignored = ASH_ERROR_INIT;
    if (ash__matcher_equalities(filter, take_file, &id, &ignored) != 0)
        return ASH_VALUE_MISSING;
    return id;
}

int64_t ash__chunk_key_number(ash_doc key, size_t file_bytes, bool descending)
{
    uint8_t code[16];
    int64_t n = -1;
    size_t len = key.len - file_bytes;
    if (key.len <= file_bytes || len > sizeof code)
        return -1;
    for (size_t i = 0; i < len; i++)
        /* A descending part is the ascending one with every bit turned. */
        code[i] = descending ? (uint8_t)~key.data[file_bytes + i] : key.data[file_bytes + i];
    return ash__keycode_read_whole(code, len, &n) ? n : -1;
}

int64_t ash__chunks_number(const ash_plan *plan, ash_value file, ash_doc key, ash_buffer *scratch)
{
    if (plan->kind != ASH_PLAN_IXSCAN || plan->index->pattern->count != 2 ||
        strcmp(plan->index->pattern->parts[1].path, "n") != 0 || ash__value_is_missing(file))
        return -1;
    const ash_key_part *parts = plan->index->pattern->parts;
    ash__buffer_clear(scratch);
    ash__keycode_append(scratch, file, parts[0].descending, NULL);
    if (key.len < scratch->len || memcmp(key.data, scratch->data, scratch->len) != 0)
        return -1;
    return ash__chunk_key_number(key, scratch->len, parts[1].descending);
}

/* ---- one file's chunks in order ---- */

static bool is_bound(ash_value v, int64_t *out)
{
    *out = ash__value_is_missing(v) || v.type != BSON_TYPE_INT64 ? -1 : ash__value_int64(v);
    return *out >= 0;
}

/* {$gte: …} or {$gte: …, $lte: …}, of int64. */
static bool take_bounds(ash_value v, ash_chunk_range *out)
{
    if (v.type != BSON_TYPE_DOCUMENT)
        return false;
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    if (!ash__doc_iter_next(&it) || strcmp(it.name, "$gte") != 0 ||
        !is_bound(it.value, &out->first))
        return false;
    if (!ash__doc_iter_next(&it))
        return true;
    return strcmp(it.name, "$lte") == 0 && is_bound(it.value, &out->last) &&
           !ash__doc_iter_next(&it);
}

static bool is_by_number(const bson_t *sort)
{
    int64_t direction;
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(sort));
    return ash__doc_iter_next(&it) && strcmp(it.name, "n") == 0 &&
           ash__value_as_int64(it.value, &direction) && direction == 1 && !ash__doc_iter_next(&it);
}

bool ash__chunk_range_of(const bson_t *filter, const ash_find_options *o, ash_chunk_range *out)
{
    *out = (ash_chunk_range){.first = -1, .last = -1};
    /* All that a bucket never asks for leaves the short way: it is there to be short. */
    if (!o->download || o->limit != 0 || o->sort == NULL || !ash__find_is_plain(o) ||
        !is_by_number(o->sort) || ash__op_writer(&o->op) != NULL || o->op.at_time != 0)
        return false;
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(filter));
    if (!ash__doc_iter_next(&it) || strcmp(it.name, "files_id") != 0 ||
        !ash__value_is_plain_id(it.value))
        return false;
    out->file = it.value;
    if (!ash__doc_iter_next(&it))
        return true;
    return strcmp(it.name, "n") == 0 && take_bounds(it.value, out) && !ash__doc_iter_next(&it);
}

const ash_index *ash__chunk_range_index(const ash_coll *coll)
{
    for (uint32_t i = 0; i < coll->index_count && !coll->has_collation; i++) {
        const ash_index *x = &coll->indexes[i];
        const ash_key_part *parts = x->pattern.parts;
        /* Anything unusual about the index is left to the planner, which knows about it. */
        if (x->ready && !x->hidden && !x->sparse && !x->multikey && x->partial == NULL &&
            !x->pattern.has_collation && x->pattern.count == 2 && !parts[0].descending &&
            !parts[0].hashed && !parts[1].descending && !parts[1].hashed &&
            strcmp(parts[0].path, "files_id") == 0 && strcmp(parts[1].path, "n") == 0)
            return x;
    }
    return NULL;
}

size_t ash__chunk_range_keys(const ash_chunk_range *r, ash_buffer *from, ash_buffer *to)
{
    ash_value_box box;
    ash__keycode_append(from, r->file, false, NULL);
    size_t file_bytes = from->len;
    ash__buffer_append(to, from->data, from->len);
    if (r->first >= 0)
        ash__keycode_append(from, ash__box_int64(&box, r->first), false, NULL);
    if (r->last >= 0)
        ash__keycode_append(to, ash__box_int64(&box, r->last), false, NULL);
    /* Without a last one the range ends behind all whole numbers; other types are no chunks. */
    if (r->first >= 0 && r->last < 0)
        ash__keycode_append_bracket_end(to, BSON_TYPE_INT64, false);
    else
        (void)ash__keycode_successor(to); /* no value's encoding is all 0xFF */
    return file_bytes;
}

/* ---- errors ---- */

void ash__chunk_error(const char *coll, ash_value file, int64_t n, ash_error *err)
{
    char id[96];
    if (err == NULL || !ash__name_ends_with(coll, ".chunks") || ash__value_is_missing(file))
        return;
    ash__value_text(file, id, sizeof id);
    if (n >= 0)
        ash__error_prefix(err, "file %s chunk %" PRId64, id, n);
    else
        ash__error_prefix(err, "file %s", id);
}
