/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- contents ---- */

static const size_t lengths[] = {0,    5,    19,    150,   201,    500,    501,
                                 3000, 8000, 70000, 70100, 300000, 300001, 900000};

static size_t fill(int content, uint8_t *out)
{
    rng r = rng_for(77, (uint64_t)(content & ~1)); /* pairs begin alike */
    size_t len = lengths[content];
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)rng_next(&r);
    if (len > 0)
        out[len / 2] = (uint8_t)content;
    return len;
}

static uint8_t *bytes_of(int content, size_t *len)
{
    uint8_t *data = malloc(1 << 20);
    if (data == NULL)
        abort();
    *len = fill(content, data);
    return data;
}

/* ---- steps ---- */

static void full_path(const worker *w, const char *path, char out[PATH_BYTES + 16])
{
    snprintf(out, PATH_BYTES + 16, "%s%s%s", w->top, path[0] != '\0' ? "/" : "", path);
}

/* Nobody, one without a quota, and those who may have one; each writer has his own, as he has a folder. */
enum { PEOPLE = 4, WITH_QUOTA = 2 };

static const char *person(const worker *w, int number, char out[32])
{
    snprintf(out, 32, "%s-%d", w->top + 1, number);
    return number == PEOPLE - 1 ? NULL : out;
}

static int put(worker *w, const char *path, int content, const ash_tree_change_options *o)
{
    ash_tree_writer *writer = NULL;
    size_t len;
    uint8_t *data = bytes_of(content, &len);
    int rc = ash_tree_open_writer(w->tree, path, o, NULL, &writer, &w->err);
    if (rc == 0)
        rc = ash_tree_writer_write(writer, data, len, &w->err);
    if (rc == 0)
        rc = ash_tree_writer_finish(writer, NULL, NULL, &w->err);
    ash_tree_writer_free(writer);
    free(data);
    return rc;
}

static int64_t moment_ms(const worker *w, int at)
{
    for (int i = 0; i < w->moment_count; i++)
        if (w->moments[i] == at)
            return w->moments_ms[i];
    return 0;
}

static int undelete(worker *w, const step *s, const char *to, const ash_tree_change_options *o)
{
    bson_value_t id = {.value_type = BSON_TYPE_OID};
    id.value.v_oid = w->ids[s->node];
    return ash_tree_undelete(w->tree, &id, s->to[0] != '\0' ? to : NULL, o, NULL, NULL, &w->err);
}

static int perform(worker *w, const step *s)
{
    char path[PATH_BYTES + 16], to[PATH_BYTES + 16];
    char who[32];
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    o.replace = s->replace;
    o.recursive = true;
    o.changed_by = person(w, (int)(w->steps * 7 / 3 % PEOPLE), who);
    full_path(w, s->path, path);
    full_path(w, s->to, to);
    switch (s->kind) {
    case STEP_PUT:
        return put(w, path, s->content, &o);
    case STEP_FOLDER:
        return ash_tree_make_folder(w->tree, path, &o, NULL, NULL, &w->err);
    case STEP_MOVE:
        return ash_tree_move(w->tree, path, to, &o, NULL, NULL, &w->err);
    case STEP_COPY:
        when.at_ms = s->at == NOW ? 0 : moment_ms(w, s->at);
        return ash_tree_copy(w->tree, path, &when, to, &o, NULL, NULL, &w->err);
    case STEP_REMOVE:
        return ash_tree_remove(w->tree, path, &o, NULL, &w->err);
    case STEP_UNDELETE:
        return undelete(w, s, to, &o);
    case STEP_RESTORE:
        return ash_tree_restore(w->tree, path, s->number, &o, NULL, NULL, &w->err);
    case STEP_FORGET:
        return ash_tree_forget(w->tree, path, s->number, NULL, NULL, &w->err);
    }
    return 0;
}

/* No two steps of one writer have the same time. */
static void pause_ms(void)
{
    struct timespec t = {0, 2000000};
    nanosleep(&t, NULL);
}

/* ---- quotas, which refuse nothing; whether their sums are right is seen by the check at the end ---- */

enum { QUOTA_EVERY = 7 };
static const int64_t ENOUGH = INT64_C(1) << 50;

