/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/census.h"
#include "nats/jetstream/puts.h"
#include "nats/jetstream/subject.h"

#include "base/mem.h"
#include "nats/jetstream/messages.h"
#include "nats/subject.h"
#include "object/jetstream/format/names.h"

#include <inttypes.h>
#include <string.h>

/* ---- remembering ---- */

static bool is_of(const ash_jsd_census *c, const ash_object_status *st)
{
    return c->store != NULL && strcmp(c->store, ash_object_status_name(st)) == 0 &&
           c->created_ms == ash_object_status_created_ms(st) &&
           c->revision == ash_object_status_revision(st) &&
           c->bytes == ash_object_status_bytes(st) && c->objects == ash_object_status_objects(st);
}

static bool recall(ash_jetstream *j, const ash_object_status *st, ash_jsd_census *out)
{
    bool found = false;
    ash__mutex_lock(&j->mutex);
    for (int i = 0; i < ASH_JSD_CENSUSES && !found; i++) {
        found = is_of(&j->censuses[i], st);
        if (found)
            *out = j->censuses[i];
    }
    ash__mutex_unlock(&j->mutex);
    return found;
}

static void remember(ash_jetstream *j, const ash_object_status *st, ash_jsd_census *c)
{
    c->store = ash__strdup(ash_object_status_name(st));
    c->created_ms = ash_object_status_created_ms(st);
    c->revision = ash_object_status_revision(st);
    c->bytes = ash_object_status_bytes(st);
    c->objects = ash_object_status_objects(st);
    ash__mutex_lock(&j->mutex);
    int place = j->next_census;
    for (int i = 0; i < ASH_JSD_CENSUSES; i++)
        if (j->censuses[i].store != NULL && strcmp(j->censuses[i].store, c->store) == 0)
            place = i;
    if (place == j->next_census)
        j->next_census = (place + 1) % ASH_JSD_CENSUSES;
    ash__free(j->censuses[place].store);
    j->censuses[place] = *c;
    ash__mutex_unlock(&j->mutex);
}

void ash__jsd_censuses_free(ash_jetstream *j)
{
    for (int i = 0; i < ASH_JSD_CENSUSES; i++)
        ash__free(j->censuses[i].store);
}

/* ---- counting ---- */

static int count(ash_object_store *s, ash_jsd_census *c, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_op op = ash__jsd_op();
    ash_object_listing *l = NULL;
    const ash_object *object = NULL;
    o.deleted = true;
    int rc = ash_object_store_list(s, &o, &op, &l, err);
    while (rc == 0 && (rc = ash_object_listing_next(l, &object, err)) == 0 && object != NULL) {
        uint64_t chunks = ash__jsd_chunk_count(object);
        if (c->first == 0) {
            c->first = object->revision;
            c->first_ms = object->modified_ms;
        }
        c->last_ms = object->modified_ms;
        c->messages += 1 + chunks;
        c->subjects += chunks > 0 ? 2 : 1;
    }
    ash_object_listing_free(l);
    return rc;
}

static void put_count(ash_buffer *out, const char *key, uint64_t value)
{
    ash__json_put_key(out, key);
    ash__buffer_printf(out, "%" PRIu64, value);
}

int ash__jsd_census_write(ash_jetstream *j, ash_object_store *s, const ash_object_status *st,
                          ash_buffer *out, ash_error *err)
{
    ash_jsd_census c = {0};
    if (!recall(j, st, &c)) {
        int rc = count(s, &c, err);
        if (rc != 0)
            return rc;
        remember(j, st, &c);
    }
    uint64_t last = ash_object_status_revision(st);
    ash__json_put_key(out, "state");
    ash__buffer_append_byte(out, '{');
    put_count(out, "messages", c.messages);
    put_count(out, "bytes", (uint64_t)ash_object_status_bytes(st));
    put_count(out, "first_seq", c.first != 0 ? c.first : last + 1);
    ash__jsd_put_time(out, "first_ts", c.first_ms);
    put_count(out, "last_seq", last);
    ash__jsd_put_time(out, "last_ts", c.last_ms);
    put_count(out, "num_subjects", c.subjects);
    return 0;
}

/* ---- subjects ---- */

typedef struct subjects {
    const char *filter;
    int64_t offset, seen, told;
    ash_buffer *out;
} subjects;

/* Takes over the subject. */
static void tell(subjects *w, char *subject, uint64_t messages)
{
    if (ash__nats_matches(w->filter, subject) && w->seen++ >= w->offset &&
        w->told < ASH_JSD_SUBJECTS && w->out->len <= ASH_JSD_MESSAGE_BYTES) {
        put_count(w->out, subject, messages);
        w->told++;
    }
    ash__free(subject);
}

/* Clients that put for long count whether all of it is there yet, before they say whose it is. */
static void tell_put(subjects *w, ash_jetstream *j, const char *store)
{
    char *nuid = NULL;
    uint64_t chunks = 0;
    if (ash__jsd_filter_read(store, w->filter, &nuid) == ASH_JSD_CHUNKS)
        chunks = ash__jsd_put_chunks(j, store, nuid);
    if (chunks > 0)
        tell(w, ash__chunk_subject(store, nuid), chunks);
    ash__free(nuid);
}

int ash__jsd_census_subjects(ash_jetstream *j, ash_object_store *s, ash_jsd_subjects *asked,
                             ash_buffer *out, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_op op = ash__jsd_op();
    ash_object_listing *l = NULL;
    const ash_object *object = NULL;
    subjects w = {.filter = asked->filter, .offset = asked->offset, .out = out};
    o.deleted = true;
    ash__json_put_key(out, "subjects");
    ash__buffer_append_byte(out, '{');
    int rc = ash_object_store_list(s, &o, &op, &l, err);
    while (rc == 0 && (rc = ash_object_listing_next(l, &object, err)) == 0 && object != NULL) {
        tell(&w, ash__meta_subject(ash_object_store_name(s), object->name), 1);
        uint64_t chunks = ash__jsd_chunk_count(object);
        if (chunks > 0)
            tell(&w, ash__chunk_subject(ash_object_store_name(s), object->nuid), chunks);
    }
    if (rc == 0 && w.seen == 0)
        tell_put(&w, j, ash_object_store_name(s));
    ash__buffer_append_byte(out, '}');
    ash_object_listing_free(l);
    asked->total = w.seen;
    return rc;
}
