/* SPDX-License-Identifier: Apache-2.0 */
#include "lock/brief.h"

#include "base/mem.h"

/* See brief.h; the filters here leave every doubtful document to the programs. */

/* After so many wrong guesses in a row about resources that are new here, one in so many is made.
 */
enum { WRONG_IN_A_ROW = 3, ONE_IN = 16 };

static bool has_items(const bson_t *doc, const char *field)
{
    bson_iter_t list, item;
    return bson_iter_init_find(&list, doc, field) && BSON_ITER_HOLDS_ARRAY(&list) &&
           bson_iter_recurse(&list, &item) && bson_iter_next(&item);
}

bool ash__lock_is_wanted(const bson_t *doc)
{
    return has_items(doc, "waiters") || ash__lock_bool(doc, "write_req");
}

bool ash__lock_is_busy(const bson_t *doc)
{
    return ash__lock_is_wanted(doc) || has_items(doc, "holders") ||
           ash__lock_bool(doc, "write_lock") || ash__lock_int(doc, "read_locks") > 0;
}

bool ash__lock_guess(ash_lock_collection *c, const ash_lock_resource *r)
{
    ash__mutex_assert_held(&c->mutex);
    /* Two of ours want it: one of them waits. */
    if (ash__lock_is_crowded(r))
        return false;
    if (r->known)
        return !r->busy;
    return c->wrong_guesses < WRONG_IN_A_ROW || c->wrong_guesses++ % ONE_IN == 0;
}

void ash__lock_guessed(ash_lock_collection *c, bool right)
{
    ash__mutex_assert_held(&c->mutex);
    if (right)
        c->wrong_guesses = 0;
    else if (c->wrong_guesses < WRONG_IN_A_ROW)
        c->wrong_guesses++;
}

static void append_size(bson_t *filter, const char *field, int32_t size)
{
    BCON_APPEND(filter, field, "{", "$size", BCON_INT32(size), "}");
}

/* Nobody waits, and nothing is left of those who did: a field that is missing matches nothing here
 * but null, so documents of other writers that are not whole go to the program. */
static void append_unwanted(bson_t *filter)
{
    BSON_APPEND_BOOL(filter, "write_req", false);
    BSON_APPEND_BOOL(filter, "own_req", false);
    append_size(filter, "waiters", 0);
}

static void append_free(bson_t *filter)
{
    BSON_APPEND_BOOL(filter, "write_lock", false);
    BSON_APPEND_INT32(filter, "read_locks", 0);
    append_unwanted(filter);
    append_size(filter, "holders", 0);
    BSON_APPEND_NULL(filter, "turn");
    BSON_APPEND_NULL(filter, "req_since");
    BSON_APPEND_NULL(filter, "readers_wait");
    BSON_APPEND_NULL(filter, "next");
    BCON_APPEND(filter, "reads", "{", "$type", "number", "}", "writes", "{", "$type", "number",
                "}");
}

/* Whatever it holds, it is no expression. */
static void append_literal(bson_t *to, const char *name, const bson_t *q, const char *parameter)
{
    bson_t literal;
    bson_iter_t at;
    BSON_APPEND_DOCUMENT_BEGIN(to, name, &literal);
    if (bson_iter_init_find(&at, q, parameter))
        bson_append_iter(&literal, "$literal", -1, &at); /* there is no macro for it */
    else
        BSON_APPEND_NULL(&literal, "$literal");
    bson_append_document_end(to, &literal);
}

/* {$add: [path, number]} */
static void append_sum(bson_t *to, const char *name, const char *path, int64_t number)
{
    BCON_APPEND(to, name, "{", "$add", "[", BCON_UTF8(path), BCON_INT64(number), "]", "}");
}

/* {$add: [path, {$literal: 1}]}, of the type that the programs make of it. */
static void append_next(bson_t *to, const char *name, const char *path)
{
    BCON_APPEND(to, name, "{", "$add", "[", BCON_UTF8(path), BCON_INT32(1), "]", "}");
}

static void append_one(bson_t *to, const char *name)
{
    BCON_APPEND(to, name, "{", "$literal", BCON_INT32(1), "}");
}

static void append_holder(bson_t *set, bool write, const bson_t *q)
{
    bson_t list, entry;
    BSON_APPEND_ARRAY_BEGIN(set, "holders", &list);
    BSON_APPEND_DOCUMENT_BEGIN(&list, "0", &entry);
    append_literal(&entry, "h", q, "h");
    BSON_APPEND_UTF8(&entry, "mode", write ? "write" : "read");
    append_one(&entry, "n");
    if (write)
        append_next(&entry, "w", "$writes");
    else
        BSON_APPEND_UTF8(&entry, "w", "$writes");
    BSON_APPEND_UTF8(&entry, "since", "$$NOW");
    append_sum(&entry, "exp", "$$NOW", ash__lock_int(q, "life"));
    append_literal(&entry, "host", q, "host");
    append_literal(&entry, "pid", q, "pid");
    bson_append_document_end(&list, &entry);
    bson_append_array_end(set, &list);
}

