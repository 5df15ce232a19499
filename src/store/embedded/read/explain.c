/* SPDX-License-Identifier: Apache-2.0 */
/* Explain: the command is read as far as it says what to find, planned as it would be, and, if
 * asked to, the plan is run without its effect. */

#include "store/embedded/read/slots.h"

#include "base/budget.h"
#include "base/clock.h"
#include "bson/path.h"
#include "query/pipeline/pipeline.h"
#include "query/plan/cover.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/read/views.h"
#include "store/embedded/scan/plan.h"

#include <string.h>
#include <unistd.h>

/* What a command would read, whatever it does with it. */
typedef struct explained {
    const char *name; /* of the command */
    bson_t filter;    /* static views into the command, or into the pipeline's head */
    bson_t sort;
    bson_t projection;
    bson_t collation;
    bson_t let;
    bson_t min;
    bson_t max;
    bson_value_t hint;
    bool has_hint;
    int64_t skip;
    int64_t limit;
    ash_pipeline *pipeline;
    ash_env pipeline_env;
} explained;

typedef struct run_figures {
    uint64_t returned;
    uint64_t keys;
    uint64_t docs;
    int64_t ms;
} run_figures;

typedef struct explaining {
    ash_embedded *store;
    const char *verbosity;
    const ash_op *op;
    explained x;
    ash_env env;
    ash_request request;
    bson_t winning;
    run_figures figures;
    bool ran;
} explaining;

static void take_doc(ash_doc command, const char *name, bson_t *out)
{
    ash_value v = ash__doc_get(command, name);
    ash__doc_to_bson(v.type == BSON_TYPE_DOCUMENT ? ash__value_doc(v) : ash__doc_empty, out);
}

static void take_number(ash_doc command, const char *name, int64_t *out)
{
    ash_value v = ash__doc_get(command, name);
    if (!ash__value_as_int64(v, out))
        *out = 0;
    /* A negative limit counts like its absolute value. */
    if (*out < 0)
        *out = *out == INT64_MIN ? INT64_MAX : -*out;
}

static void take_hint(ash_doc source, explained *x)
{
    ash_value v = ash__doc_get(source, "hint");
    uint32_t len;
    memset(&x->hint, 0, sizeof x->hint);
    if (v.type == BSON_TYPE_UTF8) {
        x->hint.value_type = BSON_TYPE_UTF8;
        x->hint.value.v_utf8.str = (char *)(uintptr_t)ash__value_string(v, &len);
        x->hint.value.v_utf8.len = len;
    } else if (v.type == BSON_TYPE_DOCUMENT) {
        x->hint.value_type = BSON_TYPE_DOCUMENT;
        x->hint.value.v_doc.data = (uint8_t *)(uintptr_t)ash__value_doc(v).data;
        x->hint.value.v_doc.data_len = (uint32_t)ash__value_doc(v).len;
    }
    x->has_hint = x->hint.value_type != 0;
}

/* The first of the statements of an update or delete command. */
static ash_doc first_statement(ash_doc command, const char *list)
{
    ash_value v = ash__doc_get(command, list);
    ash_value first = v.type == BSON_TYPE_ARRAY ? ash__doc_get(ash__value_doc(v), "0") : v;
    return first.type == BSON_TYPE_DOCUMENT ? ash__value_doc(first) : ash__doc_empty;
}

static int read_pipeline(ash_embedded *s, ash_doc command, const ash_op *op, explained *x,
                         ash_error *err)
{
    /* Compiled for its head alone; it never runs. */
    ash_pipeline_host none = {0};
    bson_t stages;
    ash_value v = ash__doc_get(command, "pipeline");
    int rc = ash__env_init(s, op, &x->collation, &x->let, &x->pipeline_env, err);
    if (rc != 0)
        return rc;
    ash__doc_to_bson(v.type == BSON_TYPE_ARRAY ? ash__value_doc(v) : ash__doc_empty, &stages);
    rc = ash__pipeline_new(&stages, &x->pipeline_env.query, &none, &x->pipeline, err);
    if (rc != 0)
        return rc;
    const ash_pipeline_head *head = ash__pipeline_head(x->pipeline);
    ash__doc_to_bson(ash__doc_from_bson(&head->match), &x->filter);
    ash__doc_to_bson(ash__doc_from_bson(&head->sort), &x->sort);
    x->skip = head->skip;
    x->limit = head->limit;
    return 0;
}

