/* SPDX-License-Identifier: Apache-2.0 */
/* Old versions of files for clients that read a file in two steps: which document each was given,
 * and the snapshots that fit (versions.h). */

#include "store/embedded/files/versions.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"
#include "bson/keycode.h"

#include <stdatomic.h>
#include <string.h>

/* WAYS: files documents that share a place in the table.  WANTED: versions that somebody is known
 * to have been given.  The others are for who is being given one just now: between a look at what
 * was given and the commit that follows, a client may still come and find the old document. */
enum { SEEN_MS = 10000, LONGEST_MS = 600000, WAYS = 8, PLACES = ASH_VERSIONS_SEEN / WAYS };
enum { WANTED = ASH_VERSIONS_KEPT * 3 / 4 };

typedef struct seen {
    uint64_t reader; /* 0: free */
    uint64_t file;
    uint64_t commit; /* of the snapshot it came from */
    int64_t at_ms;
} seen;

/* snap NULL: free.  The file as it was up to that commit and until its next change. */
struct ash_version {
    ash_snapshot *snap;
    uint64_t file;
    uint64_t commit;
    int64_t since_ms;
    int64_t used_ms;
    bool in_use;
};

/* The monitor guards everything but the flags; its condition: a version was given back. */
struct ash_versions {
    ash_monitor *monitor;
    atomic_bool has_readers; /* so that the others need no lock */
    atomic_bool any_kept;
    seen (*places)[WAYS];                       /* NULL until the first */
    ash_giving *givings;                        /* under way */
    struct ash_version kept[ASH_VERSIONS_KEPT]; /* the first WANTED are */
};

ash_versions *ash__versions_new(void)
{
    ash_versions *v = ash__new(ash_versions);
    v->monitor = ash__monitor_new();
    atomic_init(&v->has_readers, false);
    atomic_init(&v->any_kept, false);
    return v;
}

void ash__versions_free(ash_versions *v)
{
    if (v == NULL)
        return;
    for (size_t i = 0; i < ASH_VERSIONS_KEPT; i++)
        ash__snapshot_close(v->kept[i].snap);
    ash__monitor_free(v->monitor);
    ash__free(v->places);
    ash__free(v);
}

/* ---- which file ---- */

/* Of the bucket and the id, equal for ids that compare as equal; never 0. */
static uint64_t name_file(ash_ns ns, ash_value id)
{
    ash_buffer text = ASH_BUFFER_INIT;
    const char *dot = strrchr(ns.coll, '.');
    ash__buffer_append(&text, ns.db, strlen(ns.db) + 1);
    ash__buffer_append(&text, ns.coll, (size_t)(dot - ns.coll) + 1);
    ash__keycode_append(&text, id, false, NULL);
    uint64_t name = ash__checksum(text.data, text.len);
    ash__buffer_release(&text);
    /* 0 stands for a free place. */
    return name != 0 ? name : 1;
}

/* The values that a filter allows for files_id: one, or those of an $in. */
typedef struct file_ids {
    ash_doc list; /* of $in */
    ash_value one;
} file_ids;

static file_ids ids_of(const bson_t *filter)
{
    file_ids ids = {ash__doc_empty, ASH_VALUE_MISSING};
    ash_value v = ash__doc_get(ash__doc_from_bson(filter), "files_id");
    ids.one = v;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ids;
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    if (!ash__doc_iter_next(&it) || it.name[0] != '$')
        return ids;
    /* A document without an operator is an _id that is a document. */
    ids.one = strcmp(it.name, "$eq") == 0 ? it.value : ASH_VALUE_MISSING;
    if (strcmp(it.name, "$in") == 0 && it.value.type == BSON_TYPE_ARRAY)
        ids.list = ash__value_doc(it.value);
    return ids;
}

/* ---- what was given to whom ---- */

static seen *place_of(ash_versions *v, uint64_t file)
{
    ash__monitor_assert_held(v->monitor);
    return v->places[file % PLACES];
}

static bool is_fresh(const seen *s, uint64_t file, int64_t now_ms)
{
    return s->reader != 0 && s->file == file && s->at_ms > now_ms - SEEN_MS;
}

/* The reader's own place for the file, else the one that nobody has used for longest. */
static seen *choose_place(ash_versions *v, uint64_t reader, uint64_t file)
{
    seen *place = place_of(v, file);
    seen *oldest = place;
    for (size_t i = 0; i < WAYS; i++) {
        if (place[i].reader == reader && place[i].file == file)
            return &place[i];
        if (place[i].at_ms < oldest->at_ms)
            oldest = &place[i];
    }
    return oldest;
}

