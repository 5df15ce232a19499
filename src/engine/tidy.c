/* SPDX-License-Identifier: Apache-2.0 */
/* What a store takes only for those who have it open, it gives back when the last of them leaves:
 * room that was reserved ahead, a journal of which all is committed, free pages of the metadata,
 * LMDB's table of readers.
 *
 * All of that happens behind the commit that marks the store as closed.  So whatever ends it halfway
 * leaves a closed store that takes a little more room. */
#include "engine/journal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/idle_pages.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/statvfs.h>

/* Everybody who types a command waits for it; what is left is for the next one, or for who asks. */
enum { TIDY_MS = 50 };
/* But who waited long for the command does not notice some more. */
enum { TIDY_SHARE = 8, MOST_TIDY_MS = 500 };

/* What was free before this run is free because the metadata does not name it: that has to be looked
 * through first, which is worth it for some room, and as long as there is not much of it. */
enum { LEAST_IDLE_BYTES = 256 << 10, MOST_META_BYTES = 8 << 20 };
/* Before the first change of a run there was such a look at metadata of up to 16 MiB.  For free
 * pages of more it is worth one when there are many. */
enum { LEAST_PAGES_BYTES = 32 << 10, MANY_PAGES_SHARE = 16, MOST_PAGED_BYTES = 32 << 20 };

/* On a disk that is nearly full, others would take what is given back; and whoever deletes to make
 * room for what he puts next would find none. */
#define LEAST_ROOM_BYTES (UINT64_C(16) << 20)

static bool is_disk_roomy(const ash_engine *e)
{
    struct statvfs fs;
    return statvfs(e->folder, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= LEAST_ROOM_BYTES;
}

static bool is_before(void *deadline)
{
    return ash__clock_ms() < *(const int64_t *)deadline;
}

bool ash__metadata_is_whole(ash_engine *e, int64_t most_bytes, int64_t deadline)
{
    MDB_envinfo info;
    MDB_stat stat_of;
    ash_damage damage;
    ash__lmdb_env_info(e->env, &info);
    ash__lmdb_env_stat(e->env, &stat_of);
    /* One that was taken a short while ago holds, however large the metadata is. */
    ash__engine_damage(e, &damage);
    return (damage.censuses || ((int64_t)info.me_last_pgno + 1) * stat_of.ms_psize <= most_bytes) &&
           ash__engine_census(e, is_before, &deadline, NULL) == 0 &&
           !ash__engine_damage(e, &damage);
}

/* A wrong number in the list of free pages would cost one that is in use. */
static void give_pages_back(ash_engine *e, ash_idle_pages *pages, int64_t deadline)
{
    uint64_t taken = ash__idle_pages_taken(pages);
    bool are_many = taken >= ash__idle_pages_in_use(pages) / MANY_PAGES_SHARE;
    if (taken >= LEAST_PAGES_BYTES &&
        ash__metadata_is_whole(e, are_many ? MOST_PAGED_BYTES : 0, deadline))
        ash__idle_pages_punch(pages, deadline);
}

static void give_segments_back(ash_engine *e, int64_t *deadline)
{
    ash_punch_options opts = {
        .which = ASH_SEGMENTS_MADE, .least_blocks = 1, .go_on = is_before, .ctx = deadline};
    ash_error err = ASH_ERROR_INIT;
    uint64_t freed = 0, more = 0;
    int rc = ash__segments_punch(e->segments, &opts, &freed, &err);
    opts.which = ASH_SEGMENTS_USED;
    if (rc == 0 && ash__segments_idle(e->segments, ASH_SEGMENTS_USED) >= LEAST_IDLE_BYTES &&
        ash__metadata_is_whole(e, MOST_META_BYTES, *deadline))
        rc = ash__segments_punch(e->segments, &opts, &more, &err);
    if (rc != 0)
        ash__log(ASH_LOG_INFO, "%s keeps what it has reserved: %s", e->folder, err.text);
    ash__log(ASH_LOG_DEBUG, "%s gave %" PRIu64 " KiB back when it was closed", e->folder,
             (freed + more) >> 10);
}

static int64_t deadline_of(const ash_engine *e)
{
    int64_t now = ash__clock_ms(), share = (now - e->opened_ms) / TIDY_SHARE;
    if (e->opts.tidy_ms != 0)
        return now + e->opts.tidy_ms;
    /* It does not happen often, and until then more room is taken than before. */
    if (e->was_packed)
        return now + MOST_TIDY_MS;
    return now + (share < TIDY_MS ? TIDY_MS : share > MOST_TIDY_MS ? MOST_TIDY_MS : share);
}

static void give_all_back(ash_engine *e, ash_idle_pages *pages)
{
    int64_t deadline = deadline_of(e);
    give_segments_back(e, &deadline);
    ash__journal_give_back(&e->journal);
    give_pages_back(e, pages, deadline);
}

void ash__tidy_at_close(ash_engine *e)
{
    ash_damage damage;
    if (e->opts.read_only || e->opts.tidy_ms < 0 || !e->closed_well ||
        ash__engine_damage(e, &damage) || ash__folder_require(e, NULL) != 0)
        return;
    ash_idle_pages *pages = ash__idle_pages_new(e);
    if (pages == NULL)
        return;
    bool is_roomy = is_disk_roomy(e);
    /* Unless free space is to stay on the disk, or the disk does not take it back. */
    if (is_roomy && e->opts.trim_slack_bytes >= 0 && !e->trim.failed)
        give_all_back(e, pages);
    /* On a full disk too: what the last commit let go of it is there for the next run. */
    bool has_rest = ash__reserve_rest(e, ash__idle_pages_in_use(pages));
    e->has_rest = is_roomy && has_rest;
    ash__idle_pages_free(pages);
}

void ash__tidy_readers(ash_engine *e)
{
    int fd = -1;
    char *path = ash__path_join(e->folder, "meta.mdb-lock");
    /* LMDB has closed it, and by the folder's lock nobody else has it open.  Where there is less in
     * reserve, the next opening might find no room for it. */
    if (e->has_rest && ash__folder_require(e, NULL) == 0 &&
        ash__file_open(path, O_RDWR | O_NOFOLLOW, &fd, NULL) == 0)
        (void)ash__io()->ftruncate(fd, 0);
    ash__file_close(fd);
    ash__free(path);
}
