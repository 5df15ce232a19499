/* SPDX-License-Identifier: Apache-2.0 */
/* All trees of a collection, or one of them, one after the other.  What is brought how is the
 * library's matter (ash_tree_import). */
#include "cmd/copy/trees.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/roots.h"

#include <ashlar/tree.h>

#include <inttypes.h>
#include <string.h>

/* One run, over all roots. */
typedef struct copying {
    const ash_copy_trees *c;
    const char *root; /* just now */
    ash_op op;
    ash_tree_import_report sum;
} copying;

/* ---- what is told ---- */

static bool show(void *ctx, const ash_tree_entry *e)
{
    const copying *k = ctx;
    const ash_cmd *cmd = k->c->cmd;
    const char *path = ash_tree_entry_path(e);
    bson_t object = BSON_INITIALIZER;
    if (cmd->json || cmd->dry_run)
        ash__progress_clear(k->c->progress);
    if (cmd->json) {
        BSON_APPEND_UTF8(&object, "root", k->root);
        BSON_APPEND_UTF8(&object, "path", path);
        BSON_APPEND_VALUE(&object, "id", ash_tree_entry_id(e));
        BSON_APPEND_UTF8(&object, "type", ash_tree_entry_is_folder(e) ? "folder" : "file");
        BSON_APPEND_INT32(&object, "version", ash_tree_entry_version(e));
        BSON_APPEND_INT64(&object, "length", ash_tree_entry_length(e));
        BSON_APPEND_BOOL(&object, "deleted", ash_tree_entry_is_deleted(e));
        if (cmd->dry_run)
            BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
    } else if (cmd->dry_run) {
        char *shown = ash__cmd_printable(path);
        ash__cmd_say(cmd, "would copy %s", shown);
        ash__free(shown);
    }
    ash__progress_add(k->c->progress, 0, 1, path);
    bson_destroy(&object);
    return !ash__cmd_is_interrupted();
}

static void show_failure(void *ctx, const char *text, const bson_t *facts)
{
    const copying *k = ctx;
    ash_error err = ASH_ERROR_INIT;
    (void)facts;
    (void)ash__fail(&err, ASH_EPARTIAL, "%s", text);
    ash__progress_clear(k->c->progress);
    ash__cmd_fail(k->c->cmd, NULL, &err);
}

static void say_sum(const copying *k)
{
    const ash_tree_import_report *s = &k->sum;
    char size[32];
    ash__cmd_print_size(size, sizeof size, s->bytes);
    ash__cmd_say(k->c->cmd,
                 "%s%" PRId64 " version%s (%s) of %" PRId64 " entr%s, %" PRId64
                 " there already, %" PRId64 " renamed, %" PRId64 " failed",
                 k->c->cmd->dry_run ? "would copy " : "copied ", s->versions,
                 ash__cmd_s(s->versions), size, s->entries, s->entries == 1 ? "y" : "ies",
                 s->skipped, s->renamed, s->failed);
}

/* ---- one tree ---- */

static int import(copying *k, ash_tree *from, ash_tree *to, ash_error *err)
{
    ash_tree_import_options o = ASH_TREE_IMPORT_OPTIONS_INIT;
    ash_tree_import_report report = ASH_TREE_IMPORT_REPORT_INIT;
    o.without_history = k->c->without_history;
    o.dry_run = k->c->cmd->dry_run;
    o.each = show;
    o.failed = show_failure;
    o.each_ctx = o.failed_ctx = k;
    int rc = ash_tree_import(to, from, &o, &k->op, &report, err);
    k->sum.entries += report.entries;
    k->sum.versions += report.versions;
    k->sum.bytes += report.bytes;
    k->sum.skipped += report.skipped;
    k->sum.renamed += report.renamed;
    k->sum.failed += report.failed;
    return rc == ASH_EPARTIAL ? 0 : rc;
}

static int copy_tree(copying *k, ash_error *err)
{
    const ash_copy_trees *c = k->c;
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    ash_tree *from = NULL, *to = NULL;
    o.bucket = c->cmd->bucket;
    int rc = ash_tree_open(c->from, k->root, &o, &from, err);
    o.collection = "v7files"; /* also where v7files' last generation has left its own */
    o.bucket = "v7.fs";
    o.db = c->to_db != NULL ? c->to_db : ash_store_default_db(c->from);
    if (rc == 0 && c->to != NULL)
        rc = ash_tree_open(c->to, k->root, &o, &to, err);
    if (rc == 0)
        rc = import(k, from, to, err);
    ash_tree_close(from);
    ash_tree_close(to);
    return rc;
}

/* ---- which ---- */

static int copy_each(copying *k, ash_error *err)
{
    const char *const *collections = ash__cmd_tree_collections;
    int rc = 0;
    bool any = false;
    for (int i = 0; rc == 0 && !any && collections[i] != NULL; i++) {
        bson_t found;
        bson_iter_t it, value;
        rc = ash__cmd_find_roots(k->c->from, NULL, collections[i], &found, err);
        if (rc != 0)
            break;
        if (bson_iter_init_find(&it, &found, "values") && bson_iter_recurse(&it, &value))
            while (rc == 0 && bson_iter_next(&value)) {
                k->root = bson_iter_utf8(&value, NULL);
                any = true;
                rc = copy_tree(k, err);
            }
        bson_destroy(&found);
    }
    if (rc == 0 && !any)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no tree in database %s",
                       ash_store_default_db(k->c->from));
    return rc;
}

int ash__copy_trees(const ash_copy_trees *c, ash_error *err)
{
    copying k = {.c = c, .root = c->root, .op = ASH_OP_INIT};
    k.sum = (ash_tree_import_report)ASH_TREE_IMPORT_REPORT_INIT;
    k.op.cancel = &ash__cmd_interrupted;
    k.op.durability = ASH_DURABILITY_EVERY;
    int rc = c->root != NULL ? copy_tree(&k, err) : copy_each(&k, err);
    ash__progress_clear(c->progress);
    if (rc != ASH_ENOTFOUND)
        say_sum(&k);
    return rc == 0 && k.sum.failed > 0 ? ASH_EXIT_PARTIAL : rc;
}
