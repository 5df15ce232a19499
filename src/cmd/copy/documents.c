/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of one collection, in batches: what the target has is compared, the rest inserted.
 */
#include "cmd/copy/documents.h"

#include "base/error.h"
#include "base/mem.h"
#include "bson/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_DOCUMENTS = 1000, BATCH_BYTES = 4 * 1024 * 1024 }; /* of one insert, in one commit */

enum fate { MISSING, SAME, OTHER, DONE, REFUSED };

/* A batch of the source, and what is known of each document's like in the target. */
struct batch {
    const ash_doc *docs;
    size_t count;
    enum fate fates[BATCH_DOCUMENTS];
    struct place {
        ash_value id;
        uint32_t at;
    } by_id[BATCH_DOCUMENTS]; /* in the order of the ids' bytes */
};

static ash_value id_of(ash_doc doc)
{
    return ash__doc_get(doc, "_id");
}

static int compare_ids(ash_value a, ash_value b)
{
    if (a.type != b.type || a.len != b.len)
        return a.type != b.type ? a.type - b.type : (a.len > b.len) - (a.len < b.len);
    return a.len > 0 ? memcmp(a.data, b.data, a.len) : 0;
}

static int compare_places(const void *a, const void *b)
{
    return compare_ids(((const struct place *)a)->id, ((const struct place *)b)->id);
}

static void order_batch(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        b->fates[i] = MISSING;
        b->by_id[i] = (struct place){id_of(b->docs[i]), (uint32_t)i};
    }
    qsort(b->by_id, b->count, sizeof *b->by_id, compare_places);
}

/* The place of the document with exactly this _id, or -1. */
static int64_t find_id(const struct batch *b, ash_value id)
{
    const struct place wanted = {.id = id};
    const struct place *found =
        bsearch(&wanted, b->by_id, b->count, sizeof *b->by_id, compare_places);
    return found != NULL ? (int64_t)found->at : -1;
}

/* ---- failures ---- */

void ash__copy_table_fail(ash_copy_table *t, const char *what, const ash_error *err)
{
    /* Of a collection that is refused as a whole a million lines would say no more. */
    enum { TOLD_MAX = 20 };
    t->failed++;
    if (t->told == TOLD_MAX)
        ash__cmd_note(t->all->cmd, "%s: more failed, which are only counted", t->shown);
    if (t->told++ >= TOLD_MAX)
        return;
    char *name = what != NULL ? ash__sprintf("%s %s", t->shown, what) : ash__strdup(t->shown);
    ash__progress_clear(t->all->progress);
    ash__cmd_fail(t->all->cmd, name, err);
    ash__free(name);
}

static void fail_document(ash_copy_table *t, ash_doc doc, const ash_error *err)
{
    bson_t view, id = BSON_INITIALIZER;
    bson_iter_t at;
    ash__doc_to_bson(doc, &view);
    if (bson_iter_init_find(&at, &view, "_id"))
        bson_append_iter(&id, "_id", 3, &at);
    char *text = bson_as_relaxed_extended_json(&id, NULL);
    ash__copy_table_fail(t, text, err);
    bson_free(text);
    bson_destroy(&id);
}

/* ---- what the target has ---- */

static void ids_filter(const struct batch *b, ash_builder *out)
{
    uint32_t count = 0;
    ash__builder_begin(out);
    ash__builder_begin_doc(out, "_id");
    ash__builder_begin_array(out, "$in");
    for (size_t i = 0; i < b->count; i++) {
        if (b->fates[i] == MISSING)
            ash__builder_item(out, count++, id_of(b->docs[i]));
    }
    ash__builder_end(out);
    ash__builder_end(out);
    ash__builder_end(out);
}

