/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as a work with a twin. */
#include "twin.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "steps.h"
#include "tree_steps.h"
#include "work.h"

#include <stdio.h>
#include <string.h>

struct share {
    tree_worker own;
};

int share_open(ash_store *store, uint64_t seed, uint32_t thread, share **out, ash_error *err)
{
    *out = ash__new(share);
    return tree_worker_open(&(*out)->own, store, seed, thread, err);
}

void share_close(share *s)
{
    if (s != NULL)
        tree_worker_close(&s->own);
    ash__free(s);
}

uint32_t share_thread(const share *s)
{
    return s->own.thread;
}

int share_do(share *s, uint32_t number, ash_error *err)
{
    return tree_worker_do(&s->own, number, err);
}

int share_portrait(share *s, ash_buffer *out, ash_error *err)
{
    return tree_portrait(s->own.tree, out, err);
}

/* All roots share their contents: once is enough. */
bool share_clean_up(share *s, ash_error *err)
{
    return s->own.thread != 0 || tree_clean_up(&s->own, err);
}

bool step_is_prune(uint64_t seed, uint32_t thread, uint32_t number)
{
    return tree_step_is_prune(seed, thread, number);
}

void step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes)
{
    tree_step_describe(seed, thread, number, out, bytes);
}

/* ---- reading what may be damaged ---- */

static enum outcome read_bytes(ash_tree *tree, const ash_tree_entry *e, ash_error *err)
{
    static uint8_t buf[65536];
    ash_tree_reader *r = NULL;
    ash_digest *digest = ash__digest_new(ASH_DIGEST_SHA256);
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[ASH_DIGEST_TEXT_BYTES];
    size_t got = 1;
    int rc = ash_tree_open_entry(tree, e, NULL, NULL, &r, err);
    while (rc == 0 && got > 0) {
        rc = ash_tree_reader_read(r, buf, sizeof buf, &got, err);
        ash__digest_add(digest, buf, rc == 0 ? got : 0);
    }
    size_t len = ash__digest_finish(digest, bytes);
    for (size_t i = 0; i < len; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    ash__digest_free(digest);
    ash_tree_reader_free(r);
    if (rc != 0)
        return twin_outcome(err);
    if (strcmp(hex, ash_tree_entry_digest(e)) == 0)
        return OUTCOME_GOOD;
    ash__fail(err, ASH_ECONDITION, "other bytes of %s", ash_tree_entry_path(e));
    return OUTCOME_WRONG;
}

static enum outcome read_versions(ash_tree *tree, const char *path, ash_error *err)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    enum outcome out = OUTCOME_GOOD;
    int rc = ash_tree_history(tree, path, 0, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        if (!ash_tree_entry_is_folder(e) && !ash_tree_entry_is_deleted(e))
            out = outcome_worse(out, read_bytes(tree, e, err));
    ash_tree_listing_free(l);
    return rc == 0 ? out : outcome_worse(out, twin_outcome(err));
}

static enum outcome read_root(ash_tree *tree, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    enum outcome out = OUTCOME_GOOD;
    o.recursive = true;
    int rc = ash_tree_list(tree, "", &o, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        out = outcome_worse(out, read_versions(tree, ash_tree_entry_path(e), err));
    ash_tree_listing_free(l);
    return rc == 0 ? out : outcome_worse(out, twin_outcome(err));
}

static enum outcome read_thread(work *w, ash_store *store, uint32_t thread, ash_error *err)
{
    ash_buffer got = ASH_BUFFER_INIT;
    tree_worker t;
    enum outcome out;
    int rc = tree_worker_open(&t, store, twin_seed(w), thread, err);
    if (rc == 0)
        rc = tree_portrait(t.tree, &got, err);
    if (rc == 0) {
        out = twin_compare(w, thread, ash__buffer_text(&got), err);
    } else {
        out = twin_outcome(err);
    }
    if (t.tree != NULL && out != OUTCOME_WRONG)
        out = outcome_worse(out, read_root(t.tree, err));
    ash__buffer_release(&got);
    tree_worker_close(&t);
    return out;
}

enum outcome work_read(work *w, const char *folder, ash_error *err)
{
    enum outcome out = OUTCOME_GOOD;
    ash_store *store = steps_open_store(folder, true, err);
    if (store == NULL)
        return OUTCOME_REFUSED;
    for (uint32_t i = 0; i < SHARES && out != OUTCOME_WRONG; i++)
        out = outcome_worse(out, read_thread(w, store, i, err));
    ash_store_close(store);
    return out;
}
