/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/put.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/tree/put_batch.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

enum { WORKERS = 2, LARGE_BYTES = 8 * 1024 * 1024, NEW_BYTES = 1024 * 1024 };

/* Of longer ones the writer keeps parts before it has all. */
enum { GATHERED_BYTES = 32 * 1024 * 1024 };

typedef struct put {
    ash_sync sync; /* first, so that its visitor finds the rest */
    ash_put_batch batch;
    const char *content_type;
    bool verify; /* what the tree has is read, too */
} put;

typedef struct job {
    char *local, *name;
    int64_t length;         /* of the local file, and … */
    int64_t modified_ms;    /* … its time, as they were when it was found */
    ash_tree_entry *there;  /* what the tree has; NULL: nothing */
    ash_sync_change change; /* what becomes of it */
} job;

/* ---- one file, on a thread ---- */

static int compare_bytes(const job *j, ash_sync_file *f, bool *same, ash_error *err)
{
    int rc = ash__sync_same(f, ash_tree_entry_digest(j->there), same, err);
    if (rc == 0 && !f->whole && lseek(f->fd, 0, SEEK_SET) != 0)
        rc = ash__fail(err, ASH_EIO, "cannot read %s again", f->path);
    return rc;
}

static int read_kept(const put *p, const ash_tree_entry *e, ash_error *err)
{
    enum { STEP = 256 * 1024 };
    ash_tree_reader *reader = NULL;
    uint8_t *buf = ash__alloc(STEP);
    size_t got = 1;
    int rc = ash_tree_open_entry(p->sync.r->tree, e, NULL, &p->sync.op, &reader, err);
    while (rc == 0 && got > 0 && (rc = ash__cmd_check_interrupted(err)) == 0)
        rc = ash_tree_reader_read(reader, buf, STEP, &got, err);
    ash_tree_reader_free(reader);
    ash__free(buf);
    return rc;
}

/* A digest says what the bytes were.  That they are there is asked of the store, which costs little;
 * that they are still right would be to read all of them. */
static int is_kept(const put *p, const job *j, bool *kept, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = p->verify ? read_kept(p, j->there, &own)
                       : ash_tree_probe(p->sync.r->tree, j->there, &p->sync.op, &own);
    *kept = rc == 0;
    return rc == ASH_ECORRUPT ? 0 : ash__unless(0, rc, &own, err);
}

/* The size tells most changes, and saves reading twice. */
static int compare(const put *p, job *j, ash_sync_file *f, ash_error *err)
{
    bool same = false, kept = true;
    j->change = j->there == NULL ? ASH_SYNC_NEW : ASH_SYNC_CHANGED;
    if (j->there == NULL || j->length != ash_tree_entry_length(j->there))
        return 0;
    bool quick = p->sync.quick && j->modified_ms == ash_tree_entry_modified_ms(j->there);
    int rc = quick ? 0 : compare_bytes(j, f, &same, err);
    if (rc == 0 && (quick || same))
        rc = is_kept(p, j, &kept, err);
    if (rc == 0 && quick && !kept)
        rc = compare_bytes(j, f, &same, err);
    if (quick && kept)
        same = true;
    if (same)
        j->change = kept ? ASH_SYNC_UNCHANGED : ASH_SYNC_HEALED;
    return rc;
}

/* Only when one is committed can the next be made of it.  So large ones take turns, for their memory
 * too; and new ones that are not quite as large, which have nothing else to be made of. */
static bool takes_turn(const job *j)
{
    return j->length > LARGE_BYTES || (j->there == NULL && j->length > NEW_BYTES);
}

static int seal_and_add(put *p, const job *j, ash_put_item *item, ash_error *err)
{
    int rc = ash_tree_writer_seal(item->writer, err);
    if (rc != 0) {
        ash_tree_writer_free(item->writer);
        return rc;
    }
    item->name = ash__strdup(j->name);
    item->local = ash__strdup(j->local);
    item->change = j->change;
    item->urgent = takes_turn(j);
    ash__put_batch_add(&p->batch, item);
    return 0;
}

/* Reading is nobody else's business; choosing what it is made of takes the time. */
static int write_file(put *p, const job *j, ash_sync_file *f, ash_error *err)
{
    ash_sync *s = &p->sync;
    ash_tree_change_options o = ash__cmd_tree_changes(s->r);
    ash_put_item item = {.length = j->length};
    char *path = ash__sync_path(s, j->name);
    ash_cmd_tree_put_target to = {s->r->tree, path, &o, &s->op, s->progress};
    bool turn = takes_turn(j), early = j->length > GATHERED_BYTES;
    if (j->change != ASH_SYNC_HEALED) { /* which is no new version */
        o.modified_ms = j->modified_ms;
        o.content_type = p->content_type;
    }
    o.make_folders = true;
    if (turn && early)
        ash__sync_large_begin(s);
    int rc = ash__cmd_tree_put_write(&to, f, &item.writer, err);
    if (turn && !early)
        ash__sync_large_begin(s);
    if (rc == 0)
        rc = seal_and_add(p, j, &item, err);
    if (turn)
        ash__sync_large_end(s);
    ash__free(path);
    return rc;
}

