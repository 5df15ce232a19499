/* SPDX-License-Identifier: Apache-2.0 */
/* An object's bytes: the first chunks by single gets, whatever is more by a feed.  A position is
 * looked for by the numbers that our chunks carry, since all of them but the last are of one size;
 * of others' chunks, which may be of any size, the sizes are asked for once. */
#include "object/jetstream/feed.h"
#include "object/jetstream/meta.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SINGLE_GETS = 3,  /* in a row; then a feed */
    LOOK_MS = 250,    /* no chunk came: is the object still there? */
    SEARCH_STEPS = 24 /* then the sizes are asked for */
};

/* Where a chunk of somebody else's is. */
typedef struct place {
    uint64_t sequence;
    int64_t end; /* of its bytes in the object */
} place;

typedef struct source {
    ash_object_source base;
    ash_js_store *store;
    char *subject, *name, *nuid;
    int64_t size, chunks;
    ash_op op;
    ash_js_feed *feed;
    ash_js_message chunk; /* that is being read */
    size_t at;            /* in it */
    int64_t position;
    uint64_t next; /* sequence from which on the next chunk is; 0: not known */
    int singles;
    bool has_first, uniform;
    uint64_t first; /* sequence of the first chunk */
    int64_t chunk_size;
    place *places; /* of chunks that are not ours */
    size_t place_count;
} source;

static void forget_chunk(source *u)
{
    ash__js_message_release(&u->chunk);
    u->at = 0;
}

static void end_feed(source *u)
{
    ash__js_feed_free(u->feed);
    u->feed = NULL;
    u->singles = 0;
}

void ash__js_source_free(ash_object_source *base)
{
    source *u = (source *)base;
    if (u == NULL)
        return;
    forget_chunk(u);
    end_feed(u);
    ash__free(u->places);
    ash__free(u->subject);
    ash__free(u->name);
    ash__free(u->nuid);
    ash__free(u);
}

/* No chunk where there should be one: because the object is another one by now? */
static int check_object(source *u, ash_error *err)
{
    ash_js_meta now = {0};
    int rc = ash__js_meta_get(u->store, u->name, true, &u->op, &now, err);
    if (rc == 0 && (!ash__js_meta_is_live(&now) || now.object->nuid == NULL ||
                    strcmp(now.object->nuid, u->nuid) != 0))
        rc = ash__fail(err, ASH_ECONFLICT, "object %s was changed or deleted while it was read",
                       u->name);
    ash__js_meta_release(&now);
    return rc;
}

/* "NUID.NUMBER…", or -1. */
static int64_t number_of(const source *u, const char *id)
{
    size_t len = strlen(u->nuid);
    char *end = NULL;
    if (id == NULL || strncmp(id, u->nuid, len) != 0 || id[len] != '.')
        return -1;
    int64_t number = strtoll(id + len + 1, &end, 10);
    return *end == '\0' || *end == '.' ? number : -1;
}

/* The chunk of an object that says that it has one: a server finds the last message of a subject with
 * less ado than the next one.  What does not fit is looked for as others are. */
static int get_only(source *u, ash_js_message *out, bool *fits, ash_error *err)
{
    int rc = ash__js_get_last(&u->store->stream, u->subject, true, &u->op, out, err);
    *fits = rc != 0 || (int64_t)out->len == u->size;
    if (!*fits)
        ash__js_message_release(out);
    return rc;
}

static int get_single(source *u, uint64_t from, ash_js_message *out, bool *found, ash_error *err)
{
    bool done = false;
    int rc = 0;
    if (from == 1 && u->chunks == 1 && !u->store->stream.replicas)
        rc = get_only(u, out, &done, err);
    if (!done)
        rc = ash__js_get_from(&u->store->stream, u->subject, from, &u->op, out, err);
    *found = rc == 0;
    if (rc != ASH_ENOTFOUND || out->number != ASH_JS_NO_MESSAGE)
        return rc;
    return check_object(u, err);
}

/* Nothing came for a while.  *missing: nothing will, for the server has no more of it.  One of several
 * may just be behind. */
static int ask_again(source *u, int64_t silent_ms, bool *missing, ash_error *err)
{
    bool more = true;
    int rc = check_object(u, err);
    if (rc == 0)
        rc = ash__js_feed_has_more(u->feed, &u->op, &more, err);
    *missing = !more && (!u->store->stream.replicas || silent_ms > ASH_JS_PATIENCE_MS);
    return rc;
}

