/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/source.h"

#include "base/mem.h"
#include "nats/jetstream/subject.h"
#include "nats/jetstream/watch.h"
#include "object/said.h"

struct ash_jsd_source {
    ash_object_store *store; /* or NULL */
    bool heads;
    /* Chunks of an object: */
    ash_object *object; /* NULL: nobody has them */
    ash_object_reader *reader;
    uint64_t next, count;
    /* Meta messages: */
    ash_jsd_watch *watch;
};

void ash__jsd_source_free(ash_jsd_source *u)
{
    if (u == NULL)
        return;
    ash__jsd_watch_free(u->watch);
    ash_object_reader_free(u->reader);
    ash_object_free(u->object);
    ash_object_store_close(u->store);
    ash__free(u);
}

/* ---- chunks ---- */

static uint64_t first_chunk(const ash_jsd_source *u, const ash_jsd_source_request *r)
{
    switch (r->policy) {
    case ASH_JSD_LAST:
        return u->count > 0 ? u->count - 1 : 0;
    case ASH_JSD_NEW:
        return u->count;
    case ASH_JSD_FROM_SEQUENCE:
        return r->sequence > 0 ? r->sequence - 1 : 0;
    case ASH_JSD_FROM_TIME:
        return r->time_ms > u->object->modified_ms ? u->count : 0;
    default:
        return 0;
    }
}

/* The reader is opened at once: who reads has the object of now, in a folder to its end. */
static int open_chunks(ash_jsd_source *u, const char *nuid, const ash_jsd_source_request *r,
                       ash_error *err)
{
    ash_op op = ash__jsd_op(), endless = ASH_OP_INIT;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__object_find_nuid(u->store, nuid, &op, &u->object, &own);
    if (rc == ASH_ENOTFOUND)
        return 0;
    if (rc != 0)
        return ash__unless(0, rc, &own, err);
    u->count = ash__jsd_chunk_count(u->object);
    u->next = first_chunk(u, r);
    if (u->next > u->count)
        u->next = u->count;
    return u->heads || u->next == u->count
               ? 0
               : ash__jsd_open_reader(u->store, u->object, u->next, &endless, &u->reader, err);
}

static int next_chunk(ash_jsd_source *u, ash_jsd_stored *out, bool *got, ash_error *err)
{
    if (u->next >= u->count)
        return 0;
    int rc = ash__jsd_stored_chunk(u->object, u->next, u->reader, u->heads, out, err);
    *got = rc == 0;
    u->next += rc == 0 ? 1 : 0;
    return rc;
}

/* ---- meta messages ---- */

static int newest(ash_object_store *s, uint64_t *revision, ash_error *err)
{
    ash_object_status *st = NULL;
    ash_op op = ash__jsd_op();
    int rc = ash_object_store_status(s, &op, &st, err);
    if (rc == 0)
        *revision = ash_object_status_revision(st);
    ash_object_status_free(st);
    return rc;
}

static int open_metas(ash_jsd_source *u, ash_jsd_client *c, const char *name,
                      const ash_jsd_source_request *r, ash_error *err)
{
    ash_jsd_watch_request w = {.name = name, .news = r->policy == ASH_JSD_NEW};
    int rc = 0;
    if (r->policy == ASH_JSD_FROM_SEQUENCE)
        w.revision = r->sequence;
    else if (r->policy == ASH_JSD_FROM_TIME)
        w.changed_ms = r->time_ms;
    else if (r->policy == ASH_JSD_LAST && name == NULL)
        rc = newest(u->store, &w.revision, err);
    if (rc == 0)
        rc = ash__jsd_watch_open(c, u->store, &w, &u->watch, err);
    if (rc == 0)
        u->store = NULL; /* the watch's */
    return rc;
}

static int next_meta(ash_jsd_source *u, ash_jsd_stored *out, bool *got, ash_error *err)
{
    ash_object *object = NULL;
    int rc = ash__jsd_watch_next(u->watch, &object, err);
    if (rc == 0 && object != NULL) {
        ash__jsd_stored_meta(object, out);
        *got = true;
    }
    ash_object_free(object);
    return rc;
}

/* ---- both ---- */

int ash__jsd_source_open(ash_jsd_client *c, ash_object_store *s, const ash_jsd_source_request *r,
                         ash_jsd_source **out, ash_error *err)
{
    ash_jsd_source *u = ash__new(ash_jsd_source);
    char *name = NULL;
    int rc = 0;
    u->store = s;
    u->heads = r->heads;
    switch (ash__jsd_filter_read(ash_object_store_name(s), r->filter, &name)) {
    case ASH_JSD_CHUNKS:
        rc = open_chunks(u, name, r, err);
        break;
    case ASH_JSD_META:
    case ASH_JSD_METAS:
        rc = open_metas(u, c, name, r, err);
        break;
    default:
        rc = ash__fail(err, ASH_EINVAL, "that is no filter of an object store");
    }
    ash__free(name);
    if (rc != 0)
        ash__jsd_source_free(u);
    else
        *out = u;
    return rc;
}

uint64_t ash__jsd_source_pending(ash_jsd_source *u)
{
    return u->watch != NULL ? ash__jsd_watch_pending(u->watch) : u->count - u->next;
}

int ash__jsd_source_next(ash_jsd_source *u, ash_jsd_stored *out, bool *got, ash_error *err)
{
    *got = false;
    return u->watch != NULL ? next_meta(u, out, got, err) : next_chunk(u, out, got, err);
}
