/* SPDX-License-Identifier: Apache-2.0 */
#include "wrapped_engine.h"

#include "base/file.h"
#include "engine/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int broken;
static bool eager_journal;
static bool eager_trim;

void wrapped_engine_break(int rule)
{
    broken = rule;
}

void wrapped_engine_journal_eagerly(bool eagerly)
{
    eager_journal = eagerly;
}

void wrapped_engine_trim_eagerly(bool eagerly)
{
    eager_trim = eagerly;
}

/* ---- what the linker calls in the place of the engine's functions ---- */

int __real_ash__engine_open(const char *folder, const ash_engine_options *opts, ash_engine **out,
                            ash_error *err);
int __wrap_ash__engine_open(const char *folder, const ash_engine_options *opts, ash_engine **out,
                            ash_error *err);
int __real_ash__file_sync(int fd, ash_error *err);
int __wrap_ash__file_sync(int fd, ash_error *err);
int __real_ash__writer_unuse(ash_writer *w, ash_extent extent, ash_error *err);
int __wrap_ash__writer_unuse(ash_writer *w, ash_extent extent, ash_error *err);

int __wrap_ash__engine_open(const char *folder, const ash_engine_options *opts, ash_engine **out,
                            ash_error *err)
{
    ash_engine_options o = *opts;
    if (eager_trim) {
        o.trim_slack_bytes = o.trim_interval_ms = 1;
        o.trim_span_bytes = 4096;
    }
    if (eager_journal) {
        o.journal_after = 1;
        o.journal_always = true;
    }
    return __real_ash__engine_open(folder, &o, out, err);
}

/* The part of the path of an open file that tells which of the store's files it is. */
static bool is_in(int fd, const char *part)
{
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len < 0)
        return false;
    path[len] = '\0';
    return strstr(path, part) != NULL;
}

int __wrap_ash__file_sync(int fd, ash_error *err)
{
    bool skipped = (broken == RULE_PAYLOADS_FIRST && is_in(fd, "/segments/")) ||
                   (broken == RULE_JOURNAL_FIRST && is_in(fd, "/journal"));
    return skipped ? 0 : __real_ash__file_sync(fd, err);
}

int __wrap_ash__writer_unuse(ash_writer *w, ash_extent extent, ash_error *err)
{
    if (broken != RULE_NO_EARLY_REUSE)
        return __real_ash__writer_unuse(w, extent, err);
    int rc = ash__segments_unmark(w->engine->segments, extent, err);
    if (rc == 0)
        ash__segments_give(w->engine->segments, extent);
    return rc;
}
