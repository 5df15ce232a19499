/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in by SCRAM (user/scram.h): by saslStart and saslContinue, or with the hello already.
 * All failures have one text, code and step, whatever the reason; that goes to the log.  Whoever has
 * failed often waits before its proof is looked at (user/attempts.h). */
#include "wire/cmd.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "wire/audit.h"

#include <stdio.h>
#include <string.h>

enum { CONVERSATION = 1 };

static void log_failure(const ash_command *c, const ash_attempt_name *who, const char *why,
                        int64_t skipped)
{
    const char *user = who->user;
    char shown[ASH_USER_NAME_BYTES], more[96] = "";
    size_t n = 0;
    /* Whatever it calls itself: in a log it stays on its line. */
    for (; user != NULL && user[n] != '\0' && n + 1 < sizeof shown; n++)
        shown[n] = user[n] >= ' ' && user[n] != 0x7f ? user[n] : '?';
    shown[n] = '\0';
    if (skipped > 0)
        snprintf(more, sizeof more, "; %lld more failed since the last line", (long long)skipped);
    ash__log(ASH_LOG_WARN, "connection %lld from %s could not sign in as \"%s\" of %.63s: %s%s",
             (long long)c->connection->peer.id, c->connection->peer.remote, shown,
             who->db != NULL ? who->db : "no database", why, more);
}

static ash_attempt_name who_tries(const ash_command *c)
{
    const ash_access *a = &c->connection->access;
    return (ash_attempt_name){a->scram.user, a->scram_db};
}

static void begin_attempt(ash_command *c, const ash_attempt_name *who, ash_attempt *attempt,
                          int64_t *wait_ms)
{
    *wait_ms = ash__attempts_begin(c->server->opts.attempts, c->connection->peer.remote, who,
                                   ash__clock_ms(), attempt);
}

int ash__sign_in_refuse(ash_command *c, const ash_attempt_name *who, const ash_attempt *attempt,
                        const ash_error *why, ash_error *err)
{
    int64_t skipped = 0;
    c->connection->access.has_failed = true;
    if (ash__attempts_end(c->server->opts.attempts, attempt, false, ash__clock_ms(), &skipped)) {
        log_failure(c, who, why->text, skipped);
        ash__wire_audit_sign_in(c, who, c->connection->access.mechanism,
                                ASH_MONGO_AUTHENTICATION_FAILED, skipped);
    }
    return ash__fail_server(err, ASH_EACCES, ASH_MONGO_AUTHENTICATION_FAILED,
                            "Authentication failed.");
}

static int fail_sign_in(ash_command *c, const ash_attempt *attempt, const ash_error *why,
                        ash_error *err)
{
    ash_attempt_name who = who_tries(c);
    int rc = ash__sign_in_refuse(c, &who, attempt, why, err);
    ash__access_end_exchange(&c->connection->access);
    return rc;
}

static int read_payload(ash_doc args, const uint8_t **data, uint32_t *len, ash_error *err)
{
    uint8_t subtype;
    ash_value v = ash__doc_get(args, "payload");
    *data = v.type == BSON_TYPE_BINARY ? ash__value_binary(v, &subtype, len) : NULL;
    return *data != NULL ? 0
                         : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                            "BSON field 'payload' must be binary data");
}

static void reply_step(ash_builder *b, bool done, const char *payload)
{
    ash__builder_int32(b, "conversationId", CONVERSATION);
    ash__builder_bool(b, "done", done);
    ash__builder_binary(b, "payload", BSON_SUBTYPE_BINARY, payload, (uint32_t)strlen(payload));
}

/* ---- the first step ---- */

static int challenge(ash_command *c, const char *db, ash_doc args, ash_error *err)
{
    ash_access *a = &c->connection->access;
    uint8_t random[ASH_SCRAM_NONCE_BYTES];
    ash_scram_credential credential;
    const uint8_t *data;
    uint32_t len = 0;
    ash_value options = ash__doc_get(args, "options");
    int rc = read_payload(args, &data, &len, err);
    if (rc == 0)
        rc = ash__scram_begin(&a->scram, data, len, err);
    if (rc != 0)
        return rc;
    ash_user_id id = {&ash__user_kind, a->scram.user, db};
    rc = ash__user_credential(&c->server->users, &id, a->scram.mechanism, &credential,
                              &a->scram_known, err);
    if (rc != 0)
        return rc;
    ash__random(random, sizeof random);
    ash__scram_challenge(&a->scram, &credential, random);
    a->scram_skips = options.type == BSON_TYPE_DOCUMENT &&
                     ash__value_truthy(ash__doc_get(ash__value_doc(options), "skipEmptyExchange"));
    return 0;
}

