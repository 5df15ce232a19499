/* SPDX-License-Identifier: Apache-2.0 */
/* What is published into a store: chunks, and the meta messages by which objects come, change and
 * go.  Each is acknowledged, or refused by an error in the acknowledgement. */
#include "nats/jetstream/publication.h"
#include "nats/jetstream/subject.h"
#include "nats/jetstream/trace.h"
#include "object/jetstream/format/info.h"
#include "object/jetstream/format/names.h"

#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { CHUNK_MIN = 64 * 1024, TRIES = 8 };

/* ---- chunks ---- */

static int32_t chunk_size_of(size_t first)
{
    if (first < CHUNK_MIN)
        return CHUNK_MIN;
    return first < (size_t)ASH_CHUNK_SIZE_MAX ? (int32_t)first : ASH_CHUNK_SIZE_MAX;
}

static int begin_put(ash_jsd_publication *p, ash_jsd_put **put)
{
    ash_object_store *s = p->bound;
    p->bound = NULL;
    return ash__jsd_put_new(p->client, s, p->name, chunk_size_of(p->message->len), put, &p->err);
}

static bool is_expected(ash_jsd_publication *p, const ash_jsd_put *put)
{
    if (p->expects_sequence && p->expected != put->chunks) {
        ash__jsd_refuse_sequence(p, put->chunks);
        return false;
    }
    if (p->expected_id[0] != '\0' &&
        (put->chunks == 0 || ash__jsd_put_known(put, p->expected_id) != put->chunks)) {
        ash__jsd_refuse(p, ASH_JSD_WRONG_LAST_ID, NULL);
        return false;
    }
    return true;
}

static void add_chunk(ash_jsd_publication *p, ash_jsd_put *put)
{
    uint64_t known = p->id[0] != '\0' ? ash__jsd_put_known(put, p->id) : 0;
    if (known > 0) {
        ash__jsd_acknowledge(p, known, true);
        return;
    }
    if (!is_expected(p, put))
        return;
    int rc = ash__jsd_put_write(put, p->id, p->message->data, p->message->len, &p->err);
    if (rc == 0)
        ash__jsd_acknowledge(p, put->chunks, false);
    else
        ash__jsd_refuse_rc(p, rc);
}

static void take_chunk(ash_jsd_publication *p)
{
    int rc = 0;
    if (p->busy) {
        ash__jsd_refuse(p, ASH_JSD_TOO_MANY_REQUESTS, NULL);
        return;
    }
    if (p->put == NULL)
        rc = begin_put(p, &p->put);
    if (rc == 0)
        add_chunk(p, p->put);
    else if (rc == ASH_ENOMEM && ash__jsd_put_share_is_used(p->client))
        ash__jsd_refuse(p, ASH_JSD_ACCOUNT_RESOURCES, NULL);
    else
        ash__jsd_refuse_rc(p, rc);
}

/* ---- meta messages ---- */

typedef struct change {
    ash_jsd_publication *p;
    ash_object_store *store;
    const ash_object *said;
    ash_object_change_options opts;
    ash_op op;
    ash_object *result;
} change;

/* A rename; the purge of the old subject, which is to follow, has nothing left to do. */
static int rename_to(change *c, const ash_object *holder)
{
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    o.if_revision = holder->revision;
    ash_object_request r = {holder->name, &o, &c->op};
    int rc = ash__object_describe(c->store, &r, c->said, &c->result, &c->p->err);
    if (rc == 0)
        ash__jsd_renamed(c->p->client, ash__meta_subject(c->p->store, holder->name));
    return rc;
}

/* What is there already ends when the message does.  In a commit of its own: the object that was
 * described lives on, if this one fails. */
static int set_expiry(change *c, int rc)
{
    ash_object *now = NULL;
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    if (rc != 0 || c->opts.ttl_ms == 0)
        return rc;
    o.if_revision = c->result->revision;
    rc = ash_object_store_set_expiry(c->store, c->said->name, ash__clock_wall_ms() + c->opts.ttl_ms,
                                     &o, &c->op, &now, &c->p->err);
    if (rc == 0) {
        ash_object_free(c->result);
        c->result = now;
    }
    return rc;
}

/* Bytes that are there already: the object is described anew, or gets another name. */
static int change_holder(change *c, const ash_object *holder)
{
    ash_object_change_options o = c->opts;
    if (strcmp(holder->name, c->said->name) != 0)
        return set_expiry(c, rename_to(c, holder));
    if (o.if_revision == 0)
        o.if_revision = holder->revision;
    ash_object_request r = {holder->name, &o, &c->op};
    return set_expiry(c, ash__object_describe(c->store, &r, c->said, &c->result, &c->p->err));
}

/* Who says other bytes than those that are there means a put that never came. */
static bool has_other_bytes(const ash_object *holder, const ash_object *said)
{
    return holder->size != said->size || strcmp(holder->digest, said->digest) != 0;
}