static int read_target(ash_copy_table *t, struct batch *b, const bson_t *filter, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {0};
    int rc = ash_collection_find(t->to, filter, NULL, &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    while (rc == 0 && doc.data != NULL) {
        int64_t at = find_id(b, id_of(doc));
        /* $in finds 1 for 1.0, whose document is another's: inserting tells. */
        if (at >= 0) {
            const ash_doc *mine = &b->docs[at];
            bool same = mine->len == doc.len && memcmp(mine->data, doc.data, doc.len) == 0;
            b->fates[at] = same ? SAME : OTHER;
        }
        rc = ash_cursor_next(cursor, &doc, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

static int compare(ash_copy_table *t, struct batch *b, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT;
    bson_t view;
    /* The collection was made just now: nothing can be in it. */
    if (!t->may_be_there || t->to == NULL)
        return 0;
    ids_filter(b, &filter);
    ash__doc_to_bson(ash__builder_doc(&filter), &view);
    int rc = read_target(t, b, &view, err);
    ash__builder_release(&filter);
    return rc;
}

/* ---- writing ---- */

/* A server puts its time in place of an empty timestamp that is inserted. */
static bool has_empty_timestamp(ash_doc doc)
{
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        if (it.value.type == BSON_TYPE_TIMESTAMP && ash__value_int64(it.value) == 0)
            return true;
    }
    return false;
}

static int update(ash_copy_table *t, ash_doc doc, const bson_value_t *change, ash_error *err)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    ash_builder filter = ASH_BUILDER_INIT;
    bson_t view;
    ash__builder_begin(&filter);
    ash__builder_value(&filter, "_id", id_of(doc));
    ash__builder_end(&filter);
    ash__doc_to_bson(ash__builder_doc(&filter), &view);
    opts.op.bypass_validation = t->bypass;
    opts.op.cancel = &ash__cmd_interrupted;
    /* Of a replacement: somebody may have deleted the document meanwhile. */
    opts.upsert = change->value_type == BSON_TYPE_DOCUMENT;
    int rc = ash_collection_update(t->to, &view, change, &opts, NULL, err);
    ash__builder_release(&filter);
    return rc;
}

static int set_timestamps(ash_copy_table *t, ash_doc doc, ash_error *err)
{
    ash_builder stages = ASH_BUILDER_INIT;
    ash__builder_begin(&stages);
    ash__builder_begin_doc(&stages, "0");
    ash__builder_begin_doc(&stages, "$replaceWith");
    ash__builder_doc_value(&stages, "$literal", doc);
    ash__builder_end(&stages);
    ash__builder_end(&stages);
    ash__builder_end(&stages);
    ash_doc built = ash__builder_doc(&stages);
    bson_value_t change = {.value_type = BSON_TYPE_ARRAY};
    change.value.v_doc.data = (uint8_t *)(uintptr_t)built.data;
    change.value.v_doc.data_len = (uint32_t)built.len;
    int rc = update(t, doc, &change, err);
    ash__builder_release(&stages);
    return rc;
}

static int replace(ash_copy_table *t, ash_doc doc, ash_error *err)
{
    bson_value_t change = {.value_type = BSON_TYPE_DOCUMENT};
    change.value.v_doc.data = (uint8_t *)(uintptr_t)doc.data;
    change.value.v_doc.data_len = (uint32_t)doc.len;
    int rc = update(t, doc, &change, err);
    return rc == 0 && has_empty_timestamp(doc) ? set_timestamps(t, doc, err) : rc;
}

/* Of those that were refused: one that somebody brought meanwhile gets another turn, if there is
 * one, the others are told of.  places: of the inserted documents in the batch. */
static bool take_refusals(ash_copy_table *t, struct batch *b, const uint32_t *places,
                          const bson_t *errors, bool last)
{
    bool again = false;
    bson_iter_t list, at;
    if (!bson_iter_init(&list, errors))
        return false;
    while (bson_iter_next(&list)) {
        ash_error own = {.code = ASH_EINVAL};
        uint32_t place = 0;
        if (!bson_iter_recurse(&list, &at))
            continue;
        while (bson_iter_next(&at)) {
            if (strcmp(bson_iter_key(&at), "index") == 0)
                place = places[bson_iter_as_int64(&at)];
            else if (strcmp(bson_iter_key(&at), "code") == 0)
                own.server_code = (int32_t)bson_iter_as_int64(&at);
            else if (strcmp(bson_iter_key(&at), "errmsg") == 0)
                snprintf(own.text, sizeof own.text, "%s", bson_iter_utf8(&at, NULL));
        }
        bool waits = own.server_code == ASH_MONGO_DUPLICATE_KEY && !last;
        b->fates[place] = waits ? MISSING : REFUSED;
        again = again || waits;
        own.code = own.server_code == ASH_MONGO_DUPLICATE_KEY ? ASH_EEXISTS : ASH_EINVAL;
        if (!waits)
            fail_document(t, b->docs[place], &own);
    }
    return again;
}

/* In one go; *again: some have come from elsewhere, and are to be compared. */
static int insert_missing(ash_copy_table *t, struct batch *b, bool last, bool *again,
                          ash_error *err)
{
    ash_doc docs[BATCH_DOCUMENTS];
    uint32_t places[BATCH_DOCUMENTS];
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (b->fates[i] == MISSING) {
            places[count] = (uint32_t)i;
            docs[count++] = b->docs[i];
            /* Until a refusal says otherwise. */
            b->fates[i] = DONE;
        }
    }
    *again = false;
    if (count == 0 || t->all->cmd->dry_run)
        return 0;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    ash_write_result outcome;
    /* Those behind a refused one are as good as those before it. */
    opts.unordered = true;
    opts.op.bypass_validation = t->bypass;
    opts.op.cancel = &ash__cmd_interrupted;
    ash_write_result_init(&outcome);
    int rc = ash_collection_insert(t->to, docs, count, &opts, &outcome, err);
    if (rc != 0 && outcome.error_count > 0 && !ash__copy_ends_all(rc)) {
        *again = take_refusals(t, b, places, &outcome.errors, last);
        rc = 0;
    }
    ash_write_result_release(&outcome);
    return rc;
}

static int bring_one(ash_copy_table *t, ash_doc doc, enum fate fate, ash_error *err)
{
    if (fate == OTHER && !t->all->replace)
        return ash__fail(err, ASH_EEXISTS,
                         "the target has another document of that _id; --replace replaces it");
    if (t->all->cmd->dry_run)
        return 0;
    if (fate == OTHER)
        return replace(t, doc, err);
    return has_empty_timestamp(doc) ? set_timestamps(t, doc, err) : 0;
}

/* What is not done by inserting it as it is. */
static int bring_rest(ash_copy_table *t, struct batch *b, ash_error *err)
{
    for (size_t i = 0; i < b->count; i++) {
        ash_error own = ASH_ERROR_INIT;
        if (b->fates[i] != OTHER && b->fates[i] != DONE)
            continue;
        int rc = bring_one(t, b->docs[i], b->fates[i], &own);
        if (ash__copy_ends_all(rc))
            return ash__unless(0, rc, &own, err);
        if (rc != 0) {
            b->fates[i] = REFUSED;
            fail_document(t, b->docs[i], &own);
        }
    }
    return 0;
}

/* It would get a new one each time. */
static void refuse_nameless(ash_copy_table *t, struct batch *b)
{
    ash_error own = ASH_ERROR_INIT;
    for (size_t i = 0; i < b->count; i++) {
        if (!ash__value_is_missing(id_of(b->docs[i])))
            continue;
        ash__fail(&own, ASH_EINVAL, "a document without _id");
        b->fates[i] = REFUSED;
        ash__copy_table_fail(t, NULL, &own);
    }
}

static void count_batch(ash_copy_table *t, const struct batch *b)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < b->count; i++) {
        t->copied += b->fates[i] == DONE ? 1 : 0;
        t->replaced += b->fates[i] == OTHER ? 1 : 0;
        t->present += b->fates[i] == SAME ? 1 : 0;
        bytes += (int64_t)b->docs[i].len;
    }
    t->read += (int64_t)b->count;
    ash__progress_add(t->all->progress, bytes, (int64_t)b->count, t->shown);
}