/* args: {mechanism, payload, options?}.  The exchange of before, if there was one, is over. */
static int start(ash_command *c, const char *db, ash_doc args, ash_builder *b, ash_error *err)
{
    ash_access *a = &c->connection->access;
    ash_scram_mechanism mechanism;
    ash_error why = ASH_ERROR_INIT;
    const char *name = ash__doc_utf8(args, "mechanism", "(none)");
    ash__access_end_exchange(a);
    if (!ash__scram_from_name(name, &mechanism))
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_MECHANISM_UNAVAILABLE,
                                "Unsupported mechanism '%.60s' on authentication database '%.63s'",
                                name, db);
    ash__scram_init(&a->scram, mechanism);
    a->mechanism = ash__scram_name(mechanism);
    a->scram_db = ash__strdup(db);
    if (challenge(c, db, args, &why) != 0) {
        ash_attempt attempt;
        ash_attempt_name who = who_tries(c);
        int64_t unused;
        begin_attempt(c, &who, &attempt, &unused);
        return fail_sign_in(c, &attempt, &why, err);
    }
    reply_step(b, false, a->scram.server_first);
    return 0;
}

int ash__run_sasl_start(ash_command *c, ash_error *err)
{
    if (!c->server->opts.users)
        return ash__fail_server(
            err, ASH_EUNSUPPORTED, ASH_MONGO_MECHANISM_UNAVAILABLE,
            "Received authentication for mechanism %.60s which is not enabled: this "
            "server has no authentication",
            ash__arg_string(c, "mechanism", "(none)"));
    return start(c, c->db, c->body, &c->reply->body, err);
}

/* ---- the others ---- */

/* Until it may be judged.  The client owes us patience meanwhile: when places are few, a newcomer
 * gets its place.  A stop shuts the stream down, and so does who takes the place. */
int ash__sign_in_await(ash_command *c, const ash_attempt_name *who, ash_attempt *attempt,
                       ash_error *err)
{
    ash_peer *peer = &c->connection->peer;
    int64_t wait_ms;
    begin_attempt(c, who, attempt, &wait_ms);
    if (wait_ms == 0)
        return 0;
    ash__peer_owes(peer);
    bool there = ash__stream_rest(&peer->stream, wait_ms);
    ash__peer_owes_nothing(peer);
    if (there)
        return 0;
    ash__attempts_drop(c->server->opts.attempts, attempt);
    ash__access_end_exchange(&c->connection->access);
    c->reply->close = true;
    return ash__fail(err, ASH_EINTERRUPTED, "the client went before it was its turn to sign in");
}

static int prove(ash_command *c, ash_error *err)
{
    ash_access *a = &c->connection->access;
    ash_attempt attempt;
    ash_attempt_name who = who_tries(c);
    ash_error why = ASH_ERROR_INIT;
    char *answer = NULL;
    const uint8_t *data;
    uint32_t len = 0;
    int rc = ash__sign_in_await(c, &who, &attempt, err);
    if (rc != 0)
        return rc;
    rc = read_payload(c->body, &data, &len, &why);
    if (rc == 0)
        rc = ash__scram_finish(&a->scram, data, len, &answer, &why);
    /* No proof fits the credential of nobody; should one ever, it is nobody's. */
    if (!a->scram_known)
        rc = ash__fail(&why, ASH_EACCES, "there is no such user, or not with %s",
                       ash__scram_name(a->scram.mechanism));
    if (rc == 0 && !ash__access_may_come(c->connection, a->scram.user, a->scram_db, &why))
        rc = ASH_EACCES;
    if (rc != 0) {
        ash__free(answer);
        return fail_sign_in(c, &attempt, &why, err);
    }
    ash__attempts_end(c->server->opts.attempts, &attempt, true, ash__clock_ms(), NULL);
    a->scram_proved = true;
    reply_step(&c->reply->body, a->scram_skips, answer);
    ash__free(answer);
    return 0;
}

static int finish(ash_command *c, ash_error *err)
{
    ash_access *a = &c->connection->access;
    char *user = ash__strdup(a->scram.user), *db = ash__strdup(a->scram_db);
    ash__access_end_exchange(a);
    int rc = ash__access_sign_in(c->connection, user, db, err);
    ash__wire_audit_sign_in(c, &(ash_attempt_name){user, db}, ash__scram_name(a->scram.mechanism),
                            rc != 0 ? ash_error_server_code(err) : 0, 0);
    if (rc == 0)
        ash__log(ASH_LOG_DEBUG, "connection %lld signed in as %.100s@%s",
                 (long long)c->connection->peer.id, user, db);
    ash__free(user);
    ash__free(db);
    return rc;
}

