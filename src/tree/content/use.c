/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/use.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* One request changes many contents, each for owners of its own: through a server each request is
 * run again with every later one.  So the update is a pipeline that has all lists of owners and
 * finds a content's own by the content's id:
 *
 *   [{$set: {refs: ADD or TAKE away the owners, refHistory: ADD, refsMore?: it is full}}]
 *
 * Of files that go on, what a content is like is forgotten with its last owner: whatever comes finds
 * the newer one, which is more like it. */

enum { CONTENTS_AT_ONCE = 200 };

/* What becomes of owners: they come; they go; they go, as they have a newer content. */
typedef enum use_change { COME, GO, GO_ON } use_change;

typedef struct owners {
    ash_content_id id;
    size_t first, count; /* of the sorted uses */
} owners;

/* ---- the pipeline ---- */

static void append_text(bson_t *doc, const char *key, const char *text)
{
    bson_append_utf8(doc, key, -1, text, -1);
}

static const char *nth(uint32_t i, char buf[ASH_KEY_CHARS])
{
    const char *key;
    bson_uint32_to_string(i, &key, buf, ASH_KEY_CHARS);
    return key;
}

/* {NAME: {$cond: [{$isArray: "$FIELD"}, "$FIELD", []]}}: what a document says may be anything. */
static void append_list_of(bson_t *doc, const char *name, const char *field)
{
    bson_t cond, args, is_array, empty;
    bson_append_document_begin(doc, name, -1, &cond);
    bson_append_array_begin(&cond, "$cond", 5, &args);
    bson_append_document_begin(&args, "0", 1, &is_array);
    append_text(&is_array, "$isArray", field);
    bson_append_document_end(&args, &is_array);
    append_text(&args, "1", field);
    bson_append_array_begin(&args, "2", 1, &empty);
    bson_append_array_end(&args, &empty);
    bson_append_array_end(&cond, &args);
    bson_append_document_end(doc, &cond);
}

static void append_owner_lists(bson_t *array, const char *key, const ash_content_use *uses,
                               const owners *all, size_t count)
{
    bson_t literal, lists, list;
    char buf[ASH_KEY_CHARS], inner[ASH_KEY_CHARS];
    bson_append_document_begin(array, key, -1, &literal);
    bson_append_array_begin(&literal, "$literal", 8, &lists);
    for (size_t i = 0; i < count; i++) {
        bson_append_array_begin(&lists, nth((uint32_t)i, buf), -1, &list);
        for (size_t j = 0; j < all[i].count; j++)
            bson_append_value(&list, nth((uint32_t)j, inner), -1, uses[all[i].first + j].owner);
        bson_append_array_end(&lists, &list);
    }
    bson_append_array_end(&literal, &lists);
    bson_append_document_end(array, &literal);
}

/* {$arrayElemAt: [{$literal: [[owners], …]}, {$indexOfArray: [{$literal: [ids]}, "$_id"]}]} */
static void append_own_owners(bson_t *doc, const char *name, const ash_content_use *uses,
                              const owners *all, size_t count)
{
    bson_t at, args, index, index_args, literal, ids;
    bson_append_document_begin(doc, name, -1, &at);
    bson_append_array_begin(&at, "$arrayElemAt", 12, &args);
    append_owner_lists(&args, "0", uses, all, count);
    bson_append_document_begin(&args, "1", 1, &index);
    bson_append_array_begin(&index, "$indexOfArray", 13, &index_args);
    bson_append_document_begin(&index_args, "0", 1, &literal);
    bson_append_array_begin(&literal, "$literal", 8, &ids);
    for (size_t i = 0; i < count; i++)
        ash__append_nth_id(&ids, (uint32_t)i, &all[i].id);
    bson_append_array_end(&literal, &ids);
    bson_append_document_end(&index_args, &literal);
    append_text(&index_args, "1", "$_id");
    bson_append_array_end(&index, &index_args);
    bson_append_document_end(&args, &index);
    bson_append_array_end(&at, &args);
    bson_append_document_end(doc, &at);
}

/* {NAME: {OPERATOR: [A, B]}} of two expressions that are paths. */
static void append_call(bson_t *doc, const char *name, const char *operator, const char * a,
                        const char *b)
{
    bson_t call, args;
    bson_append_document_begin(doc, name, -1, &call);
    bson_append_array_begin(&call, operator, - 1, &args);
    append_text(&args, "0", a);
    append_text(&args, "1", b);
    bson_append_array_end(&call, &args);
    bson_append_document_end(doc, &call);
}

