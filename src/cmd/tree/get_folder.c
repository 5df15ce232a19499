/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/get.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/kit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 2, LARGE_BYTES = 8 * 1024 * 1024 };

typedef struct job {
    ash_tree_entry *entry; /* the version that was listed, whatever comes meanwhile */
    char *name;
    bool here; /* with what follows */
    int64_t here_length, here_modified_ms;
} job;

/* ---- one file, on a thread ---- */

static char *local_path(const ash_sync *s, const char *name)
{
    return ash__path_join(s->local, name);
}

static int compare(const ash_sync *s, const job *j, uint8_t *buf, bool *same, ash_error *err)
{
    ash_sync_file f = {.buf = buf};
    *same = false;
    if (!j->here || j->here_length != ash_tree_entry_length(j->entry))
        return 0;
    if (s->quick && j->here_modified_ms == ash_tree_entry_modified_ms(j->entry)) {
        *same = true;
        return 0;
    }
    char *path = local_path(s, j->name);
    int rc = ash__sync_open(path, &f, err);
    if (rc == 0)
        rc = ash__sync_same(&f, ash_tree_entry_digest(j->entry), same, err);
    ash__sync_close(&f);
    ash__free(path);
    return rc;
}

/* The bytes are right; let the time be, too. */
static void set_time(const ash_sync *s, const job *j)
{
    int64_t ms = ash_tree_entry_modified_ms(j->entry);
    if (ms == j->here_modified_ms || s->r->cmd->dry_run)
        return;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
    (void)utimensat(s->root_fd, j->name, times, AT_SYMLINK_NOFOLLOW);
}

static int write_file(ash_sync *s, const job *j, ash_error *err)
{
    ash_place *place = NULL;
    bool large = ash_tree_entry_length(j->entry) > LARGE_BYTES;
    int rc = ash__place_open_below(s->root_fd, j->name, &place, err);
    if (large)
        ash__sync_large_begin(s);
    if (rc == 0)
        rc = ash__cmd_tree_get_file(s->r, j->entry, place, s->progress, err);
    if (large)
        ash__sync_large_end(s);
    ash__place_free(place);
    return rc;
}

static int get_file(ash_sync *s, const job *j, uint8_t *buf, ash_error *err)
{
    bool same;
    ash__progress_add(s->progress, 0, 0, j->name);
    int rc = compare(s, j, buf, &same, err);
    ash_sync_change change = same ? ASH_SYNC_UNCHANGED : j->here ? ASH_SYNC_CHANGED : ASH_SYNC_NEW;
    if (rc == 0 && same)
        set_time(s, j);
    else if (rc == 0 && !s->r->cmd->dry_run)
        rc = write_file(s, j, err);
    if (rc == 0) {
        ash__sync_count(s, change, 1, ash_tree_entry_length(j->entry));
        ash__sync_did(s, change, j->name, j->entry);
    }
    ash__progress_add(s->progress, 0, 1, NULL);
    return rc;
}

static void run_job(void *ctx, void *taken, void *scratch)
{
    ash_sync *s = ctx;
    job *j = taken;
    ash_error err = ASH_ERROR_INIT;
    if (!ash__sync_must_stop(s) && get_file(s, j, scratch, &err) != 0)
        ash__sync_failed(s, ash_tree_entry_path(j->entry), &err);
    ash_tree_entry_free(j->entry);
    ash__free(j->name);
    ash__free(j);
}

/* ---- name by name ---- */

static void queue_file(ash_sync *s, const ash_sync_pair *pair, bool here)
{
    job *j = ash__new(job);
    j->entry = ash_tree_entry_copy(pair->there);
    j->name = ash__strdup(pair->name);
    j->here = here && pair->here->kind == ASH_LOCAL_FILE;
    if (j->here) {
        j->here_length = pair->here->st.st_size;
        j->here_modified_ms = ash__local_time_ms(&pair->here->st);
    }
    ash__work_add(s->work, j);
}

/* A store that lies in the folder is not part of what anybody wants deleted. */
static int remove_local(ash_sync *s, const char *name, ash_error *err)
{
    struct stat st;
    char *path = local_path(s, name), *store = ash__cmd_store_folder(s->r->cmd);
    int rc = 0;
    if (store != NULL && ash__folder_holds(path, store))
        rc = ash__fail(err, ASH_EINVAL, "the store lies in it");
    else if (s->r->cmd->dry_run)
        rc = 0;
    else if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = ash__dir_remove(path, err);
    else if (unlink(path) != 0 && errno != ENOENT)
        rc = ash__fail_errno(err, errno, "cannot delete %s", path);
    if (rc == 0)
        ash__sync_did(s, ASH_SYNC_DELETED, name, NULL);
    ash__free(path);
    ash__free(store);
    return rc;
}

/* How many files go with a folder. */
static int64_t count_files(const char *path)
{
    ash_local *local = NULL;
    const ash_local_entry *e;
    int64_t count = 0;
    if (ash__local_open(path, NULL, &local, NULL) != 0)
        return 0;
    while ((e = ash__local_next(local)) != NULL)
        count += e->kind != ASH_LOCAL_FOLDER;
    ash__local_free(local);
    return count;
}