static int feed_chunk(source *u, bool *found, ash_error *err)
{
    ash_js_fed fed = {0};
    uint64_t pending = 0;
    bool missing = false;
    int64_t from = ash__clock_ms();
    int rc = 0;

    *found = false;
    if (u->feed == NULL) {
        ash_js_feed_request r = {
            .subject = u->subject, .from = ASH_JS_FROM_SEQUENCE, .sequence = u->next};
        rc = ash__js_feed_open(&u->store->stream, &r, &u->op, &u->feed, &pending, err);
    }
    while (rc == 0 && fed.message == NULL && !missing) {
        rc = ash__js_feed_next(u->feed, LOOK_MS, &u->op, &fed, err);
        if (rc == 0 && fed.message == NULL)
            rc = ask_again(u, ash__clock_ms() - from, &missing, err);
    }
    if (rc != 0 || missing)
        return rc;
    u->chunk.owner = ash__js_feed_detach(u->feed);
    u->chunk.data = (const uint8_t *)natsMsg_GetData(u->chunk.owner);
    u->chunk.len = (size_t)natsMsg_GetDataLength(u->chunk.owner);
    u->chunk.sequence = fed.sequence;
    *found = true;
    return 0;
}

static void note_first(source *u)
{
    if (u->has_first)
        return;
    u->has_first = true;
    u->first = u->chunk.sequence;
    u->chunk_size = (int64_t)u->chunk.len;
    u->uniform = u->chunks == 1 || number_of(u, u->chunk.id) == 0;
}

static int next_chunk(source *u, bool *found, ash_error *err)
{
    int rc = 0;
    forget_chunk(u);
    if (u->feed == NULL && u->singles < SINGLE_GETS) {
        u->singles++;
        rc = get_single(u, u->next, &u->chunk, found, err);
        if (rc == 0 && *found && u->position == 0)
            note_first(u);
    } else {
        rc = feed_chunk(u, found, err);
    }
    if (rc == 0 && *found)
        u->next = u->chunk.sequence + 1;
    return rc;
}

/* With its first chunk, so that an object that was replaced just now is found out while another look
 * may cure it, and a small one is there whole. */
int ash__js_open_source(ash_object_store *base, const ash_object *object, const ash_op *op,
                        ash_object_source **out, ash_error *err)
{
    source *u = ash__new(source);
    bool found = false;
    u->base.store = base;
    u->store = ash__js_store_of(base);
    u->subject = ash__chunk_subject(base->name, object->nuid);
    u->name = ash__strdup(object->name);
    u->nuid = ash__strdup(object->nuid);
    u->size = object->size;
    u->chunks = object->chunks;
    u->op = *op;
    u->next = 1;
    int rc = next_chunk(u, &found, err);
    if (rc == 0)
        *out = &u->base;
    else
        ash__js_source_free(&u->base);
    return rc;
}

int ash__js_source_read(ash_object_source *base, void *buf, size_t len, size_t *got, ash_error *err)
{
    source *u = (source *)base;
    bool found = true;
    int rc = 0;
    *got = 0;
    while (rc == 0 && found && u->at == u->chunk.len && u->position < u->size)
        rc = next_chunk(u, &found, err);
    if (rc != 0 || !found || u->position >= u->size)
        return rc;
    size_t part = u->chunk.len - u->at < len ? u->chunk.len - u->at : len;
    if ((int64_t)part > u->size - u->position)
        part = (size_t)(u->size - u->position);
    memcpy(buf, u->chunk.data + u->at, part);
    u->at += part;
    u->position += (int64_t)part;
    *got = part;
    return 0;
}

/* ---- positions ---- */

/* Which chunks there are, and how long: of a client that says nothing of it. */
static int ask_places(source *u, ash_error *err)
{
    ash_js_feed_request r = {.subject = u->subject, .from = ASH_JS_FROM_START, .heads = true};
    ash_js_feed *feed = NULL;
    ash_js_fed fed = {0};
    uint64_t pending = 0;
    size_t capacity = 0;
    int64_t end = 0;
    int rc = ash__js_feed_open(&u->store->stream, &r, &u->op, &feed, &pending, err);

    while (rc == 0 && pending > 0) {
        bool more = true;
        rc = ash__js_feed_next(feed, LOOK_MS, &u->op, &fed, err);
        if (rc == 0 && fed.message == NULL)
            rc = check_object(u, err);
        if (rc == 0 && fed.message == NULL)
            rc = ash__js_feed_has_more(feed, &u->op, &more, err);
        pending = more ? pending : 0;
        if (rc != 0 || fed.message == NULL)
            continue;
        end += fed.size;
        u->places = ash__grow_array(u->places, u->place_count, &capacity, sizeof *u->places);
        u->places[u->place_count++] = (place){fed.sequence, end};
        pending = fed.pending;
    }
    ash__js_feed_free(feed);
    return rc;
}

