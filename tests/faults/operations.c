/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include "base/file.h"
#include "base/mem.h"
#include "wrapped_engine.h"

#include <stdlib.h>

#define JOURNAL_ENV "ASH_FAULTS_JOURNAL" /* set: the engine uses its journal wherever it can */

/* Slots 0..3 and two documents besides the pair are filled. */
static const step fillings[] = {
    {.kind = STEP_UPLOAD, .slot = 0, .len = 600000},
    {.kind = STEP_UPLOAD, .slot = 1, .len = 100},
    {.kind = STEP_UPLOAD, .slot = 2, .len = 300000},
    {.kind = STEP_UPLOAD, .slot = MODEL_SHARED_FILES, .len = 50000},
    {.kind = STEP_PAIR, .slot = 0, .len = 9000},
    {.kind = STEP_DOC_PUT, .slot = 2, .len = 200},
    {.kind = STEP_DOC_PUT, .slot = 3, .len = 20000},
};

static int create_index(worker *w, ash_error *err)
{
    bson_t *specs = bson_new_from_json(
        (const uint8_t *)"{\"0\": {\"key\": {\"data\": 1}, \"name\": \"data_1\"}}", -1, NULL);
    int result = ash_collection_create_indexes(w->docs, specs, NULL, NULL, err);
    bson_destroy(specs);
    return result;
}

static int compact(worker *w, ash_error *err)
{
    bson_t action = BSON_INITIALIZER, report;
    BSON_APPEND_UTF8(&action, "compact", "test.docs");
    int result = ash_store_maintain(w->store, &action, NULL, NULL, &report, err);
    if (result == 0)
        bson_destroy(&report);
    bson_destroy(&action);
    return result;
}

const operation operations[] = {
    {.name = "upload", .step = {.kind = STEP_UPLOAD, .slot = 4, .len = 700000}},
    {.name = "replace", .step = {.kind = STEP_UPLOAD, .slot = 0, .len = 550000}},
    {.name = "delete", .step = {.kind = STEP_DELETE, .slot = 2}},
    {.name = "rename", .is_plain = true, .step = {.kind = STEP_RENAME, .slot = 1}},
    {.name = "append", .is_plain = true, .step = {.kind = STEP_APPEND, .slot = 2, .len = 300000}},
    {.name = "overwrite",
     .step = {.kind = STEP_OVERWRITE, .slot = 0, .offset = 1000, .len = 400000}},
    {.name = "truncate",
     .is_plain = true,
     .step = {.kind = STEP_TRUNCATE, .slot = 0, .offset = 10}},
    {.name = "drop", .step = {.kind = STEP_DROP, .slot = MODEL_SHARED_FILES}},
    {.name = "insert", .is_plain = true, .step = {.kind = STEP_DOC_PUT, .slot = 4, .len = 100}},
    {.name = "insert large", .step = {.kind = STEP_DOC_PUT, .slot = 4, .len = 30000}},
    {.name = "replace document",
     .is_plain = true,
     .step = {.kind = STEP_DOC_PUT, .slot = 3, .len = 30000}},
    {.name = "add", .is_plain = true, .step = {.kind = STEP_DOC_ADD, .slot = 2}},
    {.name = "remove", .is_plain = true, .step = {.kind = STEP_DOC_DELETE, .slot = 3}},
    {.name = "transaction", .step = {.kind = STEP_PAIR, .slot = 0, .len = 7000}},
    {.name = "create index", .is_plain = true, .run = create_index},
    {.name = "compact", .run = compact},
};
const size_t operation_count = ASH_ARRAY_LEN(operations);

void subject_open(subject *s)
{
    s->store = steps_open_store(s->path, false, &s->err);
    if (s->store == NULL)
        fail_msg("the store does not open: %s", s->err.text);
    assert_ok(worker_open(&s->worker, s->store, 0, &s->err), &s->err);
}

void subject_close(subject *s)
{
    worker_close(&s->worker);
    ash_store_close(s->store);
    s->store = NULL;
}

static void fill(subject *s)
{
    s->path = ash__path_join(s->folder, "store");
    model_init(&s->model, 1, 0);
    subject_open(s);
    assert_ok(steps_prepare(s->store, &s->err), &s->err);
    for (size_t i = 0; i < ASH_ARRAY_LEN(fillings); i++) {
        step next = fillings[i];
        next.id = next.seed = i + 1;
        assert_ok(worker_do(&s->worker, &s->model, &next, &s->err), &s->err);
        model_take(&s->model, &next);
    }
}

static void empty(subject *s)
{
    subject_close(s);
    model_release(&s->model);
    remove_folder(s->path);
    ash__free(s->path);
}

int subject_setup(void **state)
{
    subject *s = ash__new(subject);
    wrapped_engine_journal_eagerly(getenv(JOURNAL_ENV) != NULL);
    s->folder = scratch_new();
    fill(s);
    *state = s;
    return 0;
}

int subject_teardown(void **state)
{
    subject *s = *state;
    empty(s);
    remove_folder(s->folder);
    ash__free(s->folder);
    ash__free(s);
    return 0;
}

void subject_renew(subject *s)
{
    uint32_t generation = s->model.generation;
    empty(s);
    fill(s);
    s->model.generation = generation;
}

step subject_step(subject *s, const operation *op)
{
    step next = op->step;
    s->model.generation++;
    next.id = (int64_t)s->model.generation * 100;
    next.seed = s->model.generation;
    return next;
}

int subject_do(subject *s, worker *w, const operation *op, const step *next, ash_error *err)
{
    return op->run != NULL ? op->run(w, err) : worker_do(w, &s->model, next, err);
}

bool subject_is_after(subject *s, const operation *op, const step *next, bool or_after)
{
    model after;
    if (!steps_check(s->store, &s->err))
        fail_msg("%s: %s", op->name, s->err.text);
    if (steps_compare(&s->worker, &s->model, &s->err))
        return false;
    if (!or_after || op->run != NULL)
        fail_msg("%s: not as before: %s", op->name, s->err.text);
    model_copy(&after, &s->model);
    model_take(&after, next);
    bool same = steps_compare(&s->worker, &after, NULL);
    model_release(&after);
    if (!same)
        fail_msg("%s: neither as before nor as after: %s", op->name, s->err.text);
    return true;
}
