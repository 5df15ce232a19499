/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads that are written ahead of the change that points at them, on the thread that has them
 * and without any lock, so that the writer's turn is short. */
#include "engine/internal.h"

#include "base/mem.h"

enum { REUSE_BLOCKS = 2048 }; /* as much as a segment reserves at a time */

static int mark_open(ash_writer *w, void *ctx, ash_error *err)
{
    (void)ctx;
    return w->marked_open ? 0 : ash__writer_mark_open(w, err);
}

/* A sequence may reach the disk only after the run that gives it is on record. */
static int ready_to_write(ash_engine *e, ash_error *err)
{
    if (atomic_load(&e->marked_open))
        return 0;
    return ash__engine_apply(e, mark_open, NULL, &(ash_apply_terms){.ack = ASH_ACK_DURABLE}, err);
}

static int stage(ash_engine *e, uint32_t coll_id, const struct iovec *parts, int count,
                 ash_staged **out, ash_error *err)
{
    ash_staged *s = ash__new(ash_staged);
    s->coll_id = coll_id;
    const ash_record_draft draft = {coll_id, atomic_fetch_add(&e->next_sequence, 1), parts, count};
    int rc = ash__segments_write(e->segments, &draft, &s->placed, err);
    if (rc != 0) {
        ash__free(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* What was freed can be used again only after LMDB's commit, up to 100 ms later.  Whoever deletes
 * much and writes much would make the store larger meanwhile; so he waits for the commit. */
static void reuse_first(ash_engine *e, const struct iovec *parts, int count)
{
    size_t bytes = 0;
    if (atomic_load(&e->freed_blocks) < REUSE_BLOCKS)
        return;
    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    if (ash__segments_would_grow(e->segments, bytes))
        ash__commit_freed(e);
}

int ash__staged_write(ash_engine *e, uint32_t coll_id, const struct iovec *parts, int count,
                      ash_staged **out, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    *out = NULL;
    int rc = ready_to_write(e, err);
    if (rc != 0)
        return rc;
    /* Before it takes space, and not when it gets none: then the files would have grown already. */
    reuse_first(e, parts, count);
    /* Readers may have gone since the last commit. */
    ash__segments_reap(e->segments, ash__snapshot_oldest(e));
    rc = stage(e, coll_id, parts, count, out, &own);
    if (rc == ASH_ENOSPC) {
        ash__commit_freed(e);
        ash__segments_reap(e->segments, ash__snapshot_oldest(e));
        /* Whatever the first try said is over. */
        own = (ash_error)ASH_ERROR_INIT;
        rc = stage(e, coll_id, parts, count, out, &own);
    }
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}

/* On the writer's thread, for whoever came without one. */
int ash__staged_write_here(ash_writer *w, uint32_t coll_id, ash_doc doc, ash_staged **out,
                           ash_error *err)
{
    struct iovec part = {(void *)(uintptr_t)doc.data, doc.len};
    return stage(w->engine, coll_id, &part, 1, out, err);
}

int ash__staged_sync(ash_engine *e, const ash_staged *s, ash_error *err)
{
    return ash__segments_sync(e->segments, &s->placed, err);
}

bool ash__engine_is_busy(const ash_engine *e)
{
    return ash__segments_are_busy(e->segments);
}

void ash__staged_free(ash_engine *e, ash_staged *s)
{
    if (s == NULL)
        return;
    ash__segments_give(e->segments, s->placed.extent);
    ash__free(s);
}