static int put_empty(change *c)
{
    ash_object_writer *w = NULL;
    ash_error *err = &c->p->err;
    if (c->said->size != 0)
        return ash__fail(err, ASH_ESTATE, "the bytes of %.200s (%.64s) did not come", c->said->name,
                         c->said->nuid);
    int rc = ash__object_open_put(c->store, c->said->nuid, ash_object_chunk_size(c->said), &c->op,
                                  &w, err);
    if (rc == 0)
        rc = ash__object_finish_put(w, c->said, &c->opts, &c->result, err);
    ash_object_writer_free(w);
    return rc;
}

static int put_known(change *c)
{
    ash_error own = ASH_ERROR_INIT;
    ash_object *holder = NULL;
    int rc = ash__object_find_nuid(c->store, c->said->nuid, &c->op, &holder, &own);
    if (rc == 0 && has_other_bytes(holder, c->said))
        rc = ash__fail(&c->p->err, ASH_ECORRUPT,
                       "the bytes that are there (%.64s) are not those of %.200s", c->said->nuid,
                       c->said->name);
    else if (rc == 0)
        rc = change_holder(c, holder);
    else if (rc == ASH_ENOTFOUND)
        rc = put_empty(c);
    else
        (void)ash__unless(0, rc, &own, &c->p->err);
    ash_object_free(holder);
    return rc;
}

static int finish(change *c, ash_jsd_put *put)
{
    ash_error *err = &c->p->err;
    if (put->failed)
        return ash__fail(err, ASH_ESTATE, "a chunk of %.200s is lacking", c->said->name);
    if ((uint64_t)c->said->chunks != put->chunks)
        return ash__fail(err, ASH_ECORRUPT, "%.200s has %" PRId64 " chunks, and %" PRIu64 " came",
                         c->said->name, c->said->chunks, put->chunks);
    return ash__object_finish_put(put->writer, c->said, &c->opts, &c->result, err);
}

static int put_object(change *c)
{
    ash_jetstream *j = c->p->client->jetstream;
    bool busy = false;
    ash_jsd_put *put = ash__jsd_put_take(j, c->p->store, c->said->nuid, &busy);
    if (busy)
        return ash__fail(&c->p->err, ASH_EBUSY, "chunks of %.200s are still coming", c->said->name);
    if (put == NULL)
        return put_known(c);
    int rc = finish(c, put);
    if (rc == 0)
        ash__jsd_put_drop(j, put);
    else
        ash__jsd_put_give_back(j, put);
    return rc;
}

static int put_link(change *c)
{
    ash_object *holder = NULL;
    int rc = 0;
    if (c->said->nuid[0] != '\0' &&
        ash__object_find_nuid(c->store, c->said->nuid, &c->op, &holder, NULL) == 0 &&
        ash_object_is_link(holder) && strcmp(holder->name, c->said->name) != 0)
        rc = rename_to(c, holder);
    else
        rc = ash__object_put_link(c->store, c->said, &c->opts, &c->op, &c->result, &c->p->err);
    ash_object_free(holder);
    return rc;
}

static int apply(change *c)
{
    if (c->said->deleted)
        return ash_object_store_delete(c->store, c->said->name, &c->opts, &c->op, &c->result,
                                       &c->p->err);
    if (ash_object_is_link(c->said))
        return put_link(c);
    if (c->said->nuid[0] == '\0')
        return ash__fail(&c->p->err, ASH_EINVAL, "%.200s has no NUID", c->said->name);
    return put_object(c);
}

/* The revision of what the name has, deleted or not; 0: nothing. */
static uint64_t last_revision(const change *c)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object *now = NULL;
    o.deleted = true;
    if (ash_object_store_info(c->store, c->said->name, &o, &c->op, &now, NULL) != 0)
        return 0;
    uint64_t revision = now->revision;
    ash_object_free(now);
    return revision;
}

/* What no condition of the commit says: that there is nothing, not even what is left of a deleted
 * object. */
static bool meets_expectation(change *c)
{
    const ash_jsd_publication *p = c->p;
    if (!p->expects_sequence)
        return true;
    c->opts.if_revision = p->expected;
    c->opts.if_absent = p->expected == 0;
    uint64_t last = last_revision(c);
    if (last == p->expected)
        return true;
    ash__jsd_refuse_sequence(c->p, last);
    return false;
}

