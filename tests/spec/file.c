/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include "base/file.h"
#include "base/mem.h"
#include "require.h"

#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES (64 * 1024 * 1024)

static ash_doc list_of(ash_doc doc, const char *name)
{
    ash_value v = ash__doc_get(doc, name);
    return v.type == BSON_TYPE_ARRAY ? ash__value_doc(v) : ash__doc_empty;
}

/* ---- collections before and after ---- */

static ash_collection *open_named(runner *r, ash_doc spec)
{
    ash_error err = ASH_ERROR_INIT;
    ash_collection *c = NULL;
    const char *db = spec_text(spec, "databaseName");
    const char *name = spec_text(spec, "collectionName");
    if (db == NULL || name == NULL)
        spec_fail(r, "collection without databaseName or collectionName");
    else if (ash_collection_new(r->store, db, name, &c, &err) != 0)
        spec_fail(r, "%s", err.text);
    return c;
}

static int fill(ash_collection *c, ash_doc spec, ash_error *err)
{
    ash_doc documents = list_of(spec, "documents");
    bson_t options;
    int rc = ash_collection_drop(c, NULL, err);
    if (rc != 0 && rc != ASH_ENOTFOUND)
        return rc;
    spec_doc(spec, "createOptions", &options);
    rc = 0;
    if (ash__doc_is_empty(documents) || !bson_empty(&options))
        rc = ash_collection_create(c, bson_empty(&options) ? NULL : &options, NULL, err);
    for (ash_doc_iter it = ash__doc_iter(documents); rc == 0 && ash__doc_iter_next(&it);) {
        ash_doc doc = ash__value_doc(it.value);
        rc = ash_collection_insert(c, &doc, 1, NULL, NULL, err);
    }
    return rc;
}

static bool load_initial_data(runner *r, ash_doc file)
{
    bool ok = true;
    for (ash_doc_iter it = ash__doc_iter(list_of(file, "initialData"));
         ok && ash__doc_iter_next(&it);) {
        ash_error err = ASH_ERROR_INIT;
        ash_doc spec = ash__value_doc(it.value);
        ash_collection *c = open_named(r, spec);
        ok = c != NULL;
        if (ok && fill(c, spec, &err) != 0)
            ok = spec_fail(r, "initial data: %s", err.text);
        ash_collection_free(c);
    }
    return ok;
}

static bool check_collection(runner *r, ash_doc spec)
{
    ash_error err = ASH_ERROR_INIT;
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t all = BSON_INITIALIZER;
    bson_t found = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("_id", BCON_INT32(1));
    ash_collection *c = open_named(r, spec);
    bool ok = c != NULL;
    o.sort = sort;
    if (ok && (ash_collection_find(c, &all, &o, &cursor, &err) != 0 ||
               spec_collect(cursor, &found, &err) != 0))
        ok = spec_fail(r, "outcome of %s: %s", ash_collection_name(c), err.text);
    if (ok)
        ok = spec_match(r, ash_collection_name(c), ash__doc_get(spec, "documents"),
                        ash__value_of_array(ash__doc_from_bson(&found)), false);
    ash_cursor_free(cursor);
    ash_collection_free(c);
    bson_destroy(&found);
    bson_destroy(sort);
    return ok;
}

static bool check_outcome(runner *r, ash_doc test)
{
    bool ok = true;
    for (ash_doc_iter it = ash__doc_iter(list_of(test, "outcome")); ok && ash__doc_iter_next(&it);)
        ok = check_collection(r, ash__value_doc(it.value));
    return ok;
}

/* ---- operations ---- */

static enum call call_entity(runner *r, entity *e, const char *name, ash_doc args, outcome *out)
{
    switch (e->kind) {
    case ENTITY_BUCKET:
        return spec_bucket_op(r, e, name, args, out);
    case ENTITY_COLLECTION:
        return spec_collection_op(r, e, name, args, out);
    case ENTITY_DATABASE:
        return spec_database_op(r, e, name, args, out);
    default:
        return UNKNOWN_OPERATION;
    }
}

