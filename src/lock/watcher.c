/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that follows the changes of all lock documents, so that waiting takes no polling. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

#define RETRY_MS 1000 /* after a stream that ended */
#define AWAIT_MS 1000 /* how long the server holds an empty batch back */

static bool is_field(const char *path, const char *name)
{
    /* Changed fields come as paths: `waiters.1.exp` is one of `waiters`. */
    size_t len = strlen(name);
    return strncmp(path, name, len) == 0 && (path[len] == 0 || path[len] == '.');
}

static bool ends_with(const char *path, const char *end)
{
    size_t len = strlen(path), end_len = strlen(end);
    return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

/* Behind others, or the first one's sign of life: nobody has left the queue. */
static bool is_joining(const char *path)
{
    return (strncmp(path, "waiters.", 8) == 0 && strncmp(path, "waiters.0", 9) != 0) ||
           ends_with(path, ".exp");
}

/* What the new value of a field allows.  Renewals, requests and readers that come or go without
 * being the last allow nothing that was not allowed before. */
static ash_lock_chance chance_of(const bson_iter_t *field)
{
    const char *path = bson_iter_key(field);
    if (is_field(path, "write_lock") || is_field(path, "write_req"))
        return bson_iter_as_bool(field) ? ASH_LOCK_CHANCE_NONE : ASH_LOCK_CHANCE_ANY;
    if (is_field(path, "read_locks"))
        return bson_iter_as_int64(field) > 0 ? ASH_LOCK_CHANCE_NONE : ASH_LOCK_CHANCE_ANY;
    if (is_field(path, "waiters"))
        return is_joining(path) ? ASH_LOCK_CHANCE_NONE : ASH_LOCK_CHANCE_ANY;
    if (is_field(path, "turn") || is_field(path, "base"))
        return ASH_LOCK_CHANCE_ANY;
    return ASH_LOCK_CHANCE_NONE;
}

/* `next` of the news, when there is one, points into *next.  False: a writer has got it. */
static bool read_fields(bson_iter_t *fields, ash_lock_news *news, bson_iter_t *next)
{
    bool turn = false;
    int chance = ASH_LOCK_CHANCE_NONE;
    while (bson_iter_next(fields)) {
        const char *path = bson_iter_key(fields);
        chance |= (int)chance_of(fields);
        if (strcmp(path, "writes") == 0) {
            *news = (ash_lock_news){news->doc_id, ASH_LOCK_CHANCE_NONE, NULL};
            return false;
        }
        turn = turn || (strcmp(path, "turn") == 0 && BSON_ITER_HOLDS_DATE_TIME(fields));
        if (strcmp(path, "next") == 0 && BSON_ITER_HOLDS_OID(fields)) {
            *next = *fields;
            news->next = bson_iter_oid(next);
        }
    }
    news->chance = (ash_lock_chance)chance;
    /* A queue has formed, so readers go only when it is their turn. */
    if (news->next != NULL)
        news->chance = turn ? ASH_LOCK_CHANCE_READ : ASH_LOCK_CHANCE_NONE;
    return true;
}

/* doc_id is left alone. */
static void read_news(const bson_t *event, ash_lock_news *news, bson_iter_t *next)
{
    bson_iter_t iter, fields;
    news->chance = ASH_LOCK_CHANCE_ANY;
    bson_iter_init(&iter, event);
    if (!bson_iter_find_descendant(&iter, "updateDescription.updatedFields", &fields) ||
        !bson_iter_recurse(&fields, &iter))
        return;
    bool free = read_fields(&iter, news, next);
    bson_iter_init(&iter, event);
    /* Somebody has left the queue. */
    if (free && news->next == NULL &&
        bson_iter_find_descendant(&iter, "updateDescription.truncatedArrays.0", &fields))
        news->chance = ASH_LOCK_CHANCE_ANY;
}

/* The document was removed, written anew, or says that its lock was broken. */
static bool may_be_lost(const bson_t *event)
{
    bson_iter_t iter, fields;
    bson_iter_init(&iter, event);
    if (!bson_iter_find_descendant(&iter, "updateDescription.updatedFields", &fields) ||
        !bson_iter_recurse(&fields, &iter))
        return true;
    while (bson_iter_next(&iter))
        if (is_field(bson_iter_key(&iter), "broken"))
            return true;
    return false;
}

/* A lease that somebody may have ended is renewed now, which tells.  doc_id NULL: all of those
 * whose program wants to hear of it. */
static void doubt(ash_lock_collection *c, const bson_value_t *doc_id)
{
    ash__mutex_assert_held(&c->mutex);
    int64_t now = ash__clock_ms();
    for (ash_lock *lock = c->open; lock != NULL; lock = lock->next_open) {
        bool held = lock->state == ASH_LOCK_READING || lock->state == ASH_LOCK_WRITING;
        if (!held || lock->renew_ms == 0 || lock->fn == NULL ||
            (doc_id != NULL && !ash__lock_same_value(doc_id, &lock->grant.doc_id)))
            continue;
        lock->renew_ms = now;
        ash__lock_due(c, now);
    }
}

static void take_event(ash_lock_collection *c, ash_doc doc)
{
    bson_t event;
    bson_iter_t iter, id, next;
    ash_lock_news news = {.next = NULL};
    if (!bson_init_static(&event, doc.data, doc.len))
        return;
    read_news(&event, &news, &next);
    /* What breaks or removes a lock lets somebody in, so no lease that may be lost is missed. */
    if (news.chance == ASH_LOCK_CHANCE_NONE && news.next == NULL)
        return;
    bson_iter_init(&iter, &event);
    bool known = bson_iter_find_descendant(&iter, "documentKey._id", &id);
    if (known)
        news.doc_id = bson_iter_value(&id);
    ash__mutex_lock(&c->mutex);
    if (known)
        ash__lock_wake_document(c, &news);
    else
        ash__lock_wake_all(c);
    if (may_be_lost(&event))
        doubt(c, known ? bson_iter_value(&id) : NULL);
    ash__mutex_unlock(&c->mutex);
}

static void set_watching(ash_lock_collection *c, bool watching)
{
    ash__mutex_lock(&c->mutex);
    c->watching = watching;
    /* What changed while nobody looked. */
    ash__lock_wake_all(c);
    if (watching)
        doubt(c, NULL);
    ash__mutex_unlock(&c->mutex);
}

void ash__lock_want_watch(ash_lock_collection *c)
{
    ash__mutex_assert_held(&c->mutex);
    if (c->watch_wanted || !c->can_watch)
        return;
    c->watch_wanted = true;
    ash__cond_broadcast(&c->watcher_wake);
}

/* Most of what a crowd does allows nothing to anybody (see read_fields), and telling each of those
 * who watch costs the store more than the change did: such events stay there. */
static const char worth_telling[] =
    "{'stages': [{'$match': {'$nor': ["
    " {'updateDescription.updatedFields.writes': {'$exists': true}},"
    " {'updateDescription.updatedFields.read_locks': {'$gt': 0},"
    "  'updateDescription.updatedFields.write_lock': {'$exists': false},"
    "  'updateDescription.updatedFields.write_req': {'$exists': false}}]}}]}";

static int open_stream(ash_lock_collection *c, ash_cursor **out)
{
    ash_watch_options o = ASH_WATCH_OPTIONS_INIT;
    bson_t parsed, pipeline;
    bson_iter_t stages;
    const uint8_t *bytes;
    uint32_t len;
    int rc = ash__lock_parse(worth_telling, &parsed, NULL);
    if (rc != 0)
        return rc;
    ash_assert(bson_iter_init_find(&stages, &parsed, "stages"));
    bson_iter_array(&stages, &len, &bytes);
    ash_assert(bson_init_static(&pipeline, bytes, len));
    o.pipeline = &pipeline;
    o.op.cancel = &c->closing;
    o.max_await_ms = AWAIT_MS;
    rc = ash_store_watch(c->store, c->db, c->name, &o, out, NULL);
    bson_destroy(&parsed);
    return rc;
}

static int watch(ash_lock_collection *c)
{
    ash_cursor *cursor = NULL;
    ash_batch batch = {0};
    int rc = open_stream(c, &cursor);
    if (rc != 0)
        return rc;
    /* What happened before the stream was open is found by trying once, which this calls for. */
    set_watching(c, true);
    /* It ends when the collection is dropped or renamed. */
    while (rc == 0 && !batch.exhausted && !__atomic_load_n(&c->closing, __ATOMIC_RELAXED)) {
        rc = ash_cursor_next_batch(cursor, 0, 0, &batch, NULL);
        for (size_t i = 0; rc == 0 && i < batch.count; i++)
            take_event(c, batch.docs[i]);
    }
    ash_cursor_free(cursor);
    set_watching(c, false);
    return rc;
}

void *ash__lock_watcher(void *collection)
{
    ash_lock_collection *c = collection;
    ash__mutex_lock(&c->mutex);
    while (!c->closing) {
        if (!c->watch_wanted) {
            ash__cond_wait(&c->watcher_wake, &c->mutex);
            continue;
        }
        ash__mutex_unlock(&c->mutex);
        ash__lock_measure_clock(c);
        /* Where the store is out of reach, looking at its clock took long. */
        int rc = __atomic_load_n(&c->closing, __ATOMIC_RELAXED) ? ASH_EINTERRUPTED : watch(c);
        ash__mutex_lock(&c->mutex);
        if (rc == ASH_EUNSUPPORTED)
            c->watch_wanted = c->can_watch = false;
        else if (rc != 0 && c->waiting == NULL)
            c->watch_wanted = false; /* until a renewal gets through, or somebody waits */
        else if (!c->closing)
            ash__cond_wait_until(&c->watcher_wake, &c->mutex, ash__clock_deadline(RETRY_MS));
    }
    ash__mutex_unlock(&c->mutex);
    return NULL;
}

void ash__lock_measure_clock(ash_lock_collection *c)
{
    int64_t wall, before = ash__clock_ms();
    if (ash_store_time(c->store, &wall, NULL, NULL) != 0)
        wall = ash__clock_wall_ms();
    /* The server looked at its clock somewhere between question and answer. */
    int64_t middle = before + (ash__clock_ms() - before) / 2;
    ash__mutex_lock(&c->mutex);
    c->server_offset_ms = wall - middle;
    ash__mutex_unlock(&c->mutex);
}