static int put_batch(ash_copy_table *t, struct batch *b, ash_error *err)
{
    bool again = true;
    int rc = 0;
    order_batch(b);
    refuse_nameless(t, b);
    for (int turn = 0; rc == 0 && again && turn < 2; turn++) {
        rc = compare(t, b, err);
        if (rc == 0)
            rc = insert_missing(t, b, turn == 1, &again, err);
        t->may_be_there = t->may_be_there || again;
    }
    if (rc == 0)
        rc = bring_rest(t, b, err);
    if (rc == 0)
        count_batch(t, b);
    return rc;
}

static int verify_batch(ash_copy_table *t, struct batch *b, ash_error *err)
{
    order_batch(b);
    t->may_be_there = true;
    int rc = compare(t, b, err);
    for (size_t i = 0; rc == 0 && i < b->count; i++)
        t->verified += b->fates[i] == SAME ? 1 : 0;
    t->read += (int64_t)b->count;
    return rc;
}

/* ---- reading the source ---- */

static bool goes_on(ash_collection *c)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    return ash_store_capabilities(ash_collection_store(c), &can, NULL) == 0 && can.past_damage;
}

typedef int (*batch_visit)(ash_copy_table *t, struct batch *b, ash_error *err);

static int read_batch(ash_copy_table *t, ash_cursor *cursor, batch_visit visit, struct batch *b,
                      bool *end, ash_error *err)
{
    ash_batch got;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_cursor_next_batch(cursor, BATCH_DOCUMENTS, BATCH_BYTES, &got, &own);
    if (rc == ASH_ECORRUPT && goes_on(t->from)) {
        /* Only once; verifying comes by here as well. */
        if (visit == put_batch)
            ash__copy_table_fail(t, NULL, &own); /* it costs one document */
        return 0;
    }
    if (rc != 0)
        return ash__unless(0, rc, &own, err);
    *end = got.exhausted || got.count == 0;
    b->docs = got.docs;
    b->count = got.count;
    return got.count > 0 ? visit(t, b, err) : 0;
}