/* Once: set again, it would be counted again. */
static int want_quota(worker *w, const char *path)
{
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    char *from = NULL;
    int rc = ash_tree_get_quota(w->tree, path, NULL, &q, &from, &w->err);
    if (rc == 0 && (from == NULL || strcmp(from, path) != 0))
        rc = ash_tree_set_quota(w->tree, path, ENOUGH, NULL, NULL, &w->err);
    ash_tree_string_free(from);
    return rc;
}

static bool note_that_there_is(void *ctx, const char *user, const ash_tree_quota *q)
{
    (void)user, (void)q;
    *(bool *)ctx = true;
    return true;
}

static int want_user_quota(worker *w, const char *user)
{
    bool there = false;
    int rc = ash_tree_user_quotas(w->tree, user, NULL, note_that_there_is, &there, &w->err);
    if (rc == 0 && !there)
        rc = ash_tree_set_user_quota(w->tree, user, ENOUGH, NULL, NULL, &w->err);
    return rc;
}

/* Of one of those who may have one; or none any more. */
static bool change_user_quota(worker *w)
{
    char name[32];
    if (w->steps % QUOTA_EVERY != 3)
        return true;
    const char *user = person(w, (int)(w->steps / QUOTA_EVERY % WITH_QUOTA), name);
    int rc = w->steps / QUOTA_EVERY % 5 == 0
                 ? ash_tree_set_user_quota(w->tree, user, -1, NULL, NULL, &w->err)
                 : want_user_quota(w, user);
    if (rc != 0)
        printf("# quota of %s: %d %s\n", user, rc, w->err.text);
    return rc == 0;
}

/* On what the step left at one of its paths, where that is a folder; or none there any more. */
static bool change_quota(worker *w, const step *s)
{
    char path[PATH_BYTES + 16];
    full_path(w, w->steps % 2 == 0 ? s->path : s->to, path);
    if (w->steps % QUOTA_EVERY != 0 || strcmp(path, w->top) == 0)
        return true;
    int rc = w->steps % (QUOTA_EVERY * 5) == 0
                 ? ash_tree_set_quota(w->tree, path, -1, NULL, NULL, &w->err)
                 : want_quota(w, path);
    if (rc == 0 || rc == ASH_ENOTFOUND || rc == ASH_EINVAL)
        return true;
    printf("# quota of %s: %d %s\n", path, rc, w->err.text);
    return false;
}

enum { MOST_TRIES = 100 };

bool work_step(worker *w, const step *s)
{
    static const char *const names[] = {"put",    "folder",   "move",    "copy",
                                        "remove", "undelete", "restore", "forget"};
    pause_ms();
    int rc = perform(w, s);
    /* Its pieces were collected before they were named, again and again: nothing was done. */
    for (int i = 0; i < MOST_TRIES && rc == ASH_ECONFLICT && s->kind == STEP_PUT; i++) {
        w->again++;
        rc = perform(w, s);
    }
    bool want = model_apply(&w->m, s);
    w->steps++;
    w->done += want;
    bool refused = rc == ASH_ENOTFOUND || rc == ASH_EEXISTS || rc == ASH_EINVAL ||
                   rc == ASH_ENOREVISION || (rc == ASH_ESTATE && s->kind == STEP_FORGET);
    if (want ? rc == 0 : refused)
        return change_quota(w, s) && change_user_quota(w);
    printf("# %s: step %d, %s %s to %s (content %d, at %d, node %d, version %d): %d %s, not %s\n",
           w->top, w->m.step - 1, names[s->kind], s->path, s->to, s->content, s->at, s->node,
           s->number, rc, rc != 0 ? w->err.text : "", want ? "done" : "refused");
    return false;
}

bool work_learn(worker *w)
{
    if (w->m.nodes > NODES_MAX)
        abort();
    for (int i = 0; i < w->m.nodes; i++) {
        char path[PATH_BYTES], full[PATH_BYTES + 16];
        ash_tree_entry *e = NULL;
        if (w->known[i])
            continue;
        model_path(&w->m, i, NOW, path);
        full_path(w, path, full);
        if (ash_tree_get(w->tree, full, NULL, NULL, &e, &w->err) != 0) {
            printf("# %s: %s\n", full, w->err.text);
            return false;
        }
        w->ids[i] = ash_tree_entry_id(e)->value.v_oid;
        w->known[i] = true;
        ash_tree_entry_free(e);
    }
    return true;
}