static int read_command(ash_embedded *s, const bson_t *command, const ash_op *op, explained *x,
                        ash_error *err)
{
    ash_doc doc = ash__doc_from_bson(command);
    ash_doc_iter it = ash__doc_iter(doc);
    memset(x, 0, sizeof *x);
    x->name = ash__doc_iter_next(&it) ? it.name : "";
    take_doc(doc, "filter", &x->filter);
    take_doc(doc, "sort", &x->sort);
    take_doc(doc, "projection", &x->projection);
    take_doc(doc, "collation", &x->collation);
    take_doc(doc, "let", &x->let);
    take_doc(doc, "min", &x->min);
    take_doc(doc, "max", &x->max);
    take_hint(doc, x);
    /* Only these have them at the top; elsewhere they are stages. */
    if (strcmp(x->name, "find") == 0 || strcmp(x->name, "count") == 0) {
        take_number(doc, "skip", &x->skip);
        take_number(doc, "limit", &x->limit);
    }
    if (strcmp(x->name, "find") == 0)
        return 0;
    if (strcmp(x->name, "aggregate") == 0)
        return read_pipeline(s, doc, op, x, err);
    ash_doc source = doc;
    const char *filter = "query";
    if (strcmp(x->name, "update") == 0 || strcmp(x->name, "delete") == 0) {
        source = first_statement(doc, x->name[0] == 'u' ? "updates" : "deletes");
        filter = "q";
        take_doc(source, "collation", &x->collation);
        take_hint(source, x);
    } else if (strcmp(x->name, "findAndModify") == 0 || strcmp(x->name, "findandmodify") == 0) {
        take_doc(doc, "fields", &x->projection);
        x->limit = 1;
    } else if (strcmp(x->name, "distinct") != 0 && strcmp(x->name, "count") != 0) {
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_COMMAND_NOT_FOUND,
                                "Explain failed due to unknown command: %s", x->name);
    }
    take_doc(source, filter, &x->filter);
    return 0;
}

static void release_command(explained *x)
{
    ash__pipeline_free(x->pipeline);
    ash__env_release(&x->pipeline_env);
}

/* Run the plan as the command would, without its effect. */
static int run_plan(explaining *e, ash_snapshot *snap, const ash_coll *coll, ash_error *err)
{
    const explained *x = &e->x;
    ash_request *r = &e->request;
    run_figures *out = &e->figures;
    ash_scan_plan scan;
    ash_builder made = ASH_BUILDER_INIT;
    /* A sort has to see all matches before it gives the first. */
    bool in_order = ash__sort_spec_is_empty(r->sort) || r->plan->provides_sort;
    /* A plan that gives the order stops at the last document that is wanted. */
    uint64_t most = in_order && x->limit > 0 ? (uint64_t)x->limit + (uint64_t)x->skip : UINT64_MAX;
    bool counts = strcmp(x->name, "count") == 0;
    uint64_t seen = 0;
    int64_t from = ash__clock_ms();
    bool covers = in_order && strcmp(x->name, "find") == 0;
    ash_cover *cover = covers && r->plan->kind == ASH_PLAN_IXSCAN
                           ? ash__cover_new(&x->projection, r->plan->index)
                           : NULL;
    ash__scan_plan_init(&scan, r, e->op, counts || cover != NULL ? ASH_FETCH_NONE : ASH_FETCH_DOC);
    int rc = ash__scan_plan_attach(&scan, snap, coll, err);
    while (rc == 0 && seen < most) {
        ash_record record;
        bool found = false;
        rc = ash__scan_plan_next(&scan, &record, NULL, &found, err);
        if (rc != 0 || !found)
            break;
        seen++;
        if (cover != NULL && record.doc.data == NULL &&
            !ash__cover_make(cover, scan.hit.key, &made))
            /* What the key cannot tell is fetched by the find as well, and counted. */
            rc = ash__scan_plan_reget(&scan, record.rid, &record, NULL, &found, err);
    }
    ash__cover_free(cover);
    ash__builder_release(&made);
    out->keys = scan.keys_examined;
    out->docs = scan.docs_examined;
    ash__scan_plan_release(&scan);
    out->returned = seen > (uint64_t)x->skip ? seen - (uint64_t)x->skip : 0;
    if (x->limit > 0 && out->returned > (uint64_t)x->limit)
        out->returned = (uint64_t)x->limit;
    out->ms = ash__clock_ms() - from;
    return rc;
}

static void append_planner(const explaining *e, const char *ns, ash_builder *b)
{
    ash__builder_begin_doc(b, "queryPlanner");
    ash__builder_text(b, "namespace", ns);
    ash__builder_bool(b, "indexFilterSet", false);
    ash__builder_doc_value(b, "parsedQuery", ash__doc_from_bson(&e->x.filter));
    ash__builder_doc_value(b, "winningPlan", ash__doc_from_bson(&e->winning));
    ash__builder_array_value(b, "rejectedPlans", ash__doc_empty);
    ash__builder_end(b);
}