/* {NAME: {$concatArrays: [OLD, {$setDifference: [OWNERS, OLD]}]}} */
static void append_union(bson_t *doc, const char *name, const char *old)
{
    bson_t concat, args;
    bson_append_document_begin(doc, name, -1, &concat);
    bson_append_array_begin(&concat, "$concatArrays", 13, &args);
    append_text(&args, "0", old);
    append_call(&args, "1", "$setDifference", "$ashOwners", old);
    bson_append_array_end(&concat, &args);
    bson_append_document_end(doc, &concat);
}

/* {NAME: {$cond: [{$lte: [{$size: LIST}, MAX]}, then, otherwise]}} */
static void append_if_fits(bson_t *doc, const char *name, const char *list, const char *then,
                           const char *otherwise)
{
    bson_t cond, args, lte, pair, size;
    bson_append_document_begin(doc, name, -1, &cond);
    bson_append_array_begin(&cond, "$cond", 5, &args);
    bson_append_document_begin(&args, "0", 1, &lte);
    bson_append_array_begin(&lte, "$lte", 4, &pair);
    bson_append_document_begin(&pair, "0", 1, &size);
    append_text(&size, "$size", list);
    bson_append_document_end(&pair, &size);
    bson_append_int32(&pair, "1", 1, ASH_REFS_MAX);
    bson_append_array_end(&lte, &pair);
    bson_append_document_end(&args, &lte);
    append_text(&args, "1", then);
    if (otherwise != NULL)
        append_text(&args, "2", otherwise);
    else
        bson_append_bool(&args, "2", 1, true);
    bson_append_array_end(&cond, &args);
    bson_append_document_end(doc, &cond);
}

static void begin_stage(bson_t *pipeline, uint32_t i, bson_t *stage, bson_t *set)
{
    char buf[ASH_KEY_CHARS];
    bson_append_document_begin(pipeline, nth(i, buf), -1, stage);
    bson_append_document_begin(stage, "$set", 4, set);
}

static void end_stage(bson_t *pipeline, bson_t *stage, bson_t *set)
{
    bson_append_document_end(stage, set);
    bson_append_document_end(pipeline, stage);
}

/* Fields for the pipeline's own use come first and go at its end. */
static void append_unset(bson_t *pipeline, uint32_t i)
{
    static const char *const fields[] = {"ashOwners", "ashRefs", "ashHistory"};
    bson_t stage, list;
    char buf[ASH_KEY_CHARS];
    bson_append_document_begin(pipeline, nth(i, buf), -1, &stage);
    bson_append_array_begin(&stage, "$unset", 6, &list);
    for (uint32_t j = 0; j < ASH_ARRAY_LEN(fields); j++)
        append_text(&list, nth(j, buf), fields[j]);
    bson_append_array_end(&stage, &list);
    bson_append_document_end(pipeline, &stage);
}

/* Where transactions may overlap, only a write makes them notice one another. */
static void append_touch(const ash_contents *c, bson_t *set)
{
    bson_oid_t now;
    if (c->serial)
        return;
    ash__contents_stamp(c, &now);
    bson_append_oid(set, "used", 4, &now);
}

static void append_holding(const ash_contents *c, bson_t *pipeline)
{
    bson_t stage, set;
    begin_stage(pipeline, 1, &stage, &set);
    append_union(&set, "ashRefs", "$refs");
    append_union(&set, "ashHistory", "$refHistory");
    end_stage(pipeline, &stage, &set);
    begin_stage(pipeline, 2, &stage, &set);
    append_if_fits(&set, "refs", "$ashRefs", "$ashRefs", "$refs");
    append_if_fits(&set, "refHistory", "$ashHistory", "$ashHistory", "$refHistory");
    append_if_fits(&set, "refsMore", "$ashHistory", "$refsMore", NULL);
    append_touch(c, &set);
    end_stage(pipeline, &stage, &set);
}

static void append_letting_go(const ash_contents *c, bson_t *pipeline)
{
    bson_t stage, set;
    begin_stage(pipeline, 1, &stage, &set);
    append_call(&set, "refs", "$setDifference", "$refs", "$ashOwners");
    append_touch(c, &set);
    end_stage(pipeline, &stage, &set);
}

