/* SPDX-License-Identifier: Apache-2.0 */
/* A process that may end amid its work.  It has the parent's mapping and snapshot as they were when
 * it was forked, and a pipe. */
#include "engine/check/child.h"

#include "base/mem.h"
#include "engine/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME_MAX = 1 << 20 };

/* ---- the child's side ---- */

static void send_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            _exit(1); /* nobody listens any more */
        data += put;
        len -= (size_t)put;
    }
}

void ash__child_send(const ash_child *child, ash_doc doc)
{
    if (doc.len <= FRAME_MAX)
        send_all(child->fd, doc.data, doc.len);
}

/* ---- the parent's side ---- */

static bool receive_all(int fd, uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t got = read(fd, data, len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        data += got;
        len -= (size_t)got;
    }
    return true;
}

/* One document from the child into buf; false at the end. */
static bool receive_doc(int fd, uint8_t *buf, bson_t *doc)
{
    if (!receive_all(fd, buf, 4))
        return false;
    uint32_t len = ash__get_le32(buf);
    /* A child that writes over its own memory may send anything. */
    return len >= 5 && len <= FRAME_MAX && receive_all(fd, buf + 4, len - 4) &&
           bson_init_static(doc, buf, len);
}

/* No other thread may be inside the locks that the child needs. */
static pid_t fork_quietly(ash_engine *e)
{
    ash__mutex_lock(&e->cache_lock);
    ash__segments_lock(e->segments);
    pid_t child = fork();
    ash__segments_unlock(e->segments);
    ash__mutex_unlock(&e->cache_lock);
    return child;
}

static int receive_from(pid_t child, int fd, ash_child_take_fn take, void *ctx, int *status,
                        ash_error *err)
{
    int rc = 0;
    bson_t doc;
    uint8_t *buf = ash__alloc(FRAME_MAX);
    while (rc == 0 && receive_doc(fd, buf, &doc)) {
        if (!take(ctx, &doc)) {
            /* It may be amid a long read, and listens to nothing. */
            kill(child, SIGKILL);
            rc = ash__fail(err, ASH_EINTERRUPTED, "the check was interrupted");
        }
    }
    ash__free(buf);
    /* Whatever happened: no child is left as a zombie. */
    while (waitpid(child, status, 0) < 0 && errno == EINTR)
        continue;
    return rc;
}

int ash__child_run(ash_engine *e, ash_child_fn fn, ash_child_take_fn take, void *ctx, int *status,
                   ash_error *err)
{
    int ends[2], result;
    *status = 0;
    if (pipe(ends) != 0)
        return ash__fail_errno(err, errno, "cannot make a pipe");
    /* Another thread may start a program meanwhile, and it would keep the pipe open. */
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t child = fork_quietly(e);
    if (child == 0) {
        ash_child own = {.fd = ends[1]};
        /* So that writing fails when the parent is gone. */
        close(ends[0]);
        fn(&own, ctx);
        /* Without what exit() runs: it is the parent's to be run. */
        _exit(0);
    }
    /* Else the end of the child would not be the end of the pipe. */
    close(ends[1]);
    if (child < 0)
        result = ash__fail_errno(err, errno, "cannot start a process for the check");
    else
        result = receive_from(child, ends[0], take, ctx, status, err);
    close(ends[0]);
    return result;
}

/* ---- for who is above the engine ---- */

typedef struct ash_probe {
    ash_snapshot *snap;
    ash_child *child;
    const ash_probe_fns *fns;
} ash_probe;

static void look(ash_child *child, void *ctx)
{
    ash_probe *p = ctx;
    p->child = child;
    p->fns->look(p, p->snap, p->fns->ctx);
}

static bool take(void *ctx, const bson_t *doc)
{
    const ash_probe *p = ctx;
    return p->fns->take(p->fns->ctx, doc);
}

void ash__probe_tell(ash_probe *p, const bson_t *doc)
{
    ash__child_send(p->child, ash__doc_from_bson(doc));
}

int ash__engine_probe(ash_engine *e, const ash_probe_fns *fns, bool *through, ash_error *err)
{
    ash_probe p = {.fns = fns};
    int status = 0;
    int rc = ash__snapshot_open(e, &p.snap, err);
    if (rc == 0)
        rc = ash__child_run(e, look, take, &p, &status, err);
    ash__snapshot_close(p.snap);
    *through = rc == 0 && status == 0;
    return rc;
}
