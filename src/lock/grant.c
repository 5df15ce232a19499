/* SPDX-License-Identifier: Apache-2.0 */
/* One try at a lock, and the moves of its holder: each one findAndModify, whose answer says what
 * became of it. */
#include "lock/brief.h"

#include "base/mem.h"

#include <string.h>

/* How long a waiting writer is believed to live, and readers to wait, without being heard of: a
 * dead one holds up the others so long. */
#define WAITER_TTL_POLLS 2
/* Readers ask again after four intervals where changes are told.  Believing dead ones costs no more
 * than one turn that nobody takes. */
#define READERS_TTL_POLLS 10
/* Readers go first so long after a writer, and then writers have their turn.  Readers are many at
 * once, and those inside when their turn ends still have to leave, so theirs is the shorter one. */
#define READERS_TURN_MS 50
#define WRITERS_TURN_MS 150

void ash__lock_grant_release(ash_lock_grant *g)
{
    if (g->doc_id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&g->doc_id);
    if (g->doc != NULL)
        bson_destroy(g->doc);
    memset(g, 0, sizeof *g);
}

void ash__lock_grant_copy(const ash_lock_grant *from, ash_lock_grant *to)
{
    *to = *from;
    to->doc = NULL;
    bson_value_copy(&from->doc_id, &to->doc_id);
}

bool ash__lock_same_grant(const ash_lock_grant *a, const ash_lock_grant *b)
{
    return a->count == b->count && ash__lock_same_value(&a->doc_id, &b->doc_id);
}

static bool find(const bson_t *doc, const char *path, bson_iter_t *out)
{
    bson_iter_t iter;
    return bson_iter_init(&iter, doc) && bson_iter_find_descendant(&iter, path, out);
}

int64_t ash__lock_int(const bson_t *doc, const char *path)
{
    bson_iter_t at;
    return find(doc, path, &at) && BSON_ITER_HOLDS_NUMBER(&at) ? bson_iter_as_int64(&at) : 0;
}

bool ash__lock_bool(const bson_t *doc, const char *path)
{
    bson_iter_t at;
    return find(doc, path, &at) && bson_iter_as_bool(&at);
}

int64_t ash__lock_date(const bson_t *doc, const char *path)
{
    bson_iter_t at;
    return find(doc, path, &at) && BSON_ITER_HOLDS_DATE_TIME(&at) ? bson_iter_date_time(&at) : 0;
}

/* Of the thread: the worker, the watcher and waiting threads ask under different limits at once. */
static _Thread_local int64_t limit_ms;
static _Thread_local const volatile int *limit_cancel;

void ash__lock_limit(int64_t deadline_ms, const volatile int *cancel)
{
    limit_ms = deadline_ms;
    limit_cancel = cancel;
}

ash_op ash__lock_op(const ash_lock_collection *c)
{
    ash_op op = {.size = sizeof(ash_op),
                 .write_concern = c->write_concern,
                 .deadline_ms = limit_ms,
                 .cancel = limit_cancel};
    return op;
}

/* With $eq, so that an id that is a regular expression or a document means itself. */
void ash__lock_filter_id(bson_t *filter, const char *name, const bson_value_t *id)
{
    bson_t equal;
    BSON_APPEND_DOCUMENT_BEGIN(filter, name, &equal);
    BSON_APPEND_VALUE(&equal, "$eq", id);
    bson_append_document_end(filter, &equal);
}

bson_t *ash__lock_parameters(const ash_lock_collection *c, const bson_oid_t *h)
{
    bson_t *q = bson_new();
    if (h != NULL)
        BSON_APPEND_OID(q, "h", h);
    BSON_APPEND_UTF8(q, "host", c->host);
    BSON_APPEND_INT32(q, "pid", c->pid);
    BSON_APPEND_INT64(q, "grace", c->settings.grace_ms);
    BSON_APPEND_INT64(q, "turn", READERS_TURN_MS);
    BSON_APPEND_INT64(q, "rest", WRITERS_TURN_MS);
    return q;
}

bson_value_t ash__lock_view(const bson_t *doc, bson_type_t type)
{
    bson_value_t view = {.value_type = type};
    /* The field is not const, but who takes an update only reads it. */
    view.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(doc);
    view.value.v_doc.data_len = doc->len;
    return view;
}