/* The winning plan once more, with what was counted. */
static void append_stages(const explaining *e, ash_builder *b)
{
    const run_figures *f = &e->figures;
    ash__builder_begin_doc(b, "executionStages");
    ash__builder_elements(b, ash__doc_from_bson(&e->winning));
    ash__builder_int64(b, "nReturned", (int64_t)f->returned);
    ash__builder_int64(b, "executionTimeMillisEstimate", f->ms);
    ash__builder_int64(b, "keysExamined", (int64_t)f->keys);
    ash__builder_int64(b, "docsExamined", (int64_t)f->docs);
    ash__builder_end(b);
}

static void append_statistics(const explaining *e, ash_builder *b)
{
    const run_figures *f = &e->figures;
    ash__builder_begin_doc(b, "executionStats");
    ash__builder_bool(b, "executionSuccess", true);
    ash__builder_int32(b, "nReturned", (int32_t)f->returned);
    ash__builder_int32(b, "executionTimeMillis", (int32_t)f->ms);
    ash__builder_int32(b, "totalKeysExamined", (int32_t)f->keys);
    ash__builder_int32(b, "totalDocsExamined", (int32_t)f->docs);
    append_stages(e, b);
    if (strcmp(e->verbosity, "allPlansExecution") == 0)
        ash__builder_array_value(b, "allPlansExecution", ash__doc_empty);
    ash__builder_end(b);
}

static void append_server(ash_builder *b)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    ash__builder_begin_doc(b, "serverInfo");
    ash__builder_text(b, "host", host);
    ash__builder_end(b);
}

static void give_explanation(const explaining *e, ash_ns ns, const bson_t *command, bson_t *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    char *name = ash__sprintf("%s.%s", ns.db, ns.coll);
    ash__builder_begin(&b);
    ash__builder_text(&b, "explainVersion", "1");
    append_planner(e, name, &b);
    if (e->ran)
        append_statistics(e, &b);
    ash__builder_doc_value(&b, "command", ash__doc_from_bson(command));
    append_server(&b);
    ash__builder_end(&b);
    ash__doc_give(ash__builder_doc(&b), out);
    ash__builder_release(&b);
    ash__free(name);
}

static void plan_nothing(explaining *e)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_text(&b, "stage", "EOF");
    ash__builder_end(&b);
    ash__doc_give_instead(ash__builder_doc(&b), &e->winning);
    ash__builder_release(&b);
}

static int plan_and_run(explaining *e, ash_snapshot *snap, const ash_coll *coll, ash_error *err)
{
    ash_request_spec spec = {&e->x.filter, &e->x.sort, &e->x.projection, NULL, e->store->files};
    ash_plan_shape shape = {.sort = &e->x.sort,
                            .projection = &e->x.projection,
                            .skip = e->x.skip,
                            .limit = e->x.limit,
                            .covers = strcmp(e->x.name, "find") == 0};
    /* As the command itself would. */
    ash__env_adopt(&e->env, coll);
    int rc = ash__request_compile(&e->request, &spec, &e->env.query, err);
    if (rc != 0)
        return rc;
    e->ran = strcmp(e->verbosity, "queryPlanner") != 0;
    if (coll == NULL) {
        plan_nothing(e);
        return 0;
    }
    e->request.min = ash__doc_from_bson(&e->x.min);
    e->request.max = ash__doc_from_bson(&e->x.max);
    rc = ash__request_plan(&e->request, coll, e->x.has_hint ? &e->x.hint : NULL, err);
    if (rc != 0)
        return rc;
    bson_destroy(&e->winning);
    ash__plan_explain(e->request.plan, e->request.filter, &shape, &e->winning);
    return e->ran ? run_plan(e, snap, coll, err) : 0;
}

int ash__embedded_explain(ash_store *store, ash_ns ns, const ash_explain_request *request,
                          const ash_op *op, bson_t *out, ash_error *err)
{
    explaining e = {.store = ash__embedded(store), .verbosity = request->verbosity, .op = op};
    ash_reading reading = {0};
    const ash_coll *found = NULL;
    bson_init(&e.winning);
    ash_budget outer = ash__budget_enter(op->deadline_ms, op->cancel, 0);
    int rc = read_command(e.store, request->command, op, &e.x, err);
    if (rc == 0)
        rc = ash__env_init(e.store, op, &e.x.collation, &e.x.let, &e.env, err);
    if (rc == 0)
        rc = ash__reading_begin(e.store, op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, ns.db, ns.coll, &found, err);
    if (rc == 0)
        rc = ash__view_refuse(found, err);
    if (rc == 0)
        rc = plan_and_run(&e, reading.snap, found, err);
    ash__budget_leave(outer);
    ash__reading_end(&reading);
    if (rc == 0)
        give_explanation(&e, ns, request->command, out);
    ash__request_release(&e.request);
    ash__env_release(&e.env);
    release_command(&e.x);
    bson_destroy(&e.winning);
    return rc;
}
