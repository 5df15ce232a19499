/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/trace.h"

#include "base/mem.h"
#include "base/server_codes.h"
#include "base/text.h"
#include "bson/builder.h"
#include "nats/jetstream/subject.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 255 };

bool ash__jsd_admits(const ash_jsd_client *c, unsigned kind)
{
    ash_error ignored = ASH_ERROR_INIT;
    return ash__audit_admit(c->jetstream->audit, kind, &ignored) == 0;
}

static void add_text(ash_builder *b, const char *name, const char *text)
{
    if (text != NULL)
        ash__builder_string(b, name, text,
                            (uint32_t)ash__text_good(text, strnlen(text, TEXT_BYTES)));
}

/* param is open, and released. */
static void tell(const ash_jsd_client *c, unsigned kind, ash_builder *param, int error)
{
    const char *local = NULL, *remote = NULL;
    if (error != 0)
        ash__builder_int32(param, "code", error);
    ash__builder_end(param);
    ash__nats_client_addresses(c->client, &local, &remote);
    ash_audit_event e = {.kind = kind,
                         .type = "authCheck",
                         .local = local,
                         .remote = remote,
                         .param = ash__builder_doc(param),
                         .result = error != 0 ? ASH_MONGO_UNKNOWN_ERROR : 0};
    ash__audit_write(c->jetstream->audit, &e);
    ash__builder_release(param);
}

/* What a request is about, where it says so by a subject of the store; NULL: by none. */
static const char *subject_of(const ash_jsd_request *r)
{
    const ash_json *config = r->body != NULL ? ash__json_get(r->body, "config") : NULL;
    const char *subject = strncmp(r->rest, "$O.", 3) == 0 ? r->rest : NULL;
    if (subject == NULL && r->body != NULL)
        subject = ash__json_text(r->body, "last_by_subj", ash__json_text(r->body, "filter", NULL));
    return subject == NULL && config != NULL ? ash__json_text(config, "filter_subject", NULL)
                                             : subject;
}

/* A large object is read by thousands of requests, one for each chunk: the first is told. */
static bool goes_on(ash_jsd_client *c, ash_jsd_kind what, const char *nuid)
{
    bool again = what == ASH_JSD_CHUNKS && strcmp(c->told_nuid, nuid) == 0;
    if (what == ASH_JSD_CHUNKS)
        snprintf(c->told_nuid, sizeof c->told_nuid, "%s", nuid);
    return again;
}

void ash__jsd_tell_request(const ash_jsd_request *r, const char *command, unsigned kind)
{
    ash_builder param = ASH_BUILDER_INIT;
    char *name = NULL;
    if (!ash__audit_wants(r->client->jetstream->audit, kind))
        return;
    const char *subject = r->store != NULL ? subject_of(r) : NULL;
    ash_jsd_kind what =
        subject != NULL ? ash__jsd_filter_read(r->store, subject, &name) : ASH_JSD_NONE;
    if (goes_on(r->client, what, name) && kind == ASH_AUDIT_READS && r->failed == 0) {
        ash__free(name);
        return;
    }
    ash__builder_begin(&param);
    add_text(&param, "command", command);
    add_text(&param, "store", r->store);
    if (what == ASH_JSD_META || what == ASH_JSD_CHUNKS)
        add_text(&param, what == ASH_JSD_META ? "object" : "nuid", name);
    tell(r->client, kind, &param, r->failed);
    ash__free(name);
}

void ash__jsd_tell_meta(const ash_jsd_publication *p)
{
    ash_builder param = ASH_BUILDER_INIT;
    if (!ash__audit_wants(p->client->jetstream->audit, ASH_AUDIT_WRITES))
        return;
    ash__builder_begin(&param);
    add_text(&param, "command", "PUB");
    add_text(&param, "store", p->store);
    add_text(&param, "object", p->name);
    tell(p->client, ASH_AUDIT_WRITES, &param, p->failed);
}