int ash__lock_change(ash_lock_collection *c, const ash_lock_move *move, bson_t *doc, bool *found,
                     ash_error *err)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t stages;
    ash__lock_program_with(&c->programs, move->program, move->parameters, &stages);
    bson_value_t update = ash__lock_view(&stages, BSON_TYPE_ARRAY);
    o.op = ash__lock_op(c);
    o.update = &update;
    o.upsert = move->upsert;
    o.return_new = true;
    int rc = ash_collection_find_and_modify(c->locks, move->filter, &o, doc, found, NULL, err);
    bson_destroy(&stages);
    return rc;
}

/* The programs answer with the document alone: `last` tells whether this try was granted. */
static bool is_ours(const bson_t *doc, const bson_oid_t *h)
{
    bson_iter_t at;
    return find(doc, "last.h", &at) && BSON_ITER_HOLDS_OID(&at) &&
           bson_oid_equal(bson_iter_oid(&at), h);
}

/* A reader that joined an entry is known by that one from now on. */
static void note_entry(ash_lock_grant *g, const bson_oid_t *h, const bson_oid_t *join)
{
    bson_iter_t list, entry, at;
    bson_oid_copy(h, &g->h);
    if (join == NULL || !find(g->doc, "holders", &list) || !bson_iter_recurse(&list, &entry))
        return;
    while (bson_iter_next(&entry)) {
        if (!bson_iter_recurse(&entry, &at) || !bson_iter_find(&at, "h"))
            continue;
        if (BSON_ITER_HOLDS_OID(&at) && bson_oid_equal(bson_iter_oid(&at), join))
            bson_oid_copy(join, &g->h);
    }
}

static int take_grant(ash_lock_grant *g, const bson_t *doc, bool write, ash_error *err)
{
    bson_iter_t at;
    if (!bson_iter_init_find(&at, doc, "_id"))
        return ash__fail(err, ASH_EINTERNAL, "lock document came back without _id");
    memset(g, 0, sizeof *g);
    g->write = write;
    g->writes = ash__lock_int(doc, "writes");
    g->count = ash__lock_int(doc, "reads") + g->writes;
    g->wanted = ash__lock_is_wanted(doc);
    bson_value_copy(bson_iter_value(&at), &g->doc_id);
    g->doc = bson_copy(doc);
    return 0;
}

static void append_party(bson_t *q, const ash_lock_asking *asking)
{
    bson_t others;
    char name[16];
    const char *key;
    if (!asking->write) {
        BSON_APPEND_INT32(q, "n", 1 + asking->party->count);
        return;
    }
    BSON_APPEND_ARRAY_BEGIN(q, "others", &others);
    for (uint32_t i = 0; i < (uint32_t)asking->party->count; i++) {
        size_t len = bson_uint32_to_string(i, &key, name, sizeof name);
        bson_append_oid(&others, key, (int)len, &asking->party->members[i]->h);
    }
    bson_append_array_end(q, &others);
}

static bson_t *try_parameters(const ash_lock *lock, const ash_lock_asking *asking)
{
    const ash_lock_settings *s = &lock->settings;
    int64_t ttl = (asking->write ? WAITER_TTL_POLLS : READERS_TTL_POLLS) * s->poll_ms;
    bson_t *q = ash__lock_parameters(lock->collection, &lock->h);
    if (asking->join != NULL)
        BSON_APPEND_OID(q, "join", asking->join);
    else
        BSON_APPEND_NULL(q, "join");
    BSON_APPEND_BOOL(q, "wait", asking->wait);
    append_party(q, asking);
    BSON_APPEND_INT64(q, "life", s->life_ms > 0 ? s->life_ms : s->lease_ms);
    BSON_APPEND_INT64(q, "ttl", ttl);
    /* An entry is renewed only in its last two thirds: what changes wakes everybody who watches. */
    BSON_APPEND_INT64(q, "fresh", ttl - ttl / 3);
    if (s->meta != NULL)
        BSON_APPEND_DOCUMENT(q, "meta", s->meta);
    else
        BSON_APPEND_NULL(q, "meta");
    return q;
}