/* The fields that apply_write and apply_read in programs.c change in a free document. */
static void append_grant(bson_t *set, bool write, const bson_t *q)
{
    bson_t last;
    const char *count = write ? "writes" : "reads";
    append_sum(set, "expires", "$$NOW", ash__lock_int(q, "life"));
    if (write)
        BSON_APPEND_BOOL(set, "write_lock", true);
    else
        append_one(set, "read_locks");
    append_next(set, count, write ? "$writes" : "$reads");
    append_literal(set, "meta", q, "meta");
    append_holder(set, write, q);
    BSON_APPEND_DOCUMENT_BEGIN(set, "last", &last);
    append_literal(&last, "h", q, "h");
    BSON_APPEND_UTF8(&last, "mode", write ? "write" : "read");
    BSON_APPEND_UTF8(&last, "at", "$$NOW");
    bson_append_document_end(set, &last);
}

/* What `tidy` in programs.c makes of a document that has nothing but files_id. */
static void append_defaults(bson_t *to)
{
    BSON_APPEND_NULL(to, "expires"); /* which the grant sets */
    BSON_APPEND_INT32(to, "read_locks", 0);
    BSON_APPEND_BOOL(to, "write_lock", false);
    BSON_APPEND_BOOL(to, "write_req", false);
    BSON_APPEND_INT32(to, "reads", 0);
    BSON_APPEND_INT32(to, "writes", 0);
    BSON_APPEND_NULL(to, "meta");
    BCON_APPEND(to, "holders", "[", "]", "waiters", "[", "]");
    BSON_APPEND_BOOL(to, "own_req", false);
    BSON_APPEND_NULL(to, "turn");
    BSON_APPEND_NULL(to, "readers_wait");
    BSON_APPEND_NULL(to, "req_since");
    BSON_APPEND_NULL(to, "last");
    BSON_APPEND_NULL(to, "next");
}

/* {$replaceWith: {$cond: [condition, {$mergeObjects: ["$$ROOT", more]}, "$$ROOT"]}} */
static void append_merge_if(bson_t *stages, const char *key, const bson_t *condition,
                            const bson_t *more)
{
    BCON_APPEND(stages, key, "{", "$replaceWith", "{", "$cond", "[", BCON_DOCUMENT(condition), "{",
                "$mergeObjects", "[", BCON_UTF8("$$ROOT"), BCON_DOCUMENT(more), "]", "}",
                BCON_UTF8("$$ROOT"), "]", "}", "}");
}

static void append_new_stage(bson_t *stages)
{
    bson_t *is_new =
        BCON_NEW("$eq", "[", "{", "$type", BCON_UTF8("$_id"), "}", BCON_UTF8("missing"), "]");
    bson_t defaults = BSON_INITIALIZER;
    append_defaults(&defaults);
    bson_t *literal = BCON_NEW("$literal", BCON_DOCUMENT(&defaults));
    append_merge_if(stages, "0", is_new, literal);
    bson_destroy(literal);
    bson_destroy(&defaults);
    bson_destroy(is_new);
}

/* As append_free() says it to a filter; a list has null for what is missing. */
static bson_t *is_free(void)
{
    return BCON_NEW("$and", "[", "{", "$eq", "[", "[", BCON_UTF8("$write_lock"),
                    BCON_UTF8("$read_locks"), BCON_UTF8("$write_req"), BCON_UTF8("$own_req"),
                    BCON_UTF8("$waiters"), BCON_UTF8("$holders"), BCON_UTF8("$turn"),
                    BCON_UTF8("$req_since"), BCON_UTF8("$readers_wait"), BCON_UTF8("$next"), "]",
                    "{", "$literal", "[", BCON_BOOL(false), BCON_INT32(0), BCON_BOOL(false),
                    BCON_BOOL(false), "[", "]", "[", "]", BCON_NULL, BCON_NULL, BCON_NULL,
                    BCON_NULL, "]", "}", "]", "}", "{", "$in", "[", "{", "$type",
                    BCON_UTF8("$reads"), "}", "[", BCON_UTF8("int"), BCON_UTF8("long"), "]", "]",
                    "}", "{", "$in", "[", "{", "$type", BCON_UTF8("$writes"), "}", "[",
                    BCON_UTF8("int"), BCON_UTF8("long"), "]", "]", "}", "]");
}