static int each_batch(ash_copy_table *t, batch_visit visit, ash_error *err)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    struct batch *b = ash__new(struct batch);
    ash_cursor *cursor = NULL;
    bson_t all = BSON_INITIALIZER;
    bool end = false;
    /* Between two batches the target may take long. */
    opts.no_cursor_timeout = true;
    opts.past_damage = true;
    opts.op.cancel = &ash__cmd_interrupted;
    int rc = ash_collection_find(t->from, &all, &opts, &cursor, err);
    while (rc == 0 && !end) {
        rc = ash__cmd_check_interrupted(err);
        if (rc == 0)
            rc = read_batch(t, cursor, visit, b, &end, err);
    }
    ash_cursor_free(cursor);
    bson_destroy(&all);
    ash__free(b);
    return rc;
}

int ash__copy_documents(ash_copy_table *t, ash_error *err)
{
    return each_batch(t, put_batch, err);
}

int ash__copy_verify(ash_copy_table *t, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int64_t failed = t->failed;
    t->read = 0;
    int rc = each_batch(t, verify_batch, err);
    int64_t differing = t->read - t->verified;
    /* Those that failed were told of. */
    if (rc == 0 && differing > failed) {
        ash__fail(&own, ASH_ECORRUPT,
                  "%" PRId64 " document%s differ%s from the source's, or were changed meanwhile",
                  differing, ash__cmd_s(differing), differing == 1 ? "s" : "");
        ash__copy_table_fail(t, NULL, &own);
    }
    return rc;
}