static enum verdict run_operation(runner *r, ash_doc operation)
{
    outcome out = {.err = ASH_ERROR_INIT};
    enum verdict verdict = FAILED;
    enum call called = UNKNOWN_OPERATION;
    const char *name = spec_text(operation, "name");
    const char *object = spec_text(operation, "object");
    ash_value given = ash__doc_get(operation, "arguments");
    ash_doc args = given.type == BSON_TYPE_DOCUMENT ? ash__value_doc(given) : ash__doc_empty;
    entity *e = spec_entity_find(r, object);
    if (name == NULL || object == NULL) {
        spec_fail(r, "operation without a name or an object");
        return FAILED;
    }
    bool own = strcmp(object, "testRunner") == 0;
    if (e == NULL && !own) {
        spec_fail(r, "there is no entity %s", object);
        return FAILED;
    }
    bson_init(&out.value);
    if (own)
        called = spec_runner_op(r, name, args, &verdict);
    else
        called = call_entity(r, e, name, args, &out);
    if (called == UNKNOWN_OPERATION) {
        spec_fail(r, "operation %s on %s is not offered by this interface", name, object);
        verdict = SKIPPED;
    } else if (!own) {
        verdict = spec_expect(r, operation, &out) ? PASSED : FAILED;
        if (verdict == FAILED)
            spec_fail(r, "operation %s", name);
    }
    bson_destroy(&out.value);
    return verdict;
}

/* ---- tests ---- */

static enum verdict run_test(runner *r, ash_doc file, ash_doc test)
{
    enum verdict verdict = PASSED;
    bool ok = load_initial_data(r, file);
    for (ash_doc_iter it = ash__doc_iter(list_of(file, "createEntities"));
         ok && ash__doc_iter_next(&it);)
        ok = spec_entity_create(r, ash__value_doc(it.value));
    if (!ok)
        return FAILED;
    for (ash_doc_iter it = ash__doc_iter(list_of(test, "operations"));
         verdict == PASSED && ash__doc_iter_next(&it);)
        verdict = run_operation(r, ash__value_doc(it.value));
    if (verdict == PASSED && !check_outcome(r, test))
        verdict = FAILED;
    return verdict;
}

static void report(tally *t, enum verdict verdict, const char *file, const char *test,
                   const char *why)
{
    const char *base = strrchr(file, '/');
    t->run++;
    t->failed += verdict == FAILED ? 1 : 0;
    t->skipped += verdict == SKIPPED ? 1 : 0;
    printf("%s %d - %s: %s%s%s\n", verdict == FAILED ? "not ok" : "ok", t->run,
           base != NULL ? base + 1 : file, test, verdict == SKIPPED ? " # SKIP " : "",
           verdict == SKIPPED ? why : "");
    if (verdict == FAILED)
        printf("# %s\n", why);
}

/* What a test asks to be looked at, and this runner has no eyes for: skipped, and so counted. */
static const char *unobserved(ash_doc test)
{
    static const char *const lists[] = {"expectEvents", "expectLogMessages",
                                        "expectTracingMessages"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(lists); i++)
        if (!ash__doc_is_empty(list_of(test, lists[i])))
            return lists[i];
    return NULL;
}

static void run_tests(ash_store *store, const char *path, ash_doc file, tally *t)
{
    for (ash_doc_iter it = ash__doc_iter(list_of(file, "tests")); ash__doc_iter_next(&it);) {
        runner r = {.store = store, .why = ASH_BUFFER_INIT};
        ash_doc test = ash__value_doc(it.value);
        const char *description = spec_text(test, "description");
        const char *reason = spec_text(test, "skipReason");
        enum verdict verdict = SKIPPED;
        if (reason != NULL)
            spec_fail(&r, "%s", reason);
        else if (unobserved(test) != NULL)
            spec_fail(&r, "%s: commands are not observed through this interface", unobserved(test));
        else if (!spec_requirements_met(file) || !spec_requirements_met(test))
            spec_fail(&r, "needs another server");
        else
            verdict = run_test(&r, file, test);
        report(t, verdict, path, description != NULL ? description : "(no description)",
               ash__buffer_text(&r.why));
        spec_entities_free(&r);
        ash__buffer_release(&r.why);
    }
}

static bson_t *load(const char *path, char *why, size_t why_bytes)
{
    ash_error err = ASH_ERROR_INIT;
    bson_error_t error;
    uint8_t *json = NULL;
    size_t len = 0;
    if (ash__file_load(path, FILE_MAX_BYTES, &json, &len, &err) != 0) {
        snprintf(why, why_bytes, "%s", err.text);
        return NULL;
    }
    bson_t *doc = bson_new_from_json(json, (ssize_t)len, &error);
    if (doc == NULL)
        snprintf(why, why_bytes, "not JSON: %s", error.message);
    ash__free(json);
    return doc;
}

void spec_run_file(ash_store *store, const char *path, tally *t)
{
    char why[600] = "";
    bson_t *doc = load(path, why, sizeof why);
    if (doc == NULL) {
        report(t, FAILED, path, "file is read", why);
        return;
    }
    ash_doc file = ash__doc_from_bson(doc);
    const char *version = spec_text(file, "schemaVersion");
    if (version == NULL || strncmp(version, "1.", 2) != 0)
        report(t, FAILED, path, "schemaVersion", "only versions 1.x are understood");
    else
        run_tests(store, path, file, t);
    bson_destroy(doc);
}