/* A document that may be missing is found by files_id alone and made where it is: a filter that
 * says more would have made a second one of one that is held, but for the unique index, which goes
 * when somebody drops the collection. */
static void open_stages(bool write, const bson_t *q, bson_t *stages)
{
    bson_t grant = BSON_INITIALIZER;
    bson_t *condition = is_free();
    append_new_stage(stages);
    append_grant(&grant, write, q);
    append_merge_if(stages, "1", condition, &grant);
    bson_destroy(condition);
    bson_destroy(&grant);
}

/* [{$set: …}], of one that the filter has found to be free. */
static void free_stages(bool write, const bson_t *q, bson_t *stages)
{
    bson_t stage, set;
    BSON_APPEND_DOCUMENT_BEGIN(stages, "0", &stage);
    BSON_APPEND_DOCUMENT_BEGIN(&stage, "$set", &set);
    append_grant(&set, write, q);
    bson_append_document_end(&stage, &set);
    bson_append_document_end(stages, &stage);
}

typedef struct change {
    const bson_t *filter;
    bson_value_t update;
    bool upsert;
} change;

static int make_change(ash_lock_collection *c, const change *how, bson_t *doc, bool *found,
                       ash_error *err)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    o.op = ash__lock_op(c);
    o.update = &how->update;
    o.upsert = how->upsert;
    o.return_new = true;
    int rc = ash_collection_find_and_modify(c->locks, how->filter, &o, doc, found, NULL, err);
    if (rc == 0 && !*found)
        bson_destroy(doc);
    return rc;
}

/* An open one that was not free comes back as it was. */
static bool is_granted(const bson_t *doc, const bson_t *q)
{
    bson_iter_t at, last, h;
    return bson_iter_init_find(&h, q, "h") && bson_iter_init(&at, doc) &&
           bson_iter_find_descendant(&at, "last.h", &last) && BSON_ITER_HOLDS_OID(&last) &&
           bson_oid_equal(bson_iter_oid(&last), bson_iter_oid(&h));
}

int ash__lock_brief_obtain(ash_lock_collection *c, const ash_lock_move *move, bson_t *doc,
                           bool *found, ash_error *err)
{
    bson_t filter, stages = BSON_INITIALIZER;
    bool write = move->program == ASH_LOCK_OBTAIN_WRITE;
    bson_copy_to(move->filter, &filter);
    if (move->upsert) {
        open_stages(write, move->parameters, &stages);
    } else {
        append_free(&filter);
        free_stages(write, move->parameters, &stages);
    }
    const change how = {&filter, ash__lock_view(&stages, BSON_TYPE_ARRAY), move->upsert};
    int rc = make_change(c, &how, doc, found, err);
    if (rc == ASH_EEXISTS && move->upsert) { /* somebody made it at the same moment */
        *found = false;
        rc = 0;
    }
    if (rc == 0 && *found && !is_granted(doc, move->parameters)) {
        bson_destroy(doc);
        *found = false;
    }
    bson_destroy(&stages);
    bson_destroy(&filter);
    return rc;
}

static void append_follow_filter(bson_t *filter, const bson_t *q)
{
    bson_iter_t h;
    BSON_APPEND_BOOL(filter, "write_lock", false);
    BSON_APPEND_INT32(filter, "read_locks", 0);
    append_size(filter, "holders", 0);
    if (bson_iter_init_find(&h, q, "h"))
        bson_append_iter(filter, "waiters.0.h", -1, &h);
    BCON_APPEND(filter, "$expr", "{", "$lte", "[", BCON_UTF8("$turn"), BCON_UTF8("$$NOW"), "]",
                "}");
}

/* What apply_write makes of it when the first in the queue gets it. */
static void follow_stages(const bson_t *q, bson_t *stages)
{
    bson_t stage, set;
    BSON_APPEND_DOCUMENT_BEGIN(stages, "0", &stage);
    BSON_APPEND_DOCUMENT_BEGIN(&stage, "$set", &set);
    append_grant(&set, true, q);
    BSON_APPEND_INT32(&set, "read_locks", 0);
    BSON_APPEND_BOOL(&set, "write_req", false);
    BSON_APPEND_BOOL(&set, "own_req", false);
    BSON_APPEND_NULL(&set, "req_since");
    BSON_APPEND_NULL(&set, "next");
    BCON_APPEND(&set, "waiters", "{", "$slice", "[", "$waiters", BCON_INT32(1),
                BCON_INT32(INT32_MAX), "]", "}");
    bson_append_document_end(&stage, &set);
    bson_append_document_end(stages, &stage);
}