int ash__run_sasl_continue(ash_command *c, ash_error *err)
{
    ash_access *a = &c->connection->access;
    if (!c->server->opts.users)
        return ash__run_sasl_start(c, err);
    if (a->scram_db == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "No SASL session state found");
    if (ash__arg_int64(c, "conversationId", 0) != CONVERSATION) {
        ash__access_end_exchange(a);
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "sasl: Mismatched conversation id");
    }
    bool proved = a->scram_proved;
    int rc = proved ? 0 : prove(c, err);
    if (rc != 0)
        return rc;
    /* Without skipEmptyExchange the client says once more that it has seen the signature. */
    if (proved)
        reply_step(&c->reply->body, true, "");
    return proved || a->scram_skips ? finish(c, err) : 0;
}

int ash__run_logout(ash_command *c, ash_error *err)
{
    (void)err;
    ash__access_end_exchange(&c->connection->access);
    ash__wire_audit_sign_out(c);
    ash__access_sign_out(c->connection);
    return 0;
}

/* ---- in a hello ---- */

/* "db.user"; false when it is none. */
static bool split_user(const char *text, char db[ASH_DB_NAME_BYTES], const char **user)
{
    const char *dot = strchr(text, '.');
    if (dot == NULL || dot == text || dot - text >= ASH_DB_NAME_BYTES || dot[1] == '\0')
        return false;
    snprintf(db, ASH_DB_NAME_BYTES, "%.*s", (int)(dot - text), text);
    *user = dot + 1;
    return true;
}

static void add_mechanisms(ash_builder *b, const bool has[ASH_SCRAM_MECHANISMS])
{
    char index[12];
    uint32_t n = 0;
    ash__builder_begin_array(b, "saslSupportedMechs");
    for (int m = 0; m < ASH_SCRAM_MECHANISMS; m++)
        if (has[m])
            ash__builder_text(b, ash__index_name(n++, index),
                              ash__scram_name((ash_scram_mechanism)m));
    ash__builder_end(b);
}

/* A guess that does not fit is passed over, and the client asks again by saslStart. */
static void speculate(ash_command *c, ash_doc args, const bool has[ASH_SCRAM_MECHANISMS])
{
    ash_error ignored = ASH_ERROR_INIT;
    ash_scram_mechanism mechanism;
    ash_builder b = ASH_BUILDER_INIT;
    const char *db = ash__doc_utf8(args, "db", "admin");
    if (!ash__value_is_missing(ash__doc_get(args, "authenticate")))
        ash__speculate_x509(c, args);
    if (ash__value_is_missing(ash__doc_get(args, "saslStart")) ||
        !ash__scram_from_name(ash__doc_utf8(args, "mechanism", ""), &mechanism) ||
        (has != NULL && !has[mechanism]))
        return;
    ash__builder_begin(&b);
    int rc = start(c, db, args, &b, &ignored);
    ash__builder_end(&b);
    if (rc == 0)
        ash__builder_doc_value(&c->reply->body, "speculativeAuthenticate", ash__builder_doc(&b));
    ash__builder_release(&b);
}

int ash__reply_mechanisms(ash_command *c, ash_error *err)
{
    char db[ASH_DB_NAME_BYTES];
    const char *user;
    bool has[ASH_SCRAM_MECHANISMS], asked = false;
    if (!c->server->opts.users)
        return 0;
    if (split_user(ash__arg_string(c, "saslSupportedMechs", ""), db, &user)) {
        ash_user_id id = {&ash__user_kind, user, db};
        int rc = ash__user_mechanisms(&c->server->users, &id, has, err);
        if (rc != 0)
            return rc;
        add_mechanisms(&c->reply->body, has);
        asked = true;
    }
    ash_value guess = ash__arg(c, "speculativeAuthenticate");
    if (guess.type == BSON_TYPE_DOCUMENT)
        speculate(c, ash__value_doc(guess), asked ? has : NULL);
    return 0;
}

/* ---- who am I ---- */

int ash__run_connection_status(ash_command *c, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    const ash_access *a = &c->connection->access;
    ash_privileges unused = ASH_PRIVILEGES_INIT;
    int rc = 0;
    ash__builder_begin_doc(b, "authInfo");
    ash__builder_begin_array(b, "authenticatedUsers");
    if (a->user != NULL) {
        ash__builder_begin_doc(b, "0");
        ash__builder_text(b, "user", a->user);
        ash__builder_text(b, "db", a->db);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    ash__builder_begin_array(b, "authenticatedUserRoles");
    if (a->user != NULL)
        rc = ash__roles_resolve(&c->server->users, ash__doc_from_bson(&a->roles), &unused, b, err);
    ash__builder_end(b);
    ash__privileges_release(&unused);
    if (ash__arg_bool(c, "showPrivileges", false))
        ash__privileges_write(&a->privileges, b, "authenticatedUserPrivileges");
    ash__builder_end(b);
    return rc;
}
