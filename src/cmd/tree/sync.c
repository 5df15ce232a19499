/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/sync.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static const char *const change_names[] = {"new", "changed", "deleted", "unchanged", "healed"};

void ash__sync_init(ash_sync *s, ash_cmd_tree_run *r, const char *local)
{
    *s = (ash_sync){.r = r, .local = local, .root_fd = -1};
    s->op = r->op;
    s->op.durability = ASH_DURABILITY_INTERVAL;
    ash__mutex_init(&s->lock, ASH_RANK_SERVER);
    ash__cond_init(&s->changed);
    s->progress = ash__progress_new(r->cmd, 0, 0);
}

void ash__sync_release(ash_sync *s)
{
    ash__progress_free(s->progress);
    ash__cond_release(&s->changed);
    ash__mutex_release(&s->lock);
    for (size_t i = 0; i < s->doomed_count; i++)
        ash__free(s->doomed[i]);
    ash__free(s->doomed);
    ash__free(s->folder);
}

char *ash__sync_path(const ash_sync *s, const char *name)
{
    return ash__sprintf("%s/%s", s->folder, name);
}

bool ash__sync_must_stop(ash_sync *s)
{
    ash__mutex_lock(&s->lock);
    bool hopeless = s->hopeless;
    ash__mutex_unlock(&s->lock);
    return hopeless || ash__cmd_is_interrupted();
}

void ash__sync_failed(ash_sync *s, const char *what, const ash_error *err)
{
    if (err->code == ASH_EINTERRUPTED && ash__cmd_is_interrupted())
        return; /* told once, at the end */
    ash__progress_clear(s->progress);
    int status = ash__cmd_fail(s->r->cmd, what, err);
    ash__mutex_lock(&s->lock);
    s->failed++;
    if (s->first_status == 0)
        s->first_status = status;
    s->hopeless = s->hopeless || ash__cmd_tree_is_hopeless(err->code);
    ash__mutex_unlock(&s->lock);
}

void ash__sync_damaged(ash_sync *s, int count)
{
    if (count == 0)
        return;
    s->incomplete = true;
    ash__mutex_lock(&s->lock);
    s->failed += count;
    if (s->first_status == 0)
        s->first_status = ash_error_exit_code(ASH_ECORRUPT);
    ash__mutex_unlock(&s->lock);
}

void ash__sync_count(ash_sync *s, ash_sync_change change, int64_t files, int64_t bytes)
{
    ash__mutex_lock(&s->lock);
    s->counts[change] += files;
    if (change == ASH_SYNC_NEW || change == ASH_SYNC_CHANGED || change == ASH_SYNC_HEALED)
        s->bytes += bytes;
    ash__mutex_unlock(&s->lock);
}

static void emit_change(const ash_sync *s, ash_sync_change change, const char *path,
                        const ash_tree_entry *entry)
{
    bson_t object = BSON_INITIALIZER;
    if (entry != NULL)
        ash__cmd_tree_object(entry, &object);
    else
        BSON_APPEND_UTF8(&object, "path", path);
    BSON_APPEND_UTF8(&object, "change", change_names[change]);
    if (s->r->cmd->dry_run)
        BSON_APPEND_BOOL(&object, "dryRun", true);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

void ash__sync_did(ash_sync *s, ash_sync_change change, const char *name,
                   const ash_tree_entry *entry)
{
    const ash_cmd *cmd = s->r->cmd;
    bool dull = change == ASH_SYNC_UNCHANGED && cmd->verbose < 2;
    if (dull || (!cmd->json && !cmd->dry_run && cmd->verbose == 0))
        return;
    char *path = ash__sync_path(s, name);
    ash__progress_clear(s->progress);
    if (cmd->json)
        emit_change(s, change, path, entry);
    else
        ash__cmd_say(cmd, "%s%s %s", cmd->dry_run ? "would be " : "", change_names[change], path);
    ash__free(path);
}

void ash__sync_doom(ash_sync *s, const char *name)
{
    s->doomed = ash__grow_array(s->doomed, s->doomed_count, &s->doomed_capacity, sizeof *s->doomed);
    s->doomed[s->doomed_count++] = ash__strdup(name);
}

void ash__sync_left_out(ash_sync *s, const ash_local_entry *e)
{
    ash__progress_clear(s->progress);
    ash__cmd_warn(s->r->cmd, "left out %s: it is %s", e->path, ash__local_kind_name(&e->st));
    ash__mutex_lock(&s->lock);
    s->left_out++;
    ash__mutex_unlock(&s->lock);
}

void ash__sync_large_begin(ash_sync *s)
{
    ash__mutex_lock(&s->lock);
    while (s->large_busy)
        ash__cond_wait(&s->changed, &s->lock);
    s->large_busy = true;
    ash__mutex_unlock(&s->lock);
}

void ash__sync_large_end(ash_sync *s)
{
    ash__mutex_lock(&s->lock);
    s->large_busy = false;
    ash__cond_broadcast(&s->changed);
    ash__mutex_unlock(&s->lock);
}

/* ---- the end ---- */

static void emit_summary(const ash_sync *s)
{
    bson_t object = BSON_INITIALIZER;
    for (int i = 0; i < ASH_SYNC_CHANGES; i++)
        if (i != ASH_SYNC_HEALED || s->counts[i] > 0)
            BSON_APPEND_INT64(&object, change_names[i], s->counts[i]);
    BSON_APPEND_INT64(&object, "leftOut", s->left_out);
    BSON_APPEND_INT64(&object, "failed", s->failed);
    BSON_APPEND_INT64(&object, "bytes", s->bytes);
    if (s->r->cmd->dry_run)
        BSON_APPEND_BOOL(&object, "dryRun", true);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

static void say_summary(const ash_sync *s)
{
    char numbers[ASH_SYNC_CHANGES + 1][ASH_CMD_TREE_NUMBER_BYTES];
    char healed[48] = "", others[48] = "";
    for (int i = 0; i < ASH_SYNC_CHANGES; i++)
        ash__cmd_tree_number(numbers[i], s->counts[i]);
    if (s->counts[ASH_SYNC_HEALED] > 0)
        snprintf(healed, sizeof healed, ", %s healed", numbers[ASH_SYNC_HEALED]);
    if (s->left_out > 0)
        snprintf(others, sizeof others, ", %s left out",
                 ash__cmd_tree_number(numbers[ASH_SYNC_CHANGES], s->left_out));
    ash__cmd_say(s->r->cmd, "%s%s new, %s changed, %s deleted, %s unchanged%s%s",
                 s->r->cmd->dry_run ? "would be: " : "", numbers[ASH_SYNC_NEW],
                 numbers[ASH_SYNC_CHANGED], numbers[ASH_SYNC_DELETED], numbers[ASH_SYNC_UNCHANGED],
                 healed, others);
}

int ash__sync_end(ash_sync *s)
{
    ash__progress_clear(s->progress);
    if (s->r->cmd->json)
        emit_summary(s);
    else
        say_summary(s);
    if (ash__cmd_is_interrupted()) {
        ash_error err = ASH_ERROR_INIT;
        ash__cmd_check_interrupted(&err);
        return ash__cmd_fail(s->r->cmd, NULL, &err);
    }
    if (s->failed == 0)
        return ASH_EXIT_OK;
    int64_t good = 0;
    for (int i = 0; i < ASH_SYNC_CHANGES; i++)
        good += s->counts[i];
    return good > 0 || s->failed > 1 ? ASH_EXIT_PARTIAL : s->first_status;
}
