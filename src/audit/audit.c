/* SPDX-License-Identifier: Apache-2.0 */
/* Lines wait in a buffer, which the log's thread exchanges for an empty one and writes. */
#include "audit/audit.h"

#include "audit/event.h"
#include "audit/file.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { AGAIN_MS = 1000, BUSY_BYTES = 16 * 1024 * 1024, MIB = 1024 * 1024 };

struct ash_audit {
    unsigned kinds;
    int64_t queue_bytes;
    pthread_t thread;
    ash_audit_file file; /* the thread's */

    _Atomic bool full; /* it cannot be written, and enough lines wait */
    ash_mutex lock;    /* guards what follows */
    ash_cond news;     /* for the thread: lines, or the end */
    ash_cond room;     /* for writers */
    ash_buffer waiting;
    int64_t lost; /* events for which there was no memory left */
    bool failing; /* the last write went wrong */
    bool over;
};

static const struct {
    const char *word;
    unsigned kind;
} words[] = {
    {"authentication", ASH_AUDIT_AUTHENTICATION},
    {"users", ASH_AUDIT_USERS},
    {"structure", ASH_AUDIT_STRUCTURE},
    {"writes", ASH_AUDIT_WRITES},
    {"reads", ASH_AUDIT_READS},
};

unsigned ash__audit_kind(const char *word)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(words); i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].kind;
    return 0;
}

bool ash__audit_wants(const ash_audit *a, unsigned kind)
{
    return a != NULL && (a->kinds & kind) != 0;
}

int ash__audit_admit(const ash_audit *a, unsigned kind, ash_error *err)
{
    if (!ash__audit_wants(a, kind) || !atomic_load_explicit(&a->full, memory_order_relaxed))
        return 0;
    return ash__fail_server(err, ASH_ENOSPC, ASH_MONGO_OUT_OF_DISK_SPACE,
                            "the audit log cannot be written, and this is to be in it");
}

/* ---- the thread ---- */

static void tell(const ash_audit *a, bool was_failing, bool failing, int why, int64_t lost)
{
    if (failing && !was_failing)
        ash__log(ASH_LOG_ERROR, "the audit log %s cannot be written: %s", a->file.path,
                 strerror(why));
    else if (was_failing && !failing && lost > 0)
        ash__log(ASH_LOG_ERROR, "the audit log %s is written again; %lld events are missing in it",
                 a->file.path, (long long)lost);
    else if (was_failing && !failing)
        ash__log(ASH_LOG_WARN, "the audit log %s is written again, and complete", a->file.path);
}

/* What is not written goes back before what came meanwhile. */
static void put_back(ash_audit *a, const ash_buffer *lines, size_t done)
{
    ash_buffer all = ASH_BUFFER_INIT;
    ash__mutex_assert_held(&a->lock);
    ash__buffer_append(&all, lines->data + done, lines->len - done);
    ash__buffer_append(&all, a->waiting.data, a->waiting.len);
    ash__buffer_release(&a->waiting);
    a->waiting = all;
}

/* false when it is over, and nothing is left that could be written.  With the lock, which it gives
 * up meanwhile. */
static bool write_waiting(ash_audit *a)
{
    ash_buffer lines = a->waiting;
    bool was_failing = a->failing;
    a->waiting = (ash_buffer)ASH_BUFFER_INIT;
    ash__mutex_unlock(&a->lock);
    size_t done = ash__audit_file_write(&a->file, lines.data, lines.len);
    int why = errno;
    bool failing = done < lines.len;
    ash__mutex_lock(&a->lock);
    a->failing = failing;
    if (failing)
        put_back(a, &lines, done);
    int64_t lost = a->lost;
    if (!failing)
        a->lost = 0;
    atomic_store(&a->full, failing && (int64_t)a->waiting.len >= a->queue_bytes);
    ash__cond_broadcast(&a->room);
    ash__mutex_unlock(&a->lock);
    ash__buffer_release(&lines);
    tell(a, was_failing, failing, why, lost);
    ash__mutex_lock(&a->lock);
    return !(a->over && (failing || a->waiting.len == 0));
}

static void *run(void *arg)
{
    ash_audit *a = arg;
    ash__mutex_lock(&a->lock);
    for (;;) {
        while (a->waiting.len == 0 && !a->over)
            ash__cond_wait(&a->news, &a->lock);
        if (a->failing && !a->over)
            ash__cond_wait_until(&a->news, &a->lock, ash__clock_deadline(AGAIN_MS));
        if (!write_waiting(a))
            break;
    }
    ash__mutex_unlock(&a->lock);
    return NULL;
}

/* ---- from outside ---- */

int ash__audit_open(const ash_audit_options *opts, ash_audit **out, ash_error *err)
{
    ash_audit *a = ash__new(ash_audit);
    *out = NULL;
    a->kinds = (opts->kinds != 0 ? opts->kinds : ASH_AUDIT_USUAL) | ASH_AUDIT_SERVER;
    a->queue_bytes = opts->queue_bytes > 0 ? opts->queue_bytes : MIB;
    a->file.max_bytes = opts->max_bytes > 0 ? opts->max_bytes : INT64_C(64) * MIB;
    a->file.keep = opts->keep > 0 ? opts->keep : 10;
    ash__mutex_init(&a->lock, ASH_RANK_AUDIT);
    ash__cond_init(&a->news);
    ash__cond_init(&a->room);
    int rc = ash__audit_file_open(&a->file, opts->path, err);
    int failed = rc == 0 ? ash__thread_start(&a->thread, 0, run, a) : 0;
    if (failed != 0)
        rc = ash__fail_errno(err, failed, "cannot start the audit log's thread");
    if (rc == 0) {
        *out = a;
        return 0;
    }
    ash__audit_file_close(&a->file);
    ash__cond_release(&a->news);
    ash__cond_release(&a->room);
    ash__mutex_release(&a->lock);
    ash__free(a);
    return rc;
}

void ash__audit_close(ash_audit *a)
{
    if (a == NULL)
        return;
    ash__mutex_lock(&a->lock);
    a->over = true;
    ash__cond_signal(&a->news);
    ash__mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    ash__audit_file_close(&a->file);
    ash__buffer_release(&a->waiting);
    ash__cond_release(&a->news);
    ash__cond_release(&a->room);
    ash__mutex_release(&a->lock);
    ash__free(a);
}

void ash__audit_write(ash_audit *a, const ash_audit_event *event)
{
    ash_buffer line = ASH_BUFFER_INIT;
    if (!ash__audit_wants(a, event->kind))
        return;
    ash__audit_line(event, ash__clock_wall_ms(), &line);
    ash__mutex_lock(&a->lock);
    /* More than the disk takes: whoever makes it slows down.  A disk that takes nothing is another
     * matter: then events of what was admitted before still come. */
    while (!a->failing && a->waiting.len > BUSY_BYTES)
        ash__cond_wait(&a->room, &a->lock);
    if (a->waiting.len > BUSY_BYTES)
        a->lost++;
    else
        ash__buffer_append(&a->waiting, line.data, line.len);
    if (a->failing && (int64_t)a->waiting.len >= a->queue_bytes)
        atomic_store(&a->full, true);
    else if (!a->failing)
        ash__cond_signal(&a->news);
    ash__mutex_unlock(&a->lock);
    ash__buffer_release(&line);
}