static void say_unwritten(ash_sync *s, const job *j)
{
    ash__progress_add(s->progress, j->length, 0, NULL);
    ash__sync_count(s, j->change, 1, j->length);
    ash__sync_did(s, j->change, j->name, NULL);
}

static int put_file(put *p, job *j, uint8_t *buf, ash_error *err)
{
    ash_sync *s = &p->sync;
    ash_sync_file f = {.buf = buf};
    ash__progress_add(s->progress, 0, 0, j->name);
    int rc = ash__sync_open(j->local, &f, err);
    if (rc != 0)
        return rc;
    rc = compare(p, j, &f, err);
    if (rc == 0 && (j->change == ASH_SYNC_UNCHANGED || s->r->cmd->dry_run))
        say_unwritten(s, j);
    else if (rc == 0)
        rc = write_file(p, j, &f, err);
    ash__progress_add(s->progress, 0, 1, NULL);
    ash__sync_close(&f);
    return rc;
}

static void run_job(void *ctx, void *taken, void *scratch)
{
    put *p = ctx;
    job *j = taken;
    ash_error err = ASH_ERROR_INIT;
    if (!ash__sync_must_stop(&p->sync) && put_file(p, j, scratch, &err) != 0)
        ash__sync_failed(&p->sync, j->local, &err);
    ash_tree_entry_free(j->there);
    ash__free(j->local);
    ash__free(j->name);
    ash__free(j);
}

/* ---- name by name ---- */

static void queue_file(ash_sync *s, const ash_sync_pair *pair, bool there)
{
    job *j = ash__new(job);
    j->local = ash__strdup(pair->here->path);
    j->name = ash__strdup(pair->name);
    j->length = pair->here->st.st_size;
    j->modified_ms = ash__local_time_ms(&pair->here->st);
    j->there = there ? ash_tree_entry_copy(pair->there) : NULL;
    ash__work_add(s->work, j);
}

static void make_folder(ash_sync *s, const ash_sync_pair *pair)
{
    ash_put_item item = {.change = ASH_SYNC_NEW};
    if (s->r->cmd->dry_run)
        return;
    item.name = ash__strdup(pair->name);
    item.local = ash__strdup(pair->here->path);
    ash__put_batch_add(&((put *)s)->batch, &item);
}

/* How many files go with a folder. */
static int64_t count_files(ash_sync *s, const char *name)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e = NULL;
    int64_t count = 0;
    char *path = ash__sync_path(s, name);
    o.recursive = true;
    int rc = ash_tree_list(s->r->tree, path, &o, &s->op, &listing, NULL);
    while (rc == 0 && (rc = ash_tree_listing_next(listing, &e, NULL)) == 0 && e != NULL)
        count += !ash_tree_entry_is_folder(e);
    ash_tree_listing_free(listing);
    ash__free(path);
    return count;
}

static int remove_entry(ash_sync *s, const char *name, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(s->r);
    char *path = ash__sync_path(s, name);
    o.recursive = true;
    int rc = s->r->cmd->dry_run ? 0 : ash_tree_remove(s->r->tree, path, &o, &s->op, err);
    if (rc == 0)
        ash__sync_did(s, ASH_SYNC_DELETED, name, NULL);
    ash__free(path);
    return rc;
}

/* What is a folder on one side and a file on the other. */
static int give_way(ash_sync *s, const ash_sync_pair *pair, ash_error *err)
{
    if (!s->delete)
        return ash__fail(
            err, ASH_EEXISTS,
            ash_tree_entry_is_folder(pair->there)
                ? "is a folder in the tree and a file here; --delete lets it give way"
                : "is a file in the tree and a folder here; --delete lets it give way");
    int64_t files = ash_tree_entry_is_folder(pair->there) ? count_files(s, pair->name) : 1;
    int rc = remove_entry(s, pair->name, err);
    if (rc == 0)
        ash__sync_count(s, ASH_SYNC_DELETED, files, 0);
    return rc;
}

static void doom(ash_sync *s, ash_sync_pair *pair)
{
    pair->skip = true;
    if (pair->there == NULL || !s->delete)
        return;
    ash__sync_doom(s, pair->name);
    ash__sync_count(s, ASH_SYNC_DELETED, !ash_tree_entry_is_folder(pair->there), 0);
    pair->count = &s->counts[ASH_SYNC_DELETED];
}

/* A file or folder that is here. */
static int bring(ash_sync *s, ash_sync_pair *pair, ash_error *err)
{
    bool folder = pair->here->kind == ASH_LOCAL_FOLDER;
    bool there = pair->there != NULL;
    int rc = 0;
    if (there && ash_tree_entry_is_folder(pair->there) != folder) {
        pair->skip = !folder;
        rc = give_way(s, pair, err);
        there = false;
    }
    if (rc == 0 && folder && !there)
        make_folder(s, pair);
    else if (rc == 0 && !folder)
        queue_file(s, pair, there);
    return rc;
}