void ash__lock_note_answer(ash_lock_resource *r, const bson_t *doc)
{
    static const bson_oid_t nobody;
    bson_iter_t at;
    bool queue = find(doc, "waiters.0.h", &at) && BSON_ITER_HOLDS_OID(&at);
    bson_oid_copy(queue ? bson_iter_oid(&at) : &nobody, &r->first);
}

/* What the last answer says about the next try. */
static void note_try(ash_lock *lock, const bson_t *doc, bool busy)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    lock->resource->known = true;
    lock->resource->busy = busy;
    ash__lock_note_answer(lock->resource, doc);
    ash__mutex_unlock(&c->mutex);
}

/* In brief, if that is worth trying.  *found false: it was not, or there is more to decide. */
static int try_brief(ash_lock *lock, const ash_lock_move *move, bson_t *doc, bool *found,
                     ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    bool unknown = !lock->resource->known;
    bool worth = ash__lock_guess(c, lock->resource);
    ash__mutex_unlock(&c->mutex);
    *found = false;
    if (!worth)
        return 0;
    /* One that is known is as good as always there still. */
    ash_lock_move brief = *move;
    brief.upsert = move->upsert && unknown;
    int rc = ash__lock_brief_obtain(c, &brief, doc, found, err);
    if (rc == 0 && unknown) {
        ash__mutex_lock(&c->mutex);
        ash__lock_guessed(c, *found);
        ash__mutex_unlock(&c->mutex);
    }
    return rc;
}

/* Whatever the document says. */
static int try_whole(ash_lock *lock, const ash_lock_move *move, bson_t *doc, ash_error *err)
{
    bool found;
    int rc;
    /* Two that make the document at once: one of them finds it made. */
    int tries = 0;
    do {
        rc = ash__lock_change(lock->collection, move, doc, &found, err);
    } while (rc == ASH_EEXISTS && ++tries < 10);
    return rc;
}

/* *doc as the try left it. */
static int make_try(ash_lock *lock, const ash_lock_asking *asking, bson_t *doc, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *q = try_parameters(lock, asking);
    ash_lock_move move = {.program = asking->write ? ASH_LOCK_OBTAIN_WRITE : ASH_LOCK_OBTAIN_READ,
                          .filter = &filter,
                          .parameters = q,
                          .upsert = true};
    bool found = false;
    int rc = 0;
    ash__lock_filter_id(&filter, "files_id", &lock->id);
    /* Who joins an entry or is queued already finds a document that others want. */
    if (asking->called)
        rc = ash__lock_brief_follow(lock->collection, &move, doc, &found, err);
    else if (asking->join == NULL && asking->first && asking->party->count == 0)
        rc = try_brief(lock, &move, doc, &found, err);
    if (rc == 0 && !found)
        rc = try_whole(lock, &move, doc, err);
    bson_destroy(&filter);
    bson_destroy(q);
    return rc;
}

/* The caller learns of a grant only when nothing that an earlier holder announced can happen any
 * more. */
static int settle_or_give_back(ash_lock_collection *c, ash_lock_grant *g, ash_error *err)
{
    int rc = ash__lock_settle_pending(c, g, err);
    if (rc != 0) {
        ash_lock_grant lost = *g;
        bson_t after;
        if (ash__lock_give(c, &lost, &after, NULL) == 0)
            bson_destroy(&after);
        ash__lock_grant_release(g);
    }
    return rc;
}

int ash__lock_try(ash_lock *lock, const ash_lock_asking *asking, ash_lock_grant *g, bson_t *doc,
                  ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    int rc = make_try(lock, asking, doc, err);
    if (rc != 0)
        return rc;
    bool granted = is_ours(doc, &lock->h);
    note_try(lock, doc, !granted || ash__lock_is_wanted(doc));
    if (!granted)
        return ASH_LOCK_REFUSED;
    rc = take_grant(g, doc, asking->write, err);
    bson_destroy(doc);
    if (rc != 0)
        return rc;
    if (!asking->write)
        g->count -= asking->party->count;
    note_entry(g, &lock->h, asking->join);
    return settle_or_give_back(c, g, err);
}