static void change_object(ash_jsd_publication *p, ash_object_store *s, const ash_object *said)
{
    change c = {.p = p, .store = s, .said = said, .op = ash__jsd_op()};
    c.opts = (ash_object_change_options)ASH_OBJECT_CHANGE_OPTIONS_INIT;
    c.opts.ttl_ms = p->ttl_ms;
    if (!meets_expectation(&c))
        return;
    int rc = ASH_ECONFLICT;
    bool again = true;
    for (int i = 0; again && i < TRIES; i++) {
        rc = apply(&c);
        /* A condition that is not the client's: what was looked at has changed. */
        again = rc == ASH_ECONFLICT || (rc == ASH_ECONDITION && !p->expects_sequence);
    }
    if (rc == 0)
        ash__jsd_note_told(p, c.result->revision);
    if (rc == 0)
        ash__jsd_acknowledge(p, c.result->revision, false);
    else if (rc == ASH_ECONDITION)
        ash__jsd_refuse_sequence(p, last_revision(&c));
    else
        ash__jsd_refuse_rc(p, rc);
    ash_object_free(c.result);
}

/* A link's NUID means nothing, but that a link that is renamed is known by it. */
static int keep_nuid(ash_jsd_publication *p, ash_object **said)
{
    ash_json *info = NULL;
    ash_object *with = NULL;
    bson_t set = BSON_INITIALIZER;
    int rc = ash__json_parse((const char *)p->message->data, p->message->len, &info, &p->err);
    const char *nuid = ash__json_text(info, "nuid", "");
    if (rc == 0 && nuid[0] != '\0' && strlen(nuid) < ASH_NUID_TEXT_BYTES) {
        BSON_APPEND_UTF8(&set, "nuid", nuid);
        rc = ash__object_set(*said, &set, &with, &p->err);
    }
    if (with != NULL) {
        ash_object_free(*said);
        *said = with;
    }
    bson_destroy(&set);
    ash__json_free(info);
    return rc;
}

static int read_said(ash_jsd_publication *p, ash_object **out)
{
    const ash_nats_message *m = p->message;
    ash_js_meta_text text = {.store = p->store, .data = m->data, .len = m->len};
    int rc = m->len <= ASH_JSD_BODY_MAX
                 ? ash__js_read_info(&text, out, &p->err)
                 : ash__fail(&p->err, ASH_ETOOBIG, "an object's info has at most %d bytes",
                             (int)ASH_JSD_BODY_MAX);
    if (rc == 0 && ash_object_is_link(*out))
        rc = keep_nuid(p, out);
    if (rc == 0)
        rc = ash__object_name_check((*out)->name, &p->err);
    if (rc == 0 && strcmp((*out)->name, p->name) != 0)
        rc = ash__fail(&p->err, ASH_EINVAL, "the subject is not that of %.200s", (*out)->name);
    return rc;
}

static void take_meta(ash_jsd_publication *p)
{
    ash_object *said = NULL;
    ash__jsd_renamed_is_over(p->client, p->message->subject);
    if (ash__jsd_was_told(p))
        return;
    int rc = read_said(p, &said);
    if (rc != 0)
        ash__jsd_refuse_rc(p, rc);
    else if (!ash__jsd_admits(p->client, ASH_AUDIT_WRITES))
        ash__jsd_refuse(p, ASH_JSD_STORE_FAILED, "the audit log cannot be written");
    else
        change_object(p, p->bound, said);
    ash__jsd_tell_meta(p);
    ash_object_free(said);
}

/* ---- the subject ---- */

/* false: nobody listens there, or it was told why not. */
static bool find_store(ash_jsd_publication *p, bool *served)
{
    ash_op op = ash__jsd_op();
    int rc = ash__object_store_name_check(p->store, &p->err) == 0
                 ? ash_object_manager_bind(p->client->jetstream->manager, p->store, &op, &p->bound,
                                           &p->err)
                 : ASH_ENOTFOUND;
    *served = rc != ASH_ENOTFOUND;
    if (rc != 0 && *served)
        ash__jsd_refuse_rc(p, rc);
    return rc == 0;
}

bool ash__jsd_publish(ash_jsd_client *c, const ash_nats_message *m)
{
    ash_jsd_publication p = {.client = c, .message = m, .err = ASH_ERROR_INIT};
    const char *start = m->subject + strlen("$O.");
    p.store = ash__strndup(start, strcspn(start, "."));
    ash_jsd_kind kind = ash__jsd_filter_read(p.store, m->subject, &p.name);
    bool served = kind == ASH_JSD_CHUNKS || kind == ASH_JSD_META;
    if (kind == ASH_JSD_CHUNKS)
        p.put = ash__jsd_put_take(c->jetstream, p.store, p.name, &p.busy);
    bool found = served && (p.put != NULL || p.busy || find_store(&p, &served));
    if (found && ash__jsd_publication_read(&p, kind == ASH_JSD_CHUNKS)) {
        if (kind == ASH_JSD_CHUNKS)
            take_chunk(&p);
        else
            take_meta(&p);
    }
    if (p.put != NULL)
        ash__jsd_put_give_back(c->jetstream, p.put);
    ash_object_store_close(p.bound);
    ash__free(p.store);
    ash__free(p.name);
    return served;
}