/* {FIELD: {$cond: [{$or: [{$ne: ["$refs", []]}, "$refsMore"]}, "$FIELD", "$$REMOVE"]}} */
static void append_forgetting(bson_t *set, const char *field, const char *path)
{
    bson_t cond, args, or, ors, ne, pair, none;
    bson_append_document_begin(set, field, -1, &cond);
    bson_append_array_begin(&cond, "$cond", 5, &args);
    bson_append_document_begin(&args, "0", 1, & or);
    bson_append_array_begin(& or, "$or", 3, &ors);
    bson_append_document_begin(&ors, "0", 1, &ne);
    bson_append_array_begin(&ne, "$ne", 3, &pair);
    append_text(&pair, "0", "$refs");
    bson_append_array_begin(&pair, "1", 1, &none);
    bson_append_array_end(&pair, &none);
    bson_append_array_end(&ne, &pair);
    bson_append_document_end(&ors, &ne);
    append_text(&ors, "1", "$refsMore");
    bson_append_array_end(& or, &ors);
    bson_append_document_end(&args, & or);
    append_text(&args, "1", path);
    append_text(&args, "2", "$$REMOVE");
    bson_append_array_end(&cond, &args);
    bson_append_document_end(set, &cond);
}

static void append_forgetting_stage(bson_t *pipeline)
{
    bson_t stage, set;
    begin_stage(pipeline, 2, &stage, &set);
    append_forgetting(&set, "features", "$features");
    append_forgetting(&set, "sketch", "$sketch");
    end_stage(pipeline, &stage, &set);
}

static void build_pipeline(const ash_contents *c, const ash_content_use *uses, const owners *all,
                           size_t count, use_change change, bson_t *pipeline)
{
    bson_t stage, set;
    begin_stage(pipeline, 0, &stage, &set);
    append_own_owners(&set, "ashOwners", uses, all, count);
    append_list_of(&set, "refs", "$refs");
    append_list_of(&set, "refHistory", "$refHistory");
    end_stage(pipeline, &stage, &set);
    if (change == COME)
        append_holding(c, pipeline);
    else
        append_letting_go(c, pipeline);
    if (change == GO_ON)
        append_forgetting_stage(pipeline);
    append_unset(pipeline, change == GO ? 2 : 3);
}

/* ---- many contents ---- */

static int compare_uses(const void *a, const void *b)
{
    const ash_content_use *x = a, *y = b;
    return memcmp(x->id.bytes, y->id.bytes, sizeof x->id.bytes);
}

/* The uses in order of their contents, and which of them are of one. */
static size_t group(const ash_content_use *uses, size_t count, ash_content_use *sorted,
                    owners *groups)
{
    size_t n = 0;
    memcpy(sorted, uses, count * sizeof *uses);
    qsort(sorted, count, sizeof *sorted, compare_uses);
    for (size_t i = 0; i < count; i++) {
        if (n > 0 && ash__content_id_equal(&groups[n - 1].id, &sorted[i].id))
            groups[n - 1].count++;
        else
            groups[n++] = (owners){sorted[i].id, i, 1};
    }
    return n;
}

static int say_gone(const ash_content_id *ids, size_t count, ash_error *err)
{
    char hex[ASH_DIGEST_TEXT_BYTES];
    if (count == 1)
        return ash__content_fail(err, ASH_ECONFLICT, &ids[0], "is not there any more");
    ash__content_id_hex(&ids[0], hex);
    return ash__fail(err, ASH_ECONFLICT, "of %zu contents, as %s, one is not there any more", count,
                     hex);
}

/* Uses in order of their contents, and which of them are of one. */
typedef struct grouped {
    const ash_content_use *uses;
    const owners *all;
    size_t count;
} grouped;

static int apply(ash_contents *c, const grouped *some, use_change change, const ash_op *op,
                 ash_error *err)
{
    size_t count = some->count;
    ash_content_id ids[CONTENTS_AT_ONCE];
    bson_t filter = BSON_INITIALIZER, pipeline = BSON_INITIALIZER;
    int64_t matched = 0;
    for (size_t i = 0; i < count; i++)
        ids[i] = some->all[i].id;
    ash__filter_ids(&filter, "_id", ids, count);
    build_pipeline(c, some->uses, some->all, count, change, &pipeline);
    int rc = ash__change_many(c->files, &(ash_content_change){&filter, &pipeline, true}, op,
                              &matched, err);
    if (rc == 0 && change == COME && matched != (int64_t)count)
        rc = say_gone(ids, count, err);
    bson_destroy(&pipeline);
    bson_destroy(&filter);
    return rc;
}