static int visit(ash_sync *s, ash_sync_pair *pair, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    (void)err;
    if (pair->here == NULL || pair->here->kind == ASH_LOCAL_OTHER) {
        if (pair->here != NULL)
            ash__sync_left_out(s, pair->here);
        doom(s, pair);
    } else if (pair->here->kind == ASH_LOCAL_STORE) {
        ash__progress_clear(s->progress);
        ash__cmd_note(s->r->cmd, "skipped %s: it is the store itself", pair->here->path);
        pair->skip = true;
    } else if (pair->here->kind == ASH_LOCAL_FAILED) {
        ash__sync_failed(s, pair->here->path, &pair->here->err);
        pair->skip = true;
    } else if (bring(s, pair, &own) != 0) {
        ash__sync_failed(s, pair->here->path, &own);
        pair->skip = true;
    }
    return 0;
}

/* ---- all ---- */

/* As entries have it, but "" for the root. */
static char *folder_path(const char *path)
{
    path += strspn(path, "/");
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    return ash__sprintf("%s%.*s", len > 0 ? "/" : "", (int)len, path);
}

/* The folder in the tree, made if it is not there, and what lies in it. */
static int open_target(ash_sync *s, const char *path, ash_tree_listing **out, ash_error *err)
{
    ash_cmd_tree_run *r = s->r;
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_list_options all = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_entry *folder = NULL;
    o.make_folders = true;
    all.recursive = true;
    int rc = ash__cmd_tree_peek(r, path, &folder, err);
    bool there = folder != NULL;
    if (rc == 0 && !there && !r->cmd->dry_run)
        rc = ash_tree_make_folder(r->tree, path, &o, &s->op, &folder, err);
    if (rc == 0 && there && !ash_tree_entry_is_folder(folder))
        rc = ash__fail(err, ASH_EEXISTS, "%s is a file in the tree", path);
    if (rc == 0 && there)
        rc = ash_tree_list(r->tree, path, &all, &r->op, out, err);
    if (rc == 0)
        s->folder = folder_path(folder != NULL ? ash_tree_entry_path(folder) : path);
    ash_tree_entry_free(folder);
    return rc;
}

static void measure(ash_sync *s, const char *store)
{
    ash_local *local = NULL;
    const ash_local_entry *e;
    int64_t bytes = 0, files = 0;
    if (ash__local_open(s->local, store, &local, NULL) != 0)
        return;
    while ((e = ash__local_next(local)) != NULL && !ash__cmd_is_interrupted()) {
        files += e->kind == ASH_LOCAL_FILE;
        bytes += e->kind == ASH_LOCAL_FILE ? e->st.st_size : 0;
    }
    ash__local_free(local);
    ash__progress_set_total(s->progress, bytes, files);
}

static void delete_doomed(ash_sync *s)
{
    for (size_t i = 0; i < s->doomed_count && !ash__sync_must_stop(s); i++) {
        ash_error err = ASH_ERROR_INIT;
        int rc = remove_entry(s, s->doomed[i], &err);
        if (rc != 0 && rc != ASH_ENOTFOUND)
            ash__sync_failed(s, s->doomed[i], &err);
    }
}

/* What comes and goes with each file is kept; but not what only the largest need, which would be kept
 * once for each thread. */
static void keep_buffers(void)
{
#ifdef M_TRIM_THRESHOLD
    enum { KEPT_BYTES = 4 * 1024 * 1024 };
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * KEPT_BYTES);
#endif
}

static int put_all(put *p, const char *path, const char *store, ash_error *err)
{
    ash_sync *s = &p->sync;
    ash_local *local = NULL;
    ash_tree_listing *listing = NULL;
    keep_buffers();
    int rc = ash__local_open(s->local, store, &local, err);
    if (rc == 0)
        rc = open_target(s, path, &listing, err);
    if (rc == 0) {
        measure(s, store);
        rc = ash__put_batch_init(&p->batch, s, err);
        s->work = ash__work_start(WORKERS, ASH_SYNC_BUFFER_BYTES, run_job, p);
        if (rc == 0)
            rc = ash__sync_merge(s, listing, local, visit, err);
        ash__work_finish(s->work);
        ash__put_batch_end(&p->batch);
    }
    ash_tree_listing_free(listing);
    ash__local_free(local);
    if (rc == 0)
        delete_doomed(s);
    if (s->folder != NULL && !s->r->cmd->dry_run) {
        int flushed = ash_store_flush(s->r->store, NULL, rc == 0 ? err : NULL);
        rc = rc == 0 ? flushed : rc;
    }
    return rc;
}

int ash__cmd_tree_put_folder(ash_cmd_tree_run *r, const ash_cmd_tree_put_folder *what,
                             ash_error *err)
{
    put p = {.content_type = what->content_type, .verify = what->verify};
    char *store = ash__cmd_store_folder(r->cmd);
    ash__sync_init(&p.sync, r, what->local);
    p.sync.delete = what->delete;
    p.sync.quick = what->quick;
    int rc = put_all(&p, what->path, store, err);
    if (rc == 0 || rc == ASH_EINTERRUPTED)
        rc = ash__sync_end(&p.sync);
    ash__sync_release(&p.sync);
    ash__free(store);
    return rc;
}