int ash__lock_brief_follow(ash_lock_collection *c, const ash_lock_move *move, bson_t *doc,
                           bool *found, ash_error *err)
{
    bson_t filter, stages = BSON_INITIALIZER;
    bson_copy_to(move->filter, &filter);
    append_follow_filter(&filter, move->parameters);
    follow_stages(move->parameters, &stages);
    const change how = {&filter, ash__lock_view(&stages, BSON_TYPE_ARRAY), false};
    int rc = make_change(c, &how, doc, found, err);
    bson_destroy(&stages);
    bson_destroy(&filter);
    return rc;
}

int ash__lock_brief_pass(ash_lock_collection *c, const ash_lock_grant *g, const bson_t *q,
                         bson_t *doc, bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, stages = BSON_INITIALIZER;
    bson_iter_t h;
    ash__lock_ownership(g, &filter);
    if (bson_iter_init_find(&h, q, "h"))
        bson_append_iter(&filter, "waiters.0.h", -1, &h);
    /* Not when it is the readers' turn, or a release would give it to them. */
    BCON_APPEND(&filter, "$expr", "{", "$and", "[", "{", "$lte", "[", BCON_UTF8("$turn"),
                BCON_UTF8("$$NOW"), "]", "}", "{", "$or", "[", "{", "$lte", "[",
                BCON_UTF8("$readers_wait"), BCON_UTF8("$$NOW"), "]", "}", "{", "$gt", "[", "{",
                "$add", "[", BCON_UTF8("$turn"), BCON_INT64(ash__lock_int(q, "rest")), "]", "}",
                BCON_UTF8("$$NOW"), "]", "}", "]", "}", "]", "}");
    follow_stages(q, &stages);
    const change how = {&filter, ash__lock_view(&stages, BSON_TYPE_ARRAY), false};
    int rc = make_change(c, &how, doc, found, err);
    bson_destroy(&stages);
    bson_destroy(&filter);
    return rc;
}

int ash__lock_brief_leave(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc, bool *found,
                          ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash__lock_filter_id(&filter, "_id", &g->doc_id);
    BSON_APPEND_INT64(&filter, "writes", g->writes);
    BSON_APPEND_BOOL(&filter, "write_lock", false);
    BCON_APPEND(&filter, "holders", "{", "$elemMatch", "{", "h", BCON_OID(&g->h), "w",
                BCON_INT64(g->writes), "n", "{", "$gt", BCON_INT32(1), "}", "}", "}");
    /* Else a stale release of the package took somebody away, which the program puts right. */
    BCON_APPEND(&filter, "$expr", "{", "$gte", "[", BCON_UTF8("$read_locks"), "{", "$sum",
                BCON_UTF8("$holders.n"), "}", "]", "}");
    bson_t *operators = BCON_NEW("$inc", "{", "read_locks", BCON_INT32(-1), "holders.$.n",
                                 BCON_INT32(-1), "}", "$set", "{", "meta", BCON_NULL, "}");
    const change how = {&filter, ash__lock_view(operators, BSON_TYPE_DOCUMENT), false};
    int rc = make_change(c, &how, doc, found, err);
    bson_destroy(operators);
    bson_destroy(&filter);
    return rc;
}

/* {$set: …, $currentDate: {expires: true}} */
static void release_update(bool write, bson_t *update)
{
    bson_t set;
    BSON_APPEND_DOCUMENT_BEGIN(update, "$set", &set);
    if (write) {
        BSON_APPEND_BOOL(&set, "write_lock", false);
        BSON_APPEND_BOOL(&set, "write_req", false);
        BSON_APPEND_BOOL(&set, "own_req", false);
    }
    BSON_APPEND_INT32(&set, "read_locks", 0);
    BSON_APPEND_NULL(&set, "meta");
    BCON_APPEND(&set, "holders", "[", "]");
    bson_append_document_end(update, &set);
    /* $$NOW is for pipelines; this is the same clock for plain operators. */
    BCON_APPEND(update, "$currentDate", "{", "expires", BCON_BOOL(true), "}");
}

int ash__lock_brief_release(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc,
                            bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, operators = BSON_INITIALIZER;
    ash__lock_ownership(g, &filter);
    if (g->write) {
        /* Without waiters there is no turn to give; write_req falls, as in the program. */
        append_size(&filter, "waiters", 0);
    } else {
        append_unwanted(&filter);
        append_size(&filter, "holders", 1);
        BSON_APPEND_INT32(&filter, "holders.0.n", 1);
        BSON_APPEND_INT32(&filter, "read_locks", 1);
    }
    release_update(g->write, &operators);
    const change how = {&filter, ash__lock_view(&operators, BSON_TYPE_DOCUMENT), false};
    int rc = make_change(c, &how, doc, found, err);
    bson_destroy(&operators);
    bson_destroy(&filter);
    return rc;
}
