/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline reads and writes besides its own collection.  A stage that is not known here is
 * refused: a new one, too, until somebody has said what it needs. */
#include "wire/needs.h"

#include "base/mem.h"

#include <string.h>

enum { MAX_NESTED = 40 }; /* pipelines in pipelines; deeper ones are refused by the store as well */

typedef struct reading {
    ash_command *c;
    const char *coll; /* NULL: none */
    int depth;
    ash_buffer *joined; /* NULL: it is asked whether they may be read; else they are gathered */
} reading;

static int need_stages(reading *r, ash_doc stages, ash_error *err);

static int need_nested(const reading *r, const char *coll, ash_value stages, ash_error *err)
{
    reading inner = {.c = r->c, .coll = coll, .depth = r->depth + 1, .joined = r->joined};
    if (stages.type != BSON_TYPE_ARRAY)
        return 0;
    return inner.depth > MAX_NESTED ? ash__deny(r->c, err)
                                    : need_stages(&inner, ash__value_doc(stages), err);
}

/* A namespace as stages name it: "coll", or {db, coll}. */
static void read_target(const reading *r, ash_value v, const char **db, const char **coll)
{
    *db = r->c->db;
    *coll = ash__value_utf8(v, NULL);
    if (v.type == BSON_TYPE_DOCUMENT) {
        *db = ash__doc_utf8(ash__value_doc(v), "db", r->c->db);
        *coll = ash__doc_utf8(ash__value_doc(v), "coll", NULL);
    }
}

static int need_find(const reading *r, ash_value from, ash_error *err)
{
    const char *db, *coll;
    read_target(r, from, &db, &coll);
    if (coll == NULL)
        return 0;
    if (r->joined == NULL)
        return ash__require(r->c, db, coll, ASH_CAN(FIND), err);
    /* With their NULs. */
    ash__buffer_append(r->joined, db, strlen(db) + 1);
    ash__buffer_append(r->joined, coll, strlen(coll) + 1);
    return 0;
}

/* ---- stages ---- */

static int stage_free(const reading *r, ash_value arg, ash_error *err)
{
    (void)r;
    (void)arg;
    (void)err;
    return 0;
}

static ash_value field(ash_value doc, const char *name)
{
    return doc.type == BSON_TYPE_DOCUMENT ? ash__doc_get(ash__value_doc(doc), name)
                                          : ASH_VALUE_MISSING;
}

/* The store may go by the last of two fields of a name, where this goes by the first. */
static bool has_twins(ash_value v)
{
    if (v.type != BSON_TYPE_DOCUMENT)
        return false;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        if (ash__doc_get(ash__value_doc(v), it.name).data != it.value.data || has_twins(it.value))
            return true;
    }
    return false;
}

/* $lookup and $graphLookup. */
static int stage_lookup(const reading *r, ash_value arg, ash_error *err)
{
    ash_value from = field(arg, "from");
    int rc = need_find(r, from, err);
    return rc == 0 ? need_nested(r, ash__value_utf8(from, NULL), field(arg, "pipeline"), err) : rc;
}

static int stage_union(const reading *r, ash_value arg, ash_error *err)
{
    int rc = need_find(r, arg, err);
    return rc == 0 ? need_nested(r, ash__value_utf8(field(arg, "coll"), NULL),
                                 field(arg, "pipeline"), err)
                   : rc;
}

static int stage_facet(const reading *r, ash_value arg, ash_error *err)
{
    int rc = 0;
    ash_doc facets = arg.type == BSON_TYPE_DOCUMENT ? ash__value_doc(arg) : ash__doc_empty;
    for (ash_doc_iter it = ash__doc_iter(facets); rc == 0 && ash__doc_iter_next(&it);)
        rc = need_nested(r, r->coll, it.value, err);
    return rc;
}

static int need_write(const reading *r, ash_value target, ash_actions actions, ash_error *err)
{
    const char *db, *coll;
    read_target(r, target, &db, &coll);
    if (ash__arg_bool(r->c, "bypassDocumentValidation", false))
        actions |= ASH_CAN(BYPASS_DOCUMENT_VALIDATION);
    return coll == NULL ? ash__deny(r->c, err) : ash__require(r->c, db, coll, actions, err);
}

static int stage_out(const reading *r, ash_value arg, ash_error *err)
{
    return need_write(r, arg, ASH_CAN(INSERT) | ASH_CAN(REMOVE), err);
}

static int stage_merge(const reading *r, ash_value arg, ash_error *err)
{
    ash_value into = arg.type == BSON_TYPE_DOCUMENT ? field(arg, "into") : arg;
    return need_write(r, into, ASH_CAN(INSERT) | ASH_CAN(UPDATE), err);
}

/* Of a collection, a database, or everything. */
static int stage_changes(const reading *r, ash_value arg, ash_error *err)
{
    const ash_actions actions = ASH_CAN(CHANGE_STREAM) | ASH_CAN(FIND);
    if (ash__value_truthy(field(arg, "allChangesForCluster")))
        return ash__require(r->c, "", "", actions, err);
    return ash__require(r->c, r->c->db, r->coll != NULL ? r->coll : "", actions, err);
}