/* The commit of what the reader was given, as a range: drivers with several threads mix their
 * sessions up, so that one without a place of its own is taken to be among the others.  Lowest 0:
 * nobody was given the file. */
typedef struct range {
    uint64_t lowest, highest;
} range;

static range commit_given(ash_versions *v, uint64_t reader, uint64_t file, int64_t now_ms)
{
    seen *place = v->places != NULL ? place_of(v, file) : NULL;
    range r = {0, 0};
    for (size_t i = 0; i < WAYS && place != NULL; i++) {
        if (!is_fresh(&place[i], file, now_ms))
            continue;
        if (place[i].reader == reader) {
            /* As long as it reads, it is remembered. */
            place[i].at_ms = now_ms;
            return (range){place[i].commit, place[i].commit};
        }
        if (r.lowest == 0 || place[i].commit < r.lowest)
            r.lowest = place[i].commit;
        /* Both ends: one version has to fit everything that was given. */
        if (place[i].commit > r.highest)
            r.highest = place[i].commit;
    }
    return r;
}

/* ---- keeping ---- */

/* Has somebody been given the file since its last kept version? */
static bool is_wanted(ash_versions *v, uint64_t file, int64_t now_ms)
{
    seen *place = v->places != NULL ? place_of(v, file) : NULL;
    uint64_t kept = 0;
    for (size_t i = 0; i < WANTED; i++)
        if (v->kept[i].snap != NULL && v->kept[i].file == file && v->kept[i].commit > kept)
            kept = v->kept[i].commit;
    for (size_t i = 0; i < WAYS && place != NULL; i++)
        if (is_fresh(&place[i], file, now_ms) && place[i].commit > kept)
            return true;
    return false;
}

/* The oldest version that is not older than the commit: nothing changed the file between. */
static ash_version *find_version(ash_versions *v, uint64_t file, uint64_t commit)
{
    ash_version *best = NULL;
    ash__monitor_assert_held(v->monitor);
    for (size_t i = 0; i < ASH_VERSIONS_KEPT; i++) {
        ash_version *k = &v->kept[i];
        /* What is older than the document that was given is of before it. */
        if (k->snap == NULL || k->file != file || k->commit < commit)
            continue;
        if (best == NULL || k->commit < best->commit)
            best = k;
    }
    return best;
}

/* Would somebody who was given the file be shown this version of it? */
static bool is_asked_for(ash_versions *v, const ash_version *k, int64_t now_ms)
{
    seen *place = v->places != NULL ? place_of(v, k->file) : NULL;
    for (size_t i = 0; i < WAYS && place != NULL; i++)
        if (is_fresh(&place[i], k->file, now_ms) && find_version(v, k->file, place[i].commit) == k)
            return true;
    return false;
}

/* A free one, else one that nobody would be shown, else any: of those the one used longest ago.
 * NULL when all are in use. */
static ash_version *choose_version(ash_versions *v, bool wanted, int64_t now_ms)
{
    ash_version *best = NULL;
    bool best_is_asked_for = false;
    size_t end = wanted ? WANTED : ASH_VERSIONS_KEPT;
    ash__monitor_assert_held(v->monitor);
    for (size_t i = wanted ? 0 : WANTED; i < end; i++) {
        ash_version *k = &v->kept[i];
        if (k->snap == NULL)
            return k;
        if (k->in_use)
            continue;
        bool asked_for = is_asked_for(v, k, now_ms);
        if (best == NULL || asked_for < best_is_asked_for ||
            (asked_for == best_is_asked_for && k->used_ms < best->used_ms)) {
            best = k;
            best_is_asked_for = asked_for;
        }
    }
    return best;
}

/* A version that was kept for nobody in particular came to be somebody's; returns the snapshot that had
 * to make room for it. */
static ash_snapshot *promote(ash_versions *v, ash_version *k)
{
    /* It is in the right part already, or somebody reads it. */
    if (k == NULL || k < v->kept + WANTED || k->in_use)
        return NULL;
    /* In the other part it would soon have to make room. */
    ash_version *to = choose_version(v, true, ash__clock_ms());
    if (to == NULL)
        return NULL;
    ash_snapshot *over = to->snap;
    *to = *k;
    k->snap = NULL;
    return over;
}