bool work_remember(worker *w)
{
    int i = w->moment_count < MOMENTS_MAX ? w->moment_count++ : (int)rng_below(&w->r, MOMENTS_MAX);
    pause_ms();
    w->moments[i] = w->m.step - 1;
    if (ash_store_time(w->store, &w->moments_ms[i], NULL, &w->err) != 0)
        return false;
    pause_ms();
    return true;
}

/* ---- a file that all have ---- */

bool work_race(worker *w)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    ash_tree_writer *writer = NULL;
    char text[400];
    int len = snprintf(text, sizeof text, "%s %llu %300s", w->top, (unsigned long long)w->steps,
                       "of who comes first");
    if (ash_tree_get(w->tree, "/shared", NULL, NULL, &e, &w->err) != 0)
        return false;
    o.if_version = ash_tree_entry_version(e);
    ash_tree_entry_free(e);
    int rc = ash_tree_open_writer(w->tree, "/shared", &o, NULL, &writer, &w->err);
    if (rc == 0)
        rc = ash_tree_writer_write(writer, text, (size_t)len, &w->err);
    if (rc == 0)
        rc = ash_tree_writer_finish(writer, NULL, NULL, &w->err);
    ash_tree_writer_free(writer);
    w->wins += rc == 0;
    w->losses += rc == ASH_ECONFLICT;
    if (rc != 0 && rc != ASH_ECONFLICT)
        printf("# /shared: %d %s\n", rc, w->err.text);
    return rc == 0 || rc == ASH_ECONFLICT;
}

bool work_collect(ash_tree *tree, ash_tree_collect_report *report, ash_error *err)
{
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    *report = (ash_tree_collect_report)ASH_TREE_COLLECT_REPORT_INIT;
    o.min_age_s = -1;
    int rc = ash_tree_collect(tree, &o, NULL, report, err);
    if (rc != 0)
        printf("# collection: %d %s\n", rc, err->text);
    return rc == 0;
}

/* ---- open ---- */

bool work_share(worker *w, ash_store *store, int number)
{
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    o.piece_bytes = 256 * 1024;
    w->store = store;
    snprintf(w->top, sizeof w->top, "/w%d", number);
    int rc = ash_tree_open(store, "/", &o, &w->tree, &w->err);
    if (rc == 0) {
        rc = ash_tree_make_folder(w->tree, w->top, NULL, NULL, NULL, &w->err);
        rc = rc == ASH_EEXISTS ? 0 : rc;
    }
    if (rc == 0)
        rc = want_quota(w, "/");
    if (rc == 0)
        rc = want_quota(w, w->top);
    if (rc != 0)
        printf("# %s: %d %s\n", w->top, rc, w->err.text);
    return rc == 0;
}

bool work_open(worker *w, const char *uri, int number)
{
    ash_store *store = NULL;
    if (ash_store_open(uri, NULL, &store, &w->err) == 0)
        return work_share(w, store, number);
    printf("# %s: %s\n", uri, w->err.text);
    return false;
}

void work_close(worker *w)
{
    ash_tree_close(w->tree);
    ash_store_close(w->store);
    w->tree = NULL;
    w->store = NULL;
}

/* ---- comparing ---- */

static bool differs(const worker *w, bool loud, const char *what, const char *path)
{
    if (loud)
        printf("# %s differs: %s %s %s\n", w->top, what, path, w->err.text);
    return false;
}

static bool has_content(worker *w, const ash_tree_entry *e, int content)
{
    static _Thread_local uint8_t got[1 << 20];
    ash_tree_reader *r = NULL;
    size_t len, n = 1, at = 0;
    uint8_t *want = bytes_of(content, &len);
    int rc = ash_tree_open_entry(w->tree, e, NULL, NULL, &r, &w->err);
    while (rc == 0 && n > 0) {
        rc = ash_tree_reader_read(r, got + at, sizeof got - at, &n, &w->err);
        at += n;
    }
    bool same = rc == 0 && at == len && memcmp(got, want, len) == 0;
    ash_tree_reader_free(r);
    free(want);
    return same;
}