static int apply_all(ash_contents *c, const ash_content_use *uses, size_t count, use_change change,
                     const ash_op *op, ash_error *err)
{
    ash_op own;
    int rc = ash__contents_op(op, &own, err);
    if (count == 0 || rc != 0)
        return rc;
    ash_content_use *sorted = ash__alloc_array(count, sizeof *sorted);
    owners *groups = ash__alloc_array(count, sizeof *groups);
    size_t n = group(uses, count, sorted, groups);
    for (size_t i = 0; rc == 0 && i < n; i += CONTENTS_AT_ONCE) {
        grouped some = {sorted, groups + i, n - i < CONTENTS_AT_ONCE ? n - i : CONTENTS_AT_ONCE};
        rc = apply(c, &some, change, &own, err);
    }
    ash__free(groups);
    ash__free(sorted);
    return rc;
}

int ash__contents_hold(ash_contents *c, const ash_content_use *uses, size_t count, const ash_op *op,
                       ash_error *err)
{
    return apply_all(c, uses, count, COME, op, err);
}

int ash__contents_let_go(ash_contents *c, const ash_content_use *uses, size_t count,
                         const ash_op *op, ash_error *err)
{
    return apply_all(c, uses, count, GO, op, err);
}

int ash__contents_go_on(ash_contents *c, const ash_content_use *uses, size_t count,
                        const ash_op *op, ash_error *err)
{
    return apply_all(c, uses, count, GO_ON, op, err);
}

int ash__contents_hold_dated(ash_contents *c, const ash_content_use *use, int64_t upload_date_ms,
                             const ash_op *op, ash_error *err)
{
    const owners one = {use->id, 0, 1};
    bson_t filter = BSON_INITIALIZER, pipeline = BSON_INITIALIZER;
    int64_t matched = 0;
    ash__append_id(&filter, "_id", &use->id);
    if (upload_date_ms != INT64_MIN)
        bson_append_date_time(&filter, "uploadDate", 10, upload_date_ms);
    build_pipeline(c, use, &one, 1, COME, &pipeline);
    int rc = ash__change_many(c->files, &(ash_content_change){&filter, &pipeline, true}, op,
                              &matched, err);
    if (rc == 0 && matched != 1)
        rc = say_gone(&use->id, 1, err);
    bson_destroy(&pipeline);
    bson_destroy(&filter);
    return rc;
}

/* ---- what others stand on ---- */

static int touch(ash_contents *c, const bson_t *filter, const ash_op *op, int64_t *there,
                 ash_error *err)
{
    bson_t update = BSON_INITIALIZER, set;
    bson_oid_t now;
    ash__contents_stamp(c, &now);
    bson_append_document_begin(&update, "$set", 4, &set);
    bson_append_oid(&set, "used", 4, &now);
    bson_append_document_end(&update, &set);
    int rc =
        ash__change_many(c->files, &(ash_content_change){filter, &update, false}, op, there, err);
    bson_destroy(&update);
    return rc;
}

static int count_there(ash_contents *c, const bson_t *filter, const ash_op *op, int64_t *there,
                       ash_error *err)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    o.op = *op;
    return ash_collection_count(c->files, filter, &o, there, err);
}

typedef int (*ids_fn)(ash_contents *c, const bson_t *filter, const ash_op *op, int64_t *there,
                      ash_error *err);

typedef struct batches {
    ash_contents *c;
    const ash_content_id *ids;
    size_t count;
} batches;

static int for_each_batch(const batches *all, ids_fn fn, const ash_op *op, int64_t *there,
                          ash_error *err)
{
    int rc = 0;
    *there = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i += ASH_CONTENT_IDS_AT_ONCE) {
        size_t left = all->count - i;
        bson_t filter = BSON_INITIALIZER;
        int64_t some = 0;
        ash__filter_ids(&filter, "_id", all->ids + i,
                        left < ASH_CONTENT_IDS_AT_ONCE ? left : ASH_CONTENT_IDS_AT_ONCE);
        rc = fn(all->c, &filter, op, &some, err);
        *there += some;
        bson_destroy(&filter);
    }
    return rc;
}

int ash__contents_rely_on(ash_contents *c, const ash_content_id *ids, size_t count,
                          const ash_op *op, ash_error *err)
{
    int64_t there = 0;
    int rc =
        for_each_batch(&(batches){c, ids, count}, c->serial ? count_there : touch, op, &there, err);
    if (rc == 0 && there != (int64_t)count)
        rc = say_gone(ids, count, err);
    return rc;
}

int ash__contents_renew(ash_contents *c, const ash_content_id *ids, size_t count, const ash_op *op,
                        int64_t *there, ash_error *err)
{
    *there = 0;
    int rc = ash__contents_ask_time(c, err);
    return rc == 0 ? for_each_batch(&(batches){c, ids, count}, touch, op, there, err) : rc;
}