void ash__versions_gave(ash_embedded *s, uint64_t reader, ash_ns ns, ash_doc doc, uint64_t commit)
{
    ash_versions *v = s->versions;
    ash_value id = ash__doc_get(doc, "_id");
    if (ash__value_is_missing(id))
        return;
    uint64_t file = name_file(ns, id);
    ash__monitor_lock(v->monitor);
    if (v->places == NULL)
        v->places = ash__alloc_array(PLACES, sizeof *v->places);
    *choose_place(v, reader, file) = (seen){reader, file, commit, ash__clock_ms()};
    ash_snapshot *over = promote(v, find_version(v, file, commit));
    ash__monitor_unlock(v->monitor);
    ash__snapshot_close(over);
}

void ash__versions_forget_reader(ash_store *store, uint64_t reader)
{
    ash_versions *v = ash__embedded(store)->versions;
    ash__monitor_lock(v->monitor);
    for (size_t i = 0; v->places != NULL && i < PLACES; i++)
        for (size_t k = 0; k < WAYS; k++)
            if (v->places[i][k].reader == reader)
                v->places[i][k] = (seen){0, 0, 0, 0};
    ash__monitor_unlock(v->monitor);
}

void ash__versions_giving_begin(ash_embedded *s, ash_giving *g)
{
    ash_versions *v = s->versions;
    ash__monitor_lock(v->monitor);
    /* Not known yet: it may come to be any. */
    g->commit = 0;
    if (!g->under_way) {
        g->under_way = true;
        g->before = NULL;
        g->next = v->givings;
        if (g->next != NULL)
            g->next->before = g;
        v->givings = g;
    }
    ash__monitor_unlock(v->monitor);
}

void ash__versions_giving_rest(ash_embedded *s, ash_giving *g, uint64_t commit)
{
    ash__monitor_lock(s->versions->monitor);
    g->commit = commit;
    ash__monitor_unlock(s->versions->monitor);
}

void ash__versions_giving_end(ash_embedded *s, ash_giving *g)
{
    if (!g->under_way)
        return;
    ash__monitor_lock(s->versions->monitor);
    if (g->before != NULL)
        g->before->next = g->next;
    else
        s->versions->givings = g->next;
    if (g->next != NULL)
        g->next->before = g->before;
    g->under_way = false;
    ash__monitor_unlock(s->versions->monitor);
}

void ash__versions_expect_readers(ash_store *store)
{
    atomic_store(&ash__embedded(store)->versions->has_readers, true);
}

/* Puts the snapshot where it will be found; returns the one to be closed instead. */
static ash_snapshot *put_version(ash_versions *v, uint64_t file, ash_snapshot *snap)
{
    int64_t now_ms = ash__clock_ms();
    ash_snapshot *over = snap;
    ash__monitor_lock(v->monitor);
    ash_version *k = choose_version(v, is_wanted(v, file, now_ms), now_ms);
    if (k != NULL) {
        over = k->snap;
        *k = (ash_version){snap, file, ash__snapshot_commit(snap), now_ms, now_ms, false};
        atomic_store(&v->any_kept, true);
    }
    ash__monitor_unlock(v->monitor);
    return over;
}

/* Who changes the file is not to meet what it was before: as if given it by the coming commit. */
static void note_changer(ash_versions *v, uint64_t reader, uint64_t file, uint64_t commit)
{
    if (reader == 0)
        return;
    ash__monitor_lock(v->monitor);
    if (v->places != NULL)
        *choose_place(v, reader, file) = (seen){reader, file, commit, ash__clock_ms()};
    ash__monitor_unlock(v->monitor);
}

static void keep(ash_embedded *s, uint64_t reader, ash_ns ns, ash_value id)
{
    ash_snapshot *snap = NULL;
    ash_error ignored = ASH_ERROR_INIT;
    uint64_t file = name_file(ns, id);
    /* The state before the transaction, which has not committed yet.  Without one, readers get the
     * newest chunks, as without all this. */
    if (ash__snapshot_committed(s->engine, &snap, &ignored) != 0)
        return;
    uint64_t commit = ash__snapshot_commit(snap);
    ash__snapshot_close(put_version(s->versions, file, snap));
    note_changer(s->versions, reader, file, commit + 1);
}

void ash__versions_changing(ash_embedded *s, uint64_t reader, ash_ns ns, const bson_t *filter)
{
    /* Without a server in this process nobody reads in two steps, and no lock is taken. */
    if (!atomic_load(&s->versions->has_readers) || filter == NULL)
        return;
    file_ids ids = ids_of(filter);
    if (!ash__value_is_missing(ids.one))
        keep(s, reader, ns, ids.one);
    for (ash_doc_iter it = ash__doc_iter(ids.list); ash__doc_iter_next(&it);)
        keep(s, reader, ns, it.value);
}

