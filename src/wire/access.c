/* SPDX-License-Identifier: Apache-2.0 */
/* Everything is refused that nothing allows.  The order of the questions is: does anybody look; is
 * it the owner; is it for everybody; has somebody signed in; do the privileges cover it. */
#define _GNU_SOURCE /* struct ucred */
#include "wire/access.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/ops.h"
#include "user/origin.h"
#include "wire/command.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the connection ---- */

/* Only the account that runs the server can open the socket; root can, too, and may be who runs
 * the command. */
static bool is_owner(const ash_peer *peer)
{
    struct ucred who;
    socklen_t len = sizeof who;
    if (!peer->is_unix || getsockopt(peer->stream.fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
        return false;
    return who.uid == geteuid() || who.uid == 0;
}

void ash__access_init(ash_connection *c)
{
    memset(&c->access, 0, sizeof c->access);
    c->access.is_owner = is_owner(&c->peer);
}

void ash__access_end_exchange(ash_access *a)
{
    if (a->scram_db != NULL)
        ash__scram_release(&a->scram);
    ash__free(a->scram_db);
    a->scram_db = NULL;
    a->scram_proved = false;
}

void ash__access_sign_out(ash_connection *c)
{
    ash_access *a = &c->access;
    if (a->user == NULL)
        return;
    c->principal = (ash_principal)ASH_PRINCIPAL_INIT;
    ash__free(a->user);
    ash__free(a->db);
    a->user = a->db = NULL;
    memset(&a->who, 0, sizeof a->who);
    bson_destroy(&a->roles);
    ash__privileges_release(&a->privileges);
    ash__usage_leave(c->server->usage, a->usage);
    a->usage = NULL;
}

void ash__access_release(ash_connection *c)
{
    ash__access_end_exchange(&c->access);
    ash__access_sign_out(c);
}

/* ---- who it is ---- */

static void digest_who(const char *user, const char *db, ash_who *out)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char *text = ash__sprintf("%s.%s", db, user);
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash_assert(d != NULL);
    ash__digest_add(d, text, strlen(text));
    ash__digest_finish(d, bytes);
    ash__digest_free(d);
    ash__free(text);
    memcpy(out->bytes, bytes, sizeof out->bytes);
}

static void user_id_of(ash_doc user, uint8_t out[16])
{
    uint8_t subtype;
    uint32_t len = 0;
    ash_value v = ash__doc_get(user, "userId");
    const uint8_t *bytes = v.type == BSON_TYPE_BINARY ? ash__value_binary(v, &subtype, &len) : NULL;
    memset(out, 0, 16);
    if (bytes != NULL && len == 16)
        memcpy(out, bytes, 16);
}

static ash_doc roles_of(ash_doc user)
{
    ash_value v = ash__doc_get(user, "roles");
    return v.type == BSON_TYPE_ARRAY ? ash__value_doc(v) : ash__doc_empty;
}

/* Its place among those who have signed in as the user: a new one, or the one it has. */
static int take_usage(ash_connection *c, ash_doc user, bool again, ash_usage **out, ash_error *err)
{
    ash_limits limits;
    ash__limits_read(user, &limits);
    if (!again)
        return ash__usage_enter(c->server->usage, ash__doc_utf8(user, "user", ""),
                                ash__doc_utf8(user, "db", ""), &limits, out, err);
    *out = c->access.usage;
    c->access.usage = NULL;
    ash__usage_limit(*out, &limits);
    return 0;
}

/* What the user's document says, now.  The connection's own: nothing of it before has to be freed. */
static int learn(ash_connection *c, const char *user, const char *db, bool again, ash_error *err)
{
    ash_access *a = &c->access;
    ash_user_id id = {&ash__user_kind, user, db};
    ash_privileges privileges = ASH_PRIVILEGES_INIT;
    ash_usage *usage = NULL;
    uint8_t user_id[16];
    bson_t doc, view;
    /* Before the look: a change behind it is looked at again. */
    uint64_t known_at = atomic_load(&c->server->user_changes);
    int rc = ash__user_find(&c->server->users, &id, &doc, err);
    if (rc != 0)
        return rc;
    ash_doc found = ash__doc_from_bson(&doc);
    user_id_of(found, user_id);
    if (!ash__origins_admit(found, c->peer.remote, c->peer.local))
        rc = ash__fail(err, ASH_ENOTFOUND, "the user may not sign in from there");
    if (rc == 0 && again && memcmp(user_id, a->user_id, sizeof user_id) != 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "it is another user of the same name");
    if (rc == 0)
        rc = ash__roles_resolve(&c->server->users, roles_of(found), &privileges, NULL, err);
    if (rc == 0)
        rc = take_usage(c, found, again, &usage, err);
    if (rc != 0) {
        ash__privileges_release(&privileges);
        bson_destroy(&doc);
        return rc;
    }
    char *user_copy = ash__strdup(user), *db_copy = ash__strdup(db);
    ash__access_sign_out(c);
    a->has_failed = false;
    a->user = user_copy;
    a->db = db_copy;
    a->privileges = privileges;
    a->usage = usage;
    a->known_at = known_at;
    memcpy(a->user_id, user_id, sizeof a->user_id);
    ash__doc_to_bson(roles_of(found), &view);
    bson_copy_to(&view, &a->roles);
    digest_who(user, db, &a->who);
    c->principal.user = a->user;
    c->principal.db = a->db;
    c->principal.roles = &a->roles;
    bson_destroy(&doc);
    return 0;
}

bool ash__access_may_come(ash_connection *c, const char *user, const char *db, ash_error *err)
{
    ash_user_id id = {&ash__user_kind, user, db};
    bson_t doc;
    if (ash__user_find(&c->server->users, &id, &doc, err) != 0)
        return false;
    bool may = ash__origins_admit(ash__doc_from_bson(&doc), c->peer.remote, c->peer.local);
    bson_destroy(&doc);
    if (!may)
        ash__fail(err, ASH_EACCES, "the user may not sign in from there");
    return may;
}

int ash__access_sign_in(ash_connection *c, const char *user, const char *db, ash_error *err)
{
    int rc = learn(c, user, db, false, err);
    if (rc == ASH_ENOTFOUND)
        return ash__fail_server(err, ASH_EACCES, ASH_MONGO_AUTHENTICATION_FAILED,
                                "Authentication failed.");
    return rc;
}

/* ---- whether anybody looks ---- */

bool ash__access_is_guarded(const ash_command *c)
{
    return ash__server_asks(c->server);
}

/* The door opens or closes for everybody, which the change itself does not say. */
static void log_asking(const ash_server *s, bool any)
{
    if (any)
        ash__log(ASH_LOG_INFO, "there is a user now: clients have to sign in");
    else if (s->opts.auth)
        ash__log(ASH_LOG_WARN, "the last user was removed: nobody can sign in any more, but "
                               "commands on the folder can make users");
    else
        ash__log(ASH_LOG_WARN, "the last user was removed: nobody has to sign in any more, and "
                               "whoever reaches this server may do everything");
}

int ash__access_changed(ash_command *c, ash_error *err)
{
    bool any = false;
    if (!c->server->opts.users)
        return 0;
    atomic_fetch_add(&c->server->user_changes, 1);
    ash__users_changed();
    int rc = ash__users_any(&c->server->users, &any, err);
    if (rc == 0 && any && !atomic_load(&c->server->has_users))
        rc = ash__users_keep_secret(&c->server->users, err);
    /* Who cannot tell goes on as if there were some. */
    any = any || rc != 0;
    if (atomic_exchange(&c->server->has_users, any) != any)
        log_asking(c->server, any);
    return rc;
}

/* After a change of users: who was dropped is nobody any more. */
static int refresh(ash_command *c, ash_error *err)
{
    ash_access *a = &c->connection->access;
    if (a->user == NULL || a->known_at == atomic_load(&c->server->user_changes))
        return 0;
    ash_error what = ASH_ERROR_INIT;
    char *user = ash__strdup(a->user), *db = ash__strdup(a->db);
    int rc = learn(c->connection, user, db, true, &what);
    if (rc == ASH_ENOTFOUND)
        ash__access_sign_out(c->connection);
    ash__free(user);
    ash__free(db);
    return ash__unless(ASH_ENOTFOUND, rc, &what, err);
}

/* ---- what is asked ---- */

static bool free_to_all(const ash_command *c)
{
    const ash_access *a = &c->connection->access;
    return !ash__access_is_guarded(c) || (a->is_owner && a->user == NULL);
}

bool ash__access_is_stranger(const ash_command *c)
{
    return !free_to_all(c) && c->connection->access.user == NULL;
}

/* MongoDB's localhost exception: with opts.auth, before the first user, on this machine. */
bool ash__access_is_first(const ash_command *c)
{
    const ash_peer *peer = &c->connection->peer;
    return ash__access_is_guarded(c) && !atomic_load(&c->server->has_users) &&
           (peer->is_unix || strncmp(peer->remote, "127.", 4) == 0 ||
            strncmp(peer->remote, "[::1]", 5) == 0);
}

bool ash__may(const ash_command *c, const char *db, const char *coll, ash_actions actions)
{
    return free_to_all(c) ||
           ash__privileges_allow(&c->connection->access.privileges, db, coll, actions);
}

bool ash__may_cluster(const ash_command *c, ash_actions actions)
{
    return free_to_all(c) ||
           ash__privileges_allow_cluster(&c->connection->access.privileges, actions);
}

bool ash__may_any(const ash_command *c, const char *db, const char *coll)
{
    if (free_to_all(c))
        return true;
    for (ash_actions left = ASH_ACTIONS_ALL; left != 0; left &= left - 1)
        if (ash__privileges_allow(&c->connection->access.privileges, db, coll, left & -left))
            return true;
    return false;
}

bool ash__may_reach(const ash_command *c, const char *db)
{
    return free_to_all(c) ||
           ash__privileges_reach(&c->connection->access.privileges, db, ASH_ACTIONS_ALL);
}

int ash__deny(const ash_command *c, ash_error *err)
{
    const char *what = ash__value_utf8(c->value, NULL);
    if (what != NULL)
        return ash__fail_server(err, ASH_EACCES, ASH_MONGO_UNAUTHORIZED,
                                "not authorized on %s to execute command { %s: \"%.200s\" }", c->db,
                                c->info->name, what);
    return ash__fail_server(err, ASH_EACCES, ASH_MONGO_UNAUTHORIZED,
                            "not authorized on %s to execute command { %s: 1 }", c->db,
                            c->info->name);
}

int ash__require(const ash_command *c, const char *db, const char *coll, ash_actions actions,
                 ash_error *err)
{
    return ash__may(c, db, coll, actions) ? 0 : ash__deny(c, err);
}

int ash__access_enter(ash_command *c, ash_error *err)
{
    if (!c->server->opts.users)
        return 0;
    int rc = refresh(c, err);
    if (rc != 0 || free_to_all(c) || c->info->needs.kind == ASH_NEED_NOTHING ||
        c->connection->access.user != NULL)
        return rc;
    if (c->info->needs.kind == ASH_NEED_OWN && ash__access_is_first(c))
        return 0;
    return ash__fail_server(err, ASH_EACCES, ASH_MONGO_UNAUTHORIZED,
                            "Command %s requires authentication", c->info->name);
}

/* It waits on its own thread, and without its place among requests: others go before it. */
static int await_pace(ash_command *c, int64_t wait_ms, ash_error *err)
{
    enum { SLICE_MS = 250 }; /* so long a killOp may take */
    const ash_stream *stream = &c->connection->peer.stream;
    int64_t until = ash__clock_ms() + wait_ms;
    ash__arrival_leave(&c->connection->arrival);
    for (int64_t left = wait_ms; left > 0; left = until - ash__clock_ms())
        if (!ash__stream_rest(stream, left < SLICE_MS ? left : SLICE_MS) ||
            ash__is_cancelled(c->op.cancel))
            return ash__fail(err, ASH_EINTERRUPTED, "interrupted before it was the user's turn");
    return 0;
}

int ash__access_pace(ash_command *c, ash_error *err)
{
    ash_usage *usage = c->connection->access.usage;
    int64_t wait_ms = 0;
    if (usage == NULL || c->info->needs.kind == ASH_NEED_NOTHING)
        return 0;
    int rc = ash__usage_take(usage, ash__clock_us(), &wait_ms, err);
    return rc == 0 && wait_ms > 0 ? await_pace(c, wait_ms, err) : rc;
}

static int check_bypass(const ash_command *c, ash_error *err)
{
    if (c->coll == NULL || !ash__arg_bool(c, "bypassDocumentValidation", false))
        return 0;
    return ash__require(c, c->db, c->coll, ASH_CAN(BYPASS_DOCUMENT_VALIDATION), err);
}

int ash__access_check(ash_command *c, ash_error *err)
{
    const ash_need *need = &c->info->needs;
    if (free_to_all(c))
        return 0;
    switch (need->kind) {
    case ASH_NEED_NOTHING:
    case ASH_NEED_LOGIN:
        return 0;
    case ASH_NEED_COLLECTION: {
        int rc = ash__require(c, c->db, c->coll, need->actions, err);
        return rc == 0 ? check_bypass(c, err) : rc;
    }
    case ASH_NEED_DATABASE:
        return ash__require(c, c->db, "", need->actions, err);
    case ASH_NEED_CLUSTER:
        return ash__may_cluster(c, need->actions) ? 0 : ash__deny(c, err);
    case ASH_NEED_OWN: {
        int rc = need->check(c, err);
        return rc == 0 ? check_bypass(c, err) : rc;
    }
    case ASH_NEED_OWNER:
        break;
    }
    return ash__deny(c, err);
}
