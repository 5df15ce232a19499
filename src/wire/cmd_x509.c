/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in by a certificate (MONGODB-X509).  TLS has checked it, and that the client has its key;
 * the user is the one of $external whose name is its subject.  Nobody guesses a certificate, so
 * whoever has the right one never waits; failures count as those of passwords do. */
#include "wire/cmd.h"

#include "base/log.h"
#include "wire/audit.h"

#include <string.h>

static const char mechanism[] = "MONGODB-X509";

/* wanted: who the client says that it is; NULL: who the certificate says.  subject: "" without one. */
static int judge(ash_command *c, const char *wanted, char subject[ASH_STREAM_SUBJECT_BYTES],
                 ash_error *why)
{
    subject[0] = '\0';
    c->connection->access.mechanism = mechanism;
    if (!ash__stream_subject(&c->connection->peer.stream, subject)) {
        subject[0] = '\0';
        return ash__fail(why, ASH_EACCES,
                         "it has shown no certificate that was asked for and checked");
    }
    if (wanted != NULL && strcmp(wanted, subject) != 0)
        return ash__fail(why, ASH_EACCES, "its certificate says that it is somebody else");
    int rc = ash__access_sign_in(c->connection, subject, ASH_EXTERNAL_DB, why);
    if (rc == ASH_EACCES)
        return ash__fail(why, rc, "there is no such user of " ASH_EXTERNAL_DB);
    if (rc != 0)
        return rc;
    ash__wire_audit_sign_in(c, &(ash_attempt_name){subject, ASH_EXTERNAL_DB}, mechanism, 0, 0);
    ash__log(ASH_LOG_DEBUG, "connection %lld signed in as %.200s@" ASH_EXTERNAL_DB,
             (long long)c->connection->peer.id, subject);
    return 0;
}

static void reply(ash_builder *b, const char *subject)
{
    ash__builder_text(b, "dbname", ASH_EXTERNAL_DB);
    ash__builder_text(b, "user", subject);
}

static int refuse(ash_command *c, const char *user, const ash_error *why, ash_error *err)
{
    ash_attempt attempt;
    ash_attempt_name who = {user, ASH_EXTERNAL_DB};
    int rc = ash__sign_in_await(c, &who, &attempt, err);
    return rc == 0 ? ash__sign_in_refuse(c, &who, &attempt, why, err) : rc;
}

int ash__run_authenticate(ash_command *c, ash_error *err)
{
    char subject[ASH_STREAM_SUBJECT_BYTES];
    ash_error why = ASH_ERROR_INIT;
    const char *name = ash__arg_string(c, "mechanism", "(none)");
    const char *wanted = ash__arg_string(c, "user", NULL);
    if (!c->server->opts.users || strcmp(name, mechanism) != 0)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_MECHANISM_UNAVAILABLE,
                                "Received authentication for mechanism %.60s which is not enabled",
                                name);
    if (strcmp(c->db, ASH_EXTERNAL_DB) != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "X.509 authentication must always use the " ASH_EXTERNAL_DB
                                " database.");
    ash__access_end_exchange(&c->connection->access);
    if (judge(c, wanted, subject, &why) != 0)
        return refuse(c, subject[0] != '\0' ? subject : wanted != NULL ? wanted : "", &why, err);
    reply(&c->reply->body, subject);
    return 0;
}

void ash__speculate_x509(ash_command *c, ash_doc args)
{
    char subject[ASH_STREAM_SUBJECT_BYTES];
    ash_error ignored = ASH_ERROR_INIT;
    ash_builder *b = &c->reply->body;
    if (strcmp(ash__doc_utf8(args, "mechanism", ""), mechanism) != 0 ||
        strcmp(ash__doc_utf8(args, "db", ASH_EXTERNAL_DB), ASH_EXTERNAL_DB) != 0 ||
        judge(c, ash__doc_utf8(args, "user", NULL), subject, &ignored) != 0)
        return;
    ash__builder_begin_doc(b, "speculativeAuthenticate");
    reply(b, subject);
    ash__builder_end(b);
}