static int make_folder(ash_sync *s, const char *name, ash_error *err)
{
    ash_place *none = NULL;
    char *marker = ash__sprintf("%s/", name);
    int rc = s->r->cmd->dry_run ? 0 : ash__place_open_below(s->root_fd, marker, &none, err);
    ash__free(marker);
    return rc;
}

static bool fits(const ash_sync_pair *pair)
{
    bool folder = ash_tree_entry_is_folder(pair->there);
    /* A link gives way to a file: nobody's bytes are lost with it. */
    return folder ? pair->here->kind == ASH_LOCAL_FOLDER
                  : pair->here->kind == ASH_LOCAL_FILE || pair->here->kind == ASH_LOCAL_OTHER;
}

static int bring(ash_sync *s, ash_sync_pair *pair, ash_error *err)
{
    bool folder = ash_tree_entry_is_folder(pair->there), here = pair->here != NULL;
    int rc = 0;
    if (here && pair->here->kind == ASH_LOCAL_FAILED) {
        *err = pair->here->err;
        return err->code;
    }
    if (here && !fits(pair)) {
        pair->skip = !folder;
        if (!s->delete)
            return ash__fail(err, ASH_EEXISTS,
                             folder
                                 ? "is a folder in the tree and none here; --delete lets it give "
                                   "way"
                                 : "is a file in the tree and a folder here; --delete lets it "
                                   "give way");
        int64_t files = pair->here->kind == ASH_LOCAL_FOLDER ? count_files(pair->here->path) : 1;
        rc = remove_local(s, pair->name, err);
        if (rc == 0)
            ash__sync_count(s, ASH_SYNC_DELETED, files, 0);
        here = false;
    }
    if (rc == 0 && folder && !here)
        rc = make_folder(s, pair->name, err);
    else if (rc == 0 && !folder)
        queue_file(s, pair, here);
    return rc;
}

static int visit(ash_sync *s, ash_sync_pair *pair, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    (void)err;
    if (pair->there != NULL) {
        if (bring(s, pair, &own) != 0) {
            ash__sync_failed(s, ash_tree_entry_path(pair->there), &own);
            pair->skip = true;
        }
        return 0;
    }
    pair->skip = true;
    if (pair->here->kind == ASH_LOCAL_STORE || !s->delete)
        return 0;
    ash__sync_doom(s, pair->name);
    s->doomed_files += pair->here->kind != ASH_LOCAL_FOLDER;
    pair->count = &s->doomed_files;
    return 0;
}

/* ---- all ---- */

static int open_root(ash_sync *s, ash_error *err)
{
    if (s->r->cmd->dry_run)
        return 0;
    int rc = ash__dir_make(s->local, err);
    if (rc == 0 && (s->root_fd = open(s->local, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        rc = ash__fail_errno(err, errno, "cannot open folder %s", s->local);
    return rc;
}

/* What cannot be read in the tree may be what lies here. */
static void delete_doomed(ash_sync *s)
{
    if (s->incomplete && s->doomed_count > 0) {
        ash__cmd_warn(s->r->cmd, "nothing is deleted here, as not all of the tree could be read");
        return;
    }
    ash__sync_count(s, ASH_SYNC_DELETED, s->doomed_files, 0);
    for (size_t i = 0; i < s->doomed_count && !ash__sync_must_stop(s); i++) {
        ash_error err = ASH_ERROR_INIT;
        if (remove_local(s, s->doomed[i], &err) != 0)
            ash__sync_failed(s, s->doomed[i], &err);
    }
}

static int get_all(ash_sync *s, const ash_cmd_tree_get_folder *what, ash_error *err)
{
    ash_tree_list_options all = ASH_TREE_LIST_OPTIONS_INIT;
    ash_local *local = NULL;
    ash_tree_listing *listing = NULL;
    char *store = ash__cmd_store_folder(s->r->cmd);
    all.recursive = true;
    all.at_ms = what->at_ms;
    int rc = open_root(s, err);
    if (rc == 0)
        rc = ash__local_open(s->local, store, &local, err);
    if (rc == 0)
        rc = ash_tree_list(s->r->tree, ash_tree_entry_path(what->folder), &all, &s->r->op, &listing,
                           err);
    if (rc == 0) {
        s->work = ash__work_start(WORKERS, ASH_SYNC_BUFFER_BYTES, run_job, s);
        rc = ash__sync_merge(s, listing, local, visit, err);
        ash__work_finish(s->work);
    }
    ash_tree_listing_free(listing);
    ash__local_free(local);
    ash__free(store);
    if (rc == 0)
        delete_doomed(s);
    return rc;
}

int ash__cmd_tree_get_folder(ash_cmd_tree_run *r, const ash_cmd_tree_get_folder *what,
                             ash_error *err)
{
    ash_sync s;
    const char *path = ash_tree_entry_path(what->folder);
    ash__sync_init(&s, r, what->local);
    s.folder = ash__strdup(strcmp(path, "/") == 0 ? "" : path);
    s.delete = what->delete;
    s.quick = what->quick;
    int rc = get_all(&s, what, err);
    if (rc == 0 || rc == ASH_EINTERRUPTED)
        rc = ash__sync_end(&s);
    if (s.root_fd >= 0)
        close(s.root_fd);
    ash__sync_release(&s);
    return rc;
}