int ash__lock_pass(ash_lock *heir, const ash_lock_grant *g, ash_lock_passing *out, ash_error *err)
{
    static const ash_lock_party alone;
    const ash_lock_asking asking = {.write = true, .wait = true, .party = &alone};
    bson_t *q = try_parameters(heir, &asking);
    int rc = ash__lock_brief_pass(heir->collection, g, q, &out->doc, &out->done, err);
    bson_destroy(q);
    out->heir_rc = rc;
    if (rc == 0 && out->done)
        out->heir_rc = take_grant(&out->grant, &out->doc, true, &out->heir_why);
    else if (rc != 0 && err != NULL)
        out->heir_why = *err;
    if (rc != 0 || !out->done || out->heir_rc != 0)
        return rc;
    note_entry(&out->grant, &heir->h, NULL);
    /* Whatever becomes of the heir's, g's holder has let go. */
    out->heir_rc = settle_or_give_back(heir->collection, &out->grant, &out->heir_why);
    return 0;
}

void ash__lock_ownership(const ash_lock_grant *g, bson_t *filter)
{
    ash__lock_filter_id(filter, "_id", &g->doc_id);
    BSON_APPEND_INT64(filter, "writes", g->writes);
    BSON_APPEND_BOOL(filter, "write_lock", g->write);
    if (g->write)
        return;
    BCON_APPEND(filter, "holders", "{", "$elemMatch", "{", "h", BCON_OID(&g->h), "w",
                BCON_INT64(g->writes), "}", "}");
}

static int lost(const ash_lock_grant *g, ash_error *err)
{
    return ash__fail(err, ASH_ELOST, "%s lock was taken over since it was granted",
                     g->write ? "write" : "read");
}

static int change_owned(ash_lock_collection *c, const ash_lock_grant *g,
                        enum ash_lock_program program, int64_t life_ms, bson_t *doc, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *q = ash__lock_parameters(c, &g->h);
    const ash_lock_move move = {program, &filter, q, false};
    bool found = false;
    BSON_APPEND_INT64(q, "life", life_ms);
    ash__lock_ownership(g, &filter);
    int rc = ash__lock_change(c, &move, doc, &found, err);
    bson_destroy(&filter);
    bson_destroy(q);
    if (rc == 0 && !found) { /* another holder, another document, or none */
        bson_destroy(doc);
        rc = lost(g, err);
    }
    return rc;
}

int ash__lock_give(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc, ash_error *err)
{
    bool found = false;
    int rc = 0;
    /* As of the last answer; should somebody want it by now, the filter finds nothing. */
    if (g->shared)
        rc = ash__lock_brief_leave(c, g, doc, &found, err);
    else if (!g->wanted)
        rc = ash__lock_brief_release(c, g, doc, &found, err);
    if (rc != 0 || found)
        return rc;
    return change_owned(c, g, g->write ? ASH_LOCK_RELEASE_WRITE : ASH_LOCK_RELEASE_READ, 0, doc,
                        err);
}

int ash__lock_extend(ash_lock_collection *c, const ash_lock_grant *g, int64_t life_ms, bson_t *doc,
                     ash_error *err)
{
    return change_owned(c, g, g->write ? ASH_LOCK_RENEW_WRITE : ASH_LOCK_RENEW_READ, life_ms, doc,
                        err);
}

int ash__lock_delete(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc, ash_error *err)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bool found = false;
    ash__lock_ownership(g, &filter);
    o.op = ash__lock_op(c);
    o.remove = true;
    int rc = ash_collection_find_and_modify(c->locks, &filter, &o, doc, &found, NULL, err);
    bson_destroy(&filter);
    if (rc == 0 && !found) {
        bson_destroy(doc);
        rc = lost(g, err);
    }
    return rc;
}

int ash__lock_withdraw(const ash_lock *lock, bson_t *doc, bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *q = ash__lock_parameters(lock->collection, &lock->h);
    const ash_lock_move move = {ASH_LOCK_WITHDRAW, &filter, q, false};
    ash__lock_filter_id(&filter, "files_id", &lock->id);
    BSON_APPEND_OID(&filter, "waiters.h", &lock->h);
    int rc = ash__lock_change(lock->collection, &move, doc, found, err);
    if (rc == 0 && !*found)
        bson_destroy(doc);
    bson_destroy(&filter);
    bson_destroy(q);
    return rc;
}
