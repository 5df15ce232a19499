/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the distinct ids in the index of the chunks, bracket by bracket of BSON's order. */
#include "bucket/sweep_ids.h"

#include <math.h>

/* $gt and $gte never leave a type's bracket, so each bracket has its own start. */
enum bracket {
    BRACKET_MIN_KEY,
    BRACKET_NULL,
    BRACKET_NAN,
    BRACKET_NUMBER,
    BRACKET_STRING,
    BRACKET_DOCUMENT,
    BRACKET_BINARY,
    BRACKET_OID,
    BRACKET_BOOL,
    BRACKET_DATE,
    BRACKET_TIMESTAMP,
    BRACKET_CODE,
    BRACKET_MAX_KEY,
    BRACKET_END
};

/* One walk. */
typedef struct each_id {
    const ash_work *work;
    ash_sweep_visit visit;
    void *ctx;
    ash_error *damage;
} each_id;

enum { DAMAGED_MAX = 10000 }; /* chunks in a row; each costs a look that skips all before it */

static void append_start(bson_t *range, enum bracket bracket)
{
    static const bson_oid_t zero = {{0}};
    bson_t empty = BSON_INITIALIZER;
    switch (bracket) {
    case BRACKET_MIN_KEY:
        BSON_APPEND_MINKEY(range, "$eq");
        break;
    case BRACKET_NULL:
        BSON_APPEND_NULL(range, "$eq");
        break;
    case BRACKET_NAN:
        BSON_APPEND_DOUBLE(range, "$eq", (double)NAN);
        break;
    case BRACKET_NUMBER:
        BSON_APPEND_DOUBLE(range, "$gte", (double)-INFINITY);
        break;
    case BRACKET_STRING:
        BSON_APPEND_UTF8(range, "$gte", "");
        break;
    case BRACKET_DOCUMENT:
        BSON_APPEND_DOCUMENT(range, "$gte", &empty);
        break;
    case BRACKET_BINARY:
        BSON_APPEND_BINARY(range, "$gte", BSON_SUBTYPE_BINARY, (const uint8_t *)"", 0);
        break;
    case BRACKET_OID:
        BSON_APPEND_OID(range, "$gte", &zero);
        break;
    case BRACKET_BOOL:
        BSON_APPEND_BOOL(range, "$gte", false);
        break;
    case BRACKET_DATE:
        BSON_APPEND_DATE_TIME(range, "$gte", INT64_MIN);
        break;
    case BRACKET_TIMESTAMP:
        BSON_APPEND_TIMESTAMP(range, "$gte", 0, 0);
        break;
    case BRACKET_CODE:
        BSON_APPEND_CODE(range, "$gte", "");
        break;
    case BRACKET_MAX_KEY:
        BSON_APPEND_MAXKEY(range, "$eq");
        break;
    case BRACKET_END:
        break;
    }
}

/* Where the walk stands. */
typedef struct place {
    enum bracket bracket;
    const bson_value_t *after; /* the last id; NULL: at the bracket's start */
} place;

/* The first id behind the place, but for so many chunks.  *found false: there is none. */
static int find_behind(const each_id *e, const place *at, int64_t skip, bson_value_t *id,
                       bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t range;
    bson_t doc;
    bson_iter_t it;
    bson_t *sort = BCON_NEW("files_id", BCON_INT32(1), "n", BCON_INT32(1));
    bson_t *projection = BCON_NEW("_id", BCON_INT32(0), "files_id", BCON_INT32(1));
    ash_find_options o = ash__work_find_options(e->work);
    o.sort = sort;
    o.skip = skip;
    o.projection = projection;
    BSON_APPEND_DOCUMENT_BEGIN(&filter, "files_id", &range);
    if (at->after != NULL)
        BSON_APPEND_VALUE(&range, "$gt", at->after);
    else
        append_start(&range, at->bracket);
    bson_append_document_end(&filter, &range);
    int rc = ash__collection_find_if_any(e->work->bucket->chunks, &filter, &o, &doc, found, err);
    if (*found) {
        id->value_type = BSON_TYPE_NULL; /* a chunk without files_id is found as null */
        if (bson_iter_init_find(&it, &doc, "files_id"))
            bson_value_copy(bson_iter_value(&it), id);
        bson_destroy(&doc);
    }
    bson_destroy(projection);
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

/* Brackets of one value. */
static bool is_single(enum bracket bracket)
{
    return bracket == BRACKET_MIN_KEY || bracket == BRACKET_NULL || bracket == BRACKET_NAN ||
           bracket == BRACKET_MAX_KEY;
}

/* A damaged chunk tells no id; the next one may be of the same file. */
static int find_next(const each_id *e, const place *at, bson_value_t *id, bool *found,
                     ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = find_behind(e, at, 0, id, found, &own);
    for (int64_t skip = 1; rc == ASH_ECORRUPT && skip <= DAMAGED_MAX; skip++) {
        if (e->damage->code == 0)
            *e->damage = own;
        rc = find_behind(e, at, skip, id, found, &own);
    }
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}

static int each_of_bracket(const each_id *e, enum bracket bracket, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    place at = {bracket, NULL};
    bool found = false;
    int rc = find_next(e, &at, &id, &found, err);
    while (rc == 0 && found) {
        rc = e->visit(e->ctx, &id, err);
        if (is_single(bracket))
            break;
        if (rc == 0) {
            bson_value_t next = {.value_type = BSON_TYPE_EOD};
            at.after = &id;
            rc = find_next(e, &at, &next, &found, err);
            bson_value_destroy(&id);
            id = next;
        }
    }
    bson_value_destroy(&id);
    return rc;
}

int ash__sweep_each_id(const ash_work *work, ash_sweep_visit visit, void *ctx, ash_error *damage,
                       ash_error *err)
{
    const each_id e = {work, visit, ctx, damage};
    int rc = 0;
    for (int i = 0; rc == 0 && i < BRACKET_END; i++)
        rc = each_of_bracket(&e, (enum bracket)i, err);
    return rc;
}