static int find_by_places(source *u, int64_t position, int64_t *begins, ash_error *err)
{
    int rc = u->places == NULL ? ask_places(u, err) : 0;
    size_t low = 0, high = u->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (u->places[middle].end <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (rc == 0 && low == u->place_count)
        return ash__fail(err, ASH_ECORRUPT, "object %s has fewer bytes than it says", u->name);
    if (rc == 0) {
        u->next = u->places[low].sequence;
        *begins = low > 0 ? u->places[low - 1].end : 0;
    }
    return rc;
}

/* Our chunk of that number: between two whose places are known, the guess that would be right if the
 * others lay evenly; and first, as if nobody else had written meanwhile. */
static int find_number(source *u, int64_t wanted, bool *found, ash_error *err)
{
    int64_t low = 0, high = -1;
    uint64_t low_at = u->first, high_at = 0, guess = u->first + (uint64_t)wanted;
    int rc = 0;

    *found = false;
    for (int step = 0; rc == 0 && !*found && step < SEARCH_STEPS; step++) {
        ash_js_message message;
        bool any = false;
        rc = get_single(u, guess, &message, &any, err);
        int64_t number = rc == 0 && any ? number_of(u, message.id) : u->chunks;
        uint64_t at = any ? message.sequence : 0;
        ash__js_message_release(&message);
        if (rc != 0 || number < 0)
            return rc;
        *found = number == wanted;
        if (*found) {
            u->next = at;
        } else if (number < wanted) {
            low = number;
            low_at = at;
            guess = at + (uint64_t)(wanted - number);
        } else {
            high = number;
            high_at = guess;
        }
        if (high >= 0 && !*found)
            guess = low_at + 1 +
                    (uint64_t)((double)(high_at - low_at - 1) * (double)(wanted - low) /
                               (double)(high - low + 1));
        else if (step % 2 == 1 && low > 0 && !*found)
            /* Denser than we thought: go by the distance so far. */
            guess = low_at +
                    (uint64_t)((double)(wanted - low) * (double)(low_at - u->first) / (double)low);
    }
    return rc;
}

/* The first chunk says how the others are to be found. */
static int learn_first(source *u, ash_error *err)
{
    bool found = true;
    if (u->has_first)
        return 0;
    u->next = 1;
    u->position = 0;
    int rc = next_chunk(u, &found, err);
    if (rc == 0 && !found)
        rc = ash__fail(err, ASH_ECORRUPT, "object %s has no bytes", u->name);
    return rc;
}

/* Sets u->next to the chunk that has the byte at `position`.  *begins: its first byte. */
static int find_chunk(source *u, int64_t position, int64_t *begins, ash_error *err)
{
    bool found = false;
    *begins = 0;
    if (position < u->chunk_size) {
        u->next = u->first;
        return 0;
    }
    int rc = 0;
    if (u->uniform && u->chunk_size > 0) {
        *begins = position / u->chunk_size * u->chunk_size;
        rc = find_number(u, position / u->chunk_size, &found, err);
    }
    return rc != 0 || found ? rc : find_by_places(u, position, begins, err);
}

int ash__js_source_seek(ash_object_source *base, int64_t position, ash_error *err)
{
    source *u = (source *)base;
    int64_t begins = 0, ahead = position - u->position;
    bool found = true, inside = position > 0 && position < u->size;

    if (ahead >= -(int64_t)u->at && ahead < (int64_t)(u->chunk.len - u->at)) {
        u->at = (size_t)((int64_t)u->at + ahead);
        u->position = position;
        return 0;
    }
    end_feed(u);
    u->next = 1;
    int rc = inside ? learn_first(u, err) : 0;
    if (rc == 0 && inside)
        rc = find_chunk(u, position, &begins, err);
    forget_chunk(u);
    u->singles = 0;
    u->position = position;
    if (rc == 0 && inside)
        rc = next_chunk(u, &found, err);
    if (rc != 0 || !inside || !found)
        return rc;
    u->at = (size_t)(position - begins);
    if (u->at >= u->chunk.len)
        rc = ash__fail(err, ASH_ECORRUPT, "a chunk of object %s is too short", u->name);
    return rc;
}