/* ---- reading ---- */

static ash_version *borrow(ash_versions *v, uint64_t reader, uint64_t file)
{
    for (;;) {
        int64_t now = ash__clock_ms();
        range given = commit_given(v, reader, file, now);
        ash_version *k = given.lowest != 0 ? find_version(v, file, given.lowest) : NULL;
        if (k == NULL || find_version(v, file, given.highest) != k)
            return NULL;
        if (!k->in_use) {
            k->in_use = true;
            k->used_ms = now;
            return k;
        }
        /* A snapshot is read by one thread at a time.  Everything is looked up again, for it may
         * have gone. */
        ash__monitor_wait_until(v->monitor, now + 1000);
    }
}

ash_version *ash__versions_borrow(ash_embedded *s, uint64_t reader, ash_ns ns, const bson_t *filter)
{
    ash_versions *v = s->versions;
    if (!atomic_load(&v->any_kept) || filter == NULL)
        return NULL;
    file_ids ids = ids_of(filter);
    if (ash__value_is_missing(ids.one))
        return NULL;
    uint64_t file = name_file(ns, ids.one);
    ash__monitor_lock(v->monitor);
    ash_version *version = borrow(v, reader, file);
    ash__monitor_unlock(v->monitor);
    return version;
}

ash_snapshot *ash__version_snapshot(const ash_version *version)
{
    return version->snap;
}

void ash__versions_give_back(ash_embedded *s, ash_version *version)
{
    if (version == NULL)
        return;
    ash__monitor_lock(s->versions->monitor);
    version->in_use = false;
    version->used_ms = ash__clock_ms();
    ash__monitor_wake_all(s->versions->monitor);
    ash__monitor_unlock(s->versions->monitor);
}

/* ---- letting go ---- */

/* May a reader ask for it, or be given a document that belongs to it? */
static bool may_be_asked_for(ash_versions *v, const ash_version *k, int64_t now_ms)
{
    seen *place = v->places != NULL ? place_of(v, k->file) : NULL;
    for (size_t i = 0; i < WAYS && place != NULL; i++)
        if (is_fresh(&place[i], k->file, now_ms) && place[i].commit <= k->commit)
            return true;
    for (const ash_giving *g = v->givings; g != NULL; g = g->next)
        if (g->commit <= k->commit)
            return true;
    return false;
}

/* One that nobody will ask for, taken out; NULL when there is none.  newest: a commit, of which
 * every snapshot is that is still to be opened; or 0: go by age alone. */
static ash_snapshot *take_idle(ash_versions *v, int64_t now_ms, uint64_t newest)
{
    ash_snapshot *snap = NULL;
    bool any = false;
    ash__monitor_lock(v->monitor);
    for (size_t i = 0; i < ASH_VERSIONS_KEPT; i++) {
        ash_version *k = &v->kept[i];
        bool over = k->used_ms < now_ms - SEEN_MS || k->since_ms < now_ms - LONGEST_MS ||
                    (newest > k->commit && !may_be_asked_for(v, k, now_ms));
        if (snap == NULL && k->snap != NULL && over && !k->in_use) {
            snap = k->snap;
            k->snap = NULL;
        }
        any = any || k->snap != NULL;
    }
    /* Until the next version is kept, readers need no lock again. */
    atomic_store(&v->any_kept, any);
    ash__monitor_unlock(v->monitor);
    return snap;
}

static void let_go(ash_embedded *s, uint64_t newest)
{
    int64_t now = ash__clock_ms();
    for (ash_snapshot *snap; (snap = take_idle(s->versions, now, newest)) != NULL;)
        ash__snapshot_close(snap);
}

void ash__versions_lapse(ash_embedded *s)
{
    if (atomic_load(&s->versions->any_kept))
        let_go(s, 0);
}

void ash__versions_make_room(ash_embedded *s)
{
    ash_snapshot *snap = NULL;
    ash_error ignored = ASH_ERROR_INIT;
    if (!atomic_load(&s->versions->any_kept) ||
        ash__snapshot_committed(s->engine, &snap, &ignored) != 0)
        return;
    uint64_t newest = ash__snapshot_commit(snap);
    ash__snapshot_close(snap);
    let_go(s, newest);
}