static bool is_version(worker *w, const ash_tree_entry *e, const version *v, bool read)
{
    w->compared++;
    if (ash_tree_entry_version(e) != v->number || ash_tree_entry_is_deleted(e) != v->deleted)
        return false;
    if (v->deleted)
        return true;
    if (ash_tree_entry_is_folder(e) != (v->content == NONE))
        return false;
    if (v->content == NONE)
        return true;
    return ash_tree_entry_length(e) == (int64_t)lengths[v->content] &&
           (!read || has_content(w, e, v->content));
}

static int count_there(const model *m, int at)
{
    int n = 0;
    for (int i = 1; i < m->nodes; i++)
        n += model_version(m, i, at) != NONE;
    return n;
}

/* All below the top, as it is or was. */
static bool compare_tree(worker *w, int at, int64_t at_ms, bool deep, bool loud)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int n = 0;
    bool same = true;
    o.recursive = true;
    o.at_ms = at_ms;
    if (ash_tree_list(w->tree, w->top, &o, NULL, &l, &w->err) != 0)
        return differs(w, loud, "listing", "");
    while (same && ash_tree_listing_next(l, &e, &w->err) == 0 && e != NULL) {
        const char *path = ash_tree_entry_path(e) + strlen(w->top) + 1;
        int v = model_find(&w->m, path, at);
        n++;
        if (v == NONE)
            same = differs(w, loud, at_ms != 0 ? "was not there" : "is not there", path);
        else if (!is_version(w, e, &w->m.versions[v], deep && rng_below(&w->r, 4) == 0))
            same = differs(w, loud, at_ms != 0 ? "was" : "is", path);
    }
    same = same && e == NULL;
    ash_tree_listing_free(l);
    if (same && n != count_there(&w->m, at))
        same = differs(w, loud, at_ms != 0 ? "something was missing" : "something is missing", "");
    return same;
}

static bool compare_history(worker *w, int node, bool loud)
{
    char path[PATH_BYTES], full[PATH_BYTES + 16];
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    bool same = true;
    model_path(&w->m, node, NOW, path);
    full_path(w, path, full);
    if (ash_tree_history(w->tree, full, 0, NULL, &l, &w->err) != 0)
        return differs(w, loud, "history", path);
    for (size_t i = w->m.count; same && i-- > 0;) {
        const version *v = &w->m.versions[i];
        if (v->node != node)
            continue;
        same = ash_tree_listing_next(l, &e, &w->err) == 0 && e != NULL &&
               is_version(w, e, v, rng_below(&w->r, 3) == 0);
    }
    same = same && ash_tree_listing_next(l, &e, &w->err) == 0 && e == NULL;
    ash_tree_listing_free(l);
    return same ? true : differs(w, loud, "history", path);
}

bool work_compare(worker *w, bool deep, bool loud)
{
    bool same = compare_tree(w, NOW, 0, deep, loud);
    if (same && w->moment_count > 0) {
        int i = (int)rng_below(&w->r, (uint32_t)w->moment_count);
        same = compare_tree(w, w->moments[i], w->moments_ms[i], deep, loud);
    }
    for (int i = 0; same && deep && i < 5; i++) {
        int node = (int)rng_below(&w->r, (uint32_t)w->m.nodes);
        if (node != 0 && model_version(&w->m, node, NOW) != NONE)
            same = compare_history(w, node, loud);
    }
    return same;
}

/* ---- at the end ---- */

static void tell_finding(void *ctx, const char *text, const bson_t *facts)
{
    (void)ctx, (void)facts;
    printf("# %s\n", text);
}

bool work_settled(worker *w, int64_t shared_versions)
{
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    ash_tree_collect_report report;
    ash_tree_entry *e = NULL;
    bool good = work_collect(w->tree, &report, &w->err) && work_collect(w->tree, &report, &w->err);
    if (good && report.contents != 0) {
        printf("# collection left %lld contents behind\n", (long long)report.contents);
        good = false;
    }
    o.finding = tell_finding;
    if (good && ash_tree_check(w->tree, &o, NULL, NULL, &w->err) != 0) {
        printf("# %s\n", w->err.text);
        good = false;
    }
    if (good && shared_versions > 0) {
        good = ash_tree_get(w->tree, "/shared", NULL, NULL, &e, &w->err) == 0 &&
               ash_tree_entry_version(e) == shared_versions;
        if (!good)
            printf("# /shared has not %lld versions\n", (long long)shared_versions);
        ash_tree_entry_free(e);
    }
    return good;
}
