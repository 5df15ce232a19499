/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_steps.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "model.h"
#include "scratch.h"

#include <stdio.h>
#include <string.h>

/* ---- contents ---- */

/* Inside the file, inside the content's document, in chunks, in pieces. */
static const size_t lengths[TREE_CONTENTS] = {0,      7,      150,    201,    600,    600,
                                              7000,   7000,   30000,  100000, 100000, 100001,
                                              300000, 300000, 300007, 1300000};

uint8_t *tree_content(uint32_t number, size_t *len)
{
    REQUIRE(number < TREE_CONTENTS);
    *len = lengths[number];
    uint8_t *data = ash__alloc(*len + 1);
    uint32_t pair = number / 2;
    model_fill(77 + pair, data, *len);
    for (size_t i = 0; pair % 3 == 2 && i < *len; i++)
        data[i] = (uint8_t)('a' + data[i] % 4); /* as dense as text */
    if (*len > 0)
        data[*len / 2] = (uint8_t)number;
    return data;
}

static int put_once(ash_tree *tree, const char *path, const uint8_t *data, size_t len,
                    const ash_tree_change_options *opts, ash_error *err)
{
    ash_tree_writer *w = NULL;
    int rc = ash_tree_open_writer(tree, path, opts, NULL, &w, err);
    for (size_t at = 0, take; rc == 0 && at < len; at += take) {
        take = len - at < 70000 ? len - at : 70000;
        rc = ash_tree_writer_write(w, data + at, take, err);
    }
    if (rc == 0)
        rc = ash_tree_writer_finish(w, NULL, NULL, err);
    ash_tree_writer_free(w);
    return rc;
}

int tree_put(ash_tree *tree, const char *path, uint32_t content,
             const ash_tree_change_options *opts, ash_error *err)
{
    size_t len;
    uint8_t *data = tree_content(content, &len);
    int rc = ASH_ECONFLICT;
    for (int i = 0; i < 100 && rc == ASH_ECONFLICT; i++)
        rc = put_once(tree, path, data, len, opts, err);
    ash__free(data);
    return rc;
}

int tree_collect(ash_tree *tree, int64_t *gone, ash_error *err)
{
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    o.min_age_s = -1;
    int rc = ash_tree_collect(tree, &o, NULL, &report, err);
    *gone = report.contents;
    return rc;
}

static void note_first(void *ctx, const char *text, const bson_t *facts)
{
    char *first = ctx;
    (void)facts;
    if (first[0] == 0)
        snprintf(first, 200, "%s", text);
}

bool tree_is_sound(ash_tree *tree, ash_error *err)
{
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    char first[200] = "";
    o.finding = note_first;
    o.finding_ctx = first;
    int rc = ash_tree_check(tree, &o, NULL, NULL, err);
    if (rc != 0 && first[0] != 0)
        ash__error_prefix(err, "%s", first);
    return rc == 0;
}

/* ---- steps ---- */

enum kind {
    PUT,
    FOLDER,
    MOVE,
    COPY,
    REMOVE,
    UNDELETE,
    RESTORE,
    TAG,
    SET,
    KEEP,
    PRUNE,
    COLLECT,
    KINDS
};
static const char *const kind_names[KINDS] = {"put",    "folder",   "move",    "copy",
                                              "remove", "undelete", "restore", "tag",
                                              "set",    "keep",     "prune",   "collect"};
/* Of a hundred steps. */
static const uint32_t shares[KINDS] = {42, 8, 9, 7, 9, 6, 3, 4, 3, 2, 4, 3};

typedef struct tree_step {
    enum kind kind;
    char path[16], to[16];
    uint32_t content, number;
} tree_step;

static void choose_path(rng *r, char out[16])
{
    static const char *const folders[] = {"", "d/", "e/", "d/f/"};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    snprintf(out, 16, "%s%s", folders[rng_below(r, 4)], names[rng_below(r, 6)]);
}

static tree_step choose_step(uint64_t seed, uint32_t thread, uint32_t number)
{
    rng r = rng_for(seed * 1000003 + number, 50 + thread);
    tree_step s = {.kind = PUT};
    uint32_t die = rng_below(&r, 100);
    while (s.kind < COLLECT && die >= shares[s.kind])
        die -= shares[s.kind++];
    choose_path(&r, s.path);
    choose_path(&r, s.to);
    s.content = rng_below(&r, TREE_CONTENTS);
    s.number = rng_below(&r, 1000);
    if ((s.kind == PRUNE || s.kind == KEEP) && s.number % 3 > 0)
        snprintf(s.path, sizeof s.path, "%s", s.number % 3 == 1 ? "" : "d");
    return s;
}

void tree_step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes)
{
    tree_step s = choose_step(seed, thread, number);
    snprintf(out, bytes, "%s /%s (to /%s, content %u, number %u), step %u of thread %u",
             kind_names[s.kind], s.path, s.to, (unsigned)s.content, (unsigned)s.number,
             (unsigned)number, (unsigned)thread);
}

bool tree_step_is_prune(uint64_t seed, uint32_t thread, uint32_t number)
{
    return choose_step(seed, thread, number).kind == PRUNE;
}

/* The deleted entry of the path, if there is just one. */
static int find_deleted(ash_tree *tree, const char *path, ash_tree_entry **out, ash_error *err)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int found = 0;
    int rc = ash_tree_trash(tree, "", 0, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL) {
        if (strcmp(ash_tree_entry_path(e) + 1, path) != 0)
            continue;
        if (found++ == 0)
            *out = ash_tree_entry_copy(e);
    }
    ash_tree_listing_free(l);
    if (rc == 0 && found != 1)
        rc = ash__fail(err, ASH_ENOTFOUND, "%d deleted entries", found);
    return rc;
}