static int stage_current_op(const reading *r, ash_value arg, ash_error *err)
{
    bool all = ash__value_truthy(field(arg, "allUsers"));
    return !all || ash__may_cluster(r->c, ASH_CAN(INPROG)) ? 0 : ash__deny(r->c, err);
}

static int stage_sessions(const reading *r, ash_value arg, ash_error *err)
{
    (void)arg;
    return ash__may_cluster(r->c, ASH_CAN(LIST_SESSIONS)) ? 0 : ash__deny(r->c, err);
}

static int stage_coll_stats(const reading *r, ash_value arg, ash_error *err)
{
    (void)arg;
    return ash__require(r->c, r->c->db, r->coll != NULL ? r->coll : "", ASH_CAN(COLL_STATS), err);
}

static const struct stage {
    const char *name;
    int (*need)(const reading *r, ash_value arg, ash_error *err);
    bool own_source; /* as the first stage: the collection itself is not read */
} stages_known[] = {
    {"$addFields", stage_free, false},
    {"$bucket", stage_free, false},
    {"$bucketAuto", stage_free, false},
    {"$changeStream", stage_changes, true},
    {"$changeStreamSplitLargeEvent", stage_free, false},
    {"$collStats", stage_coll_stats, true},
    {"$count", stage_free, false},
    {"$currentOp", stage_current_op, true},
    {"$densify", stage_free, false},
    {"$documents", stage_free, true},
    {"$facet", stage_facet, false},
    {"$fill", stage_free, false},
    {"$graphLookup", stage_lookup, false},
    {"$group", stage_free, false},
    {"$limit", stage_free, false},
    {"$listLocalSessions", stage_sessions, true},
    {"$lookup", stage_lookup, false},
    {"$match", stage_free, false},
    {"$merge", stage_merge, false},
    {"$out", stage_out, false},
    {"$project", stage_free, false},
    {"$redact", stage_free, false},
    {"$replaceRoot", stage_free, false},
    {"$replaceWith", stage_free, false},
    {"$sample", stage_free, false},
    {"$set", stage_free, false},
    {"$setWindowFields", stage_free, false},
    {"$skip", stage_free, false},
    {"$sort", stage_free, false},
    {"$sortByCount", stage_free, false},
    {"$unionWith", stage_union, false},
    {"$unset", stage_free, false},
    {"$unwind", stage_free, false},
};

static const struct stage *find_stage(const char *name)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(stages_known); i++)
        if (strcmp(stages_known[i].name, name) == 0)
            return &stages_known[i];
    return NULL;
}

bool ash__need_knows_stage(const char *name)
{
    return find_stage(name) != NULL;
}

static int need_stages(reading *r, ash_doc stages, ash_error *err)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(stages); rc == 0 && ash__doc_iter_next(&it);) {
        ash_doc stage =
            it.value.type == BSON_TYPE_DOCUMENT ? ash__value_doc(it.value) : ash__doc_empty;
        /* A stage has one field, or the store refuses it. */
        for (ash_doc_iter f = ash__doc_iter(stage); rc == 0 && ash__doc_iter_next(&f);) {
            const struct stage *known = find_stage(f.name);
            bool free = known != NULL && known->need == stage_free;
            if (known == NULL || (!free && has_twins(f.value)))
                rc = ash__deny(r->c, err);
            else
                rc = known->need(r, f.value, err);
        }
    }
    return rc;
}

int ash__need_pipeline(ash_command *c, const char *coll, ash_doc stages, ash_error *err)
{
    reading r = {.c = c, .coll = coll};
    ash_doc_iter it = ash__doc_iter(stages);
    const struct stage *first = NULL;
    if (ash__doc_iter_next(&it) && it.value.type == BSON_TYPE_DOCUMENT) {
        ash_doc_iter f = ash__doc_iter(ash__value_doc(it.value));
        first = ash__doc_iter_next(&f) ? find_stage(f.name) : NULL;
    }
    int rc = 0;
    if (first == NULL || !first->own_source)
        rc = ash__require(c, c->db, coll != NULL ? coll : "", ASH_CAN(FIND), err);
    return rc == 0 ? need_stages(&r, stages, err) : rc;
}

void ash__pipeline_joins(ash_command *c, const char *coll, ash_doc stages, ash_buffer *out)
{
    ash_error ignored = ASH_ERROR_INIT;
    reading r = {.c = c, .coll = coll, .joined = out};
    (void)need_stages(&r, stages, &ignored);
}

int ash__need_joined(const ash_command *c, const ash_buffer *joined, ash_error *err)
{
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < joined->len;) {
        const char *db = (const char *)joined->data + at, *coll = db + strlen(db) + 1;
        rc = ash__require(c, db, coll, ASH_CAN(FIND), err);
        at += strlen(db) + strlen(coll) + 2;
    }
    return rc;
}