static int undelete(tree_worker *w, const tree_step *s, ash_error *err)
{
    ash_tree_entry *gone = NULL;
    int rc = find_deleted(w->tree, s->path, &gone, err);
    if (rc == 0)
        rc = ash_tree_undelete(w->tree, ash_tree_entry_id(gone), s->number % 2 ? s->to : NULL, NULL,
                               NULL, NULL, err);
    ash_tree_entry_free(gone);
    return rc;
}

static int restore(tree_worker *w, const tree_step *s, ash_error *err)
{
    ash_tree_entry *e = NULL;
    int rc = ash_tree_get(w->tree, s->path, NULL, NULL, &e, err);
    if (rc == 0)
        rc = ash_tree_restore(w->tree, s->path, ash_tree_entry_version(e) - 1, NULL, NULL, NULL,
                              err);
    ash_tree_entry_free(e);
    return rc;
}

static int prune(tree_worker *w, const tree_step *s, ash_error *err)
{
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    keep.last = (int32_t)(s->number % 4);
    o.keep = s->number % 5 == 0 ? NULL : &keep;
    return ash_tree_prune(w->tree, s->path, &o, NULL, NULL, err);
}

static int set_keep(tree_worker *w, const tree_step *s, ash_error *err)
{
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    keep.last = (int32_t)(s->number % 5);
    return ash_tree_set_keep(w->tree, s->path, s->number % 7 == 0 ? NULL : &keep, NULL, NULL, err);
}

static int perform_other(tree_worker *w, const tree_step *s, ash_error *err)
{
    int64_t gone;
    switch (s->kind) {
    case UNDELETE:
        return undelete(w, s, err);
    case RESTORE:
        return restore(w, s, err);
    case TAG:
        return ash_tree_tag(w->tree, s->path, 0, "kept", s->number % 4 == 0, NULL, err);
    case KEEP:
        return set_keep(w, s, err);
    case PRUNE:
        return prune(w, s, err);
    default:
        return tree_collect(w->tree, &gone, err);
    }
}

static int perform(tree_worker *w, const tree_step *s, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    bson_t *props = BCON_NEW("colour", BCON_INT32((int32_t)s->number));
    int rc;
    o.recursive = true;
    o.replace = s->number % 2 == 0;
    o.make_folders = s->number % 4 != 0;
    if (s->kind == SET || s->number % 8 == 0) {
        o.props = props;
        o.modified_ms = 1600000000000 + s->number;
    }
    if (s->kind == PUT)
        rc = tree_put(w->tree, s->path, s->content, &o, err);
    else if (s->kind == FOLDER)
        rc = ash_tree_make_folder(w->tree, s->path, &o, NULL, NULL, err);
    else if (s->kind == MOVE)
        rc = ash_tree_move(w->tree, s->path, s->to, &o, NULL, NULL, err);
    else if (s->kind == COPY)
        rc = ash_tree_copy(w->tree, s->path, NULL, s->to, &o, NULL, NULL, err);
    else if (s->kind == REMOVE)
        rc = ash_tree_remove(w->tree, s->path, &o, NULL, err);
    else if (s->kind == SET)
        rc = ash_tree_set(w->tree, s->path, &o, NULL, NULL, err);
    else
        rc = perform_other(w, s, err);
    bson_destroy(props);
    return rc;
}

int tree_worker_do(tree_worker *w, uint32_t number, ash_error *err)
{
    tree_step s = choose_step(w->seed, w->thread, number);
    ash__clock_sleep_ms(2); /* what was removed together is told by its time */
    int rc = perform(w, &s, err);
    if (rc == ASH_ENOTFOUND || rc == ASH_EEXISTS || rc == ASH_EINVAL || rc == ASH_ENOREVISION)
        return 0;
    if (rc != 0) {
        char what[100];
        tree_step_describe(w->seed, w->thread, number, what, sizeof what);
        ash__error_prefix(err, "%s", what);
    }
    return rc;
}

int tree_worker_open(tree_worker *w, ash_store *store, uint64_t seed, uint32_t thread,
                     ash_error *err)
{
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    char root[16];
    *w = (tree_worker){.store = store, .seed = seed, .thread = thread};
    snprintf(root, sizeof root, "root%u", (unsigned)thread);
    o.piece_bytes = TREE_PIECE_BYTES;
    return ash_tree_open(store, root, &o, &w->tree, err);
}

void tree_worker_close(tree_worker *w)
{
    ash_tree_close(w->tree);
    w->tree = NULL;
}

/* ---- afterwards ---- */

/* What was on its way is not in the way. */
static bool sweep(tree_worker *t, ash_error *err)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_sweep_options s = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report swept = ASH_SWEEP_REPORT_INIT;
    ash_bucket *bucket = NULL;
    int64_t gone = 0;
    o.bucket_name = "v7.fs";
    s.min_age_s = -1;
    int rc = ash_bucket_new(t->store, &o, &bucket, err);
    if (rc == 0)
        rc = ash_bucket_sweep(bucket, &s, &swept, err);
    if (rc == 0)
        rc = tree_collect(t->tree, &gone, err);
    if (rc == 0)
        rc = tree_collect(t->tree, &gone, err);
    ash_bucket_free(bucket);
    if (rc == 0 && gone > 0)
        rc = ash__fail(err, ASH_ECONDITION, "a collection left %lld contents", (long long)gone);
    return rc == 0;
}

bool tree_clean_up(tree_worker *w, ash_error *err)
{
    return tree_is_sound(w->tree, err) && sweep(w, err) && tree_is_sound(w->tree, err);
}
