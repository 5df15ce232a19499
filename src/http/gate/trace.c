/* SPDX-License-Identifier: Apache-2.0 */
/* What the audit log is told of HTTP's clients, in the words of MongoDB's events. */
#include "http/gate/trace.h"

#include "base/mem.h"
#include "base/server_codes.h"
#include "base/text.h"
#include "http/gate/visitor.h"

#include <string.h>

typedef struct trace {
    ash_gate *gate;
    unsigned kind;
    bool by_link;
    char *command, *path;
    bson_t more, names;
    uint32_t name_count;
} trace;

enum { COMMAND_BYTES = 40, NO_ANSWER = 499 };

/* ---- signing in and out ---- */

static void write_event(const ash_gate *g, const ash_exchange *x, ash_audit_event *e,
                        ash_builder *param)
{
    ash__builder_end(param);
    e->local = x->local;
    e->remote = x->remote;
    e->param = ash__builder_doc(param);
    ash__audit_write(g->audit, e);
    ash__builder_release(param);
}

void ash__gate_tell(const ash_gate *g, const ash_exchange *x, const ash_attempt_name *who,
                    const char *mechanism, bool failed, int64_t besides)
{
    ash_builder param = ASH_BUILDER_INIT;
    if (!ash__audit_wants(g->audit, ASH_AUDIT_AUTHENTICATION))
        return;
    ash__builder_begin(&param);
    ash__builder_string(&param, "user", who->user,
                        (uint32_t)strnlen(who->user, ASH_USER_NAME_BYTES));
    ash__builder_text(&param, "db", who->db);
    ash__builder_text(&param, "mechanism", mechanism);
    if (besides > 0)
        ash__builder_int64(&param, "failedBesides", besides);
    ash_audit_event e = {.kind = ASH_AUDIT_AUTHENTICATION,
                         .type = "authenticate",
                         .user = failed ? NULL : who->user,
                         .db = failed ? NULL : who->db,
                         .result = failed ? ASH_MONGO_AUTHENTICATION_FAILED : 0};
    write_event(g, x, &e, &param);
}

static void add_visitor(ash_audit_event *e, const ash_visitor *v)
{
    if (v == NULL || v->user == NULL)
        return;
    e->user = v->user;
    e->db = v->db;
    e->roles = ash__doc_from_bson(&v->roles);
}

void ash__gate_tell_sign_out(const ash_gate *g, const ash_exchange *x)
{
    const ash_coming *c = x->visitor;
    ash_builder param = ASH_BUILDER_INIT;
    if (c == NULL || !c->is_session || !ash__audit_wants(g->audit, ASH_AUDIT_AUTHENTICATION))
        return;
    ash__builder_begin(&param);
    ash_audit_event e = {.kind = ASH_AUDIT_AUTHENTICATION, .type = "logout"};
    add_visitor(&e, c->visitor);
    write_event(g, x, &e, &param);
}

/* ---- the end of a request ---- */

/* MongoDB has no numbers for most of what HTTP says. */
static int32_t code_of(int status)
{
    if (status == 401 || status == 403)
        return ASH_MONGO_UNAUTHORIZED;
    if (status == 429)
        return ASH_MONGO_INGRESS_REQUEST_RATE_LIMIT_EXCEEDED;
    if (status == 507)
        return ASH_MONGO_OUT_OF_DISK_SPACE;
    return status < 400 ? 0 : ASH_MONGO_UNKNOWN_ERROR;
}

static void add_bounded(ash_builder *b, const char *name, const char *text, size_t most)
{
    size_t len = strnlen(text, most);
    ash__builder_string(b, name, text, (uint32_t)ash__text_good(text, len));
}

static void tell(const trace *t, const ash_exchange *x, unsigned kind, int status)
{
    const ash_coming *c = x->visitor;
    ash_builder param = ASH_BUILDER_INIT;
    ash__builder_begin(&param);
    add_bounded(&param, "command", t->command, COMMAND_BYTES);
    add_bounded(&param, "path", t->path, ASH_TRACE_PATH_BYTES);
    ash__builder_elements(&param, ash__doc_from_bson(&t->more));
    if (t->name_count > 0)
        ash__builder_array_value(&param, "names", ash__doc_from_bson(&t->names));
    if (c != NULL && c->is_token)
        ash__builder_string(&param, "token", c->token_id,
                            (uint32_t)strnlen(c->token_id, sizeof c->token_id));
    ash__builder_int32(&param, "status", status);
    ash_audit_event e = {.kind = kind, .type = "authCheck", .result = code_of(status)};
    if (c != NULL)
        add_visitor(&e, c->visitor);
    write_event(t->gate, x, &e, &param);
}

void ash__gate_tell_request(ash_exchange *x)
{
    trace *t = x->trace;
    if (t == NULL)
        return;
    int status = x->status != 0 ? x->status : NO_ANSWER;
    bool is_stranger = ash__gate_is_stranger(x);
    unsigned kind = t->kind;
    if ((status == 403 || status == 429) && !is_stranger && x->visitor != NULL)
        kind |= ASH_AUDIT_AUTHENTICATION;
    if (ash__audit_wants(t->gate->audit, kind) && (!is_stranger || status < 400 || t->by_link))
        tell(t, x, kind, status);
    ash__free(t->command);
    ash__free(t->path);
    bson_destroy(&t->more);
    bson_destroy(&t->names);
    ash__free(t);
    x->trace = NULL;
}

/* ---- what is noted meanwhile ---- */

bool ash__trace_begin(ash_gate *g, ash_exchange *x, unsigned kind, const char *path)
{
    ash_error err = ASH_ERROR_INIT;
    if (g == NULL || x->trace != NULL ||
        !ash__audit_wants(g->audit, kind | ASH_AUDIT_AUTHENTICATION))
        return false;
    /* What a stranger is refused is not told; a link admits by itself.  What is answered already does
     * not happen. */
    if (x->status == 0 && !ash__gate_is_stranger(x) &&
        ash__audit_admit(g->audit, kind, &err) != 0) {
        ash__answer_error(x, &err);
        return true;
    }
    trace *t = ash__new(trace);
    t->gate = g;
    t->kind = kind;
    t->command = ash__strdup(x->method);
    t->path = ash__strdup(path);
    bson_init(&t->more);
    bson_init(&t->names);
    x->trace = t;
    x->decided = ash__gate_decided;
    return false;
}

void ash__trace_kind(ash_exchange *x, unsigned kind)
{
    trace *t = x->trace;
    if (t != NULL)
        t->kind = kind;
}

void ash__trace_command(ash_exchange *x, const char *name)
{
    trace *t = x->trace;
    if (t == NULL)
        return;
    ash__free(t->command);
    t->command = ash__strdup(name);
}

void ash__trace_path(ash_exchange *x, const char *prefix, const char *path)
{
    trace *t = x->trace;
    if (t == NULL)
        return;
    ash__free(t->path);
    t->path = ash__sprintf("%s%s", prefix, path);
}

static void append(bson_t *doc, const char *key, const char *text)
{
    size_t len = ash__text_good(text, strnlen(text, ASH_TRACE_TEXT_BYTES));
    bson_append_utf8(doc, key, -1, text, (int)len);
}

void ash__trace_text(ash_exchange *x, const char *name, const char *text)
{
    trace *t = x->trace;
    if (t != NULL && text != NULL)
        append(&t->more, name, text);
}

void ash__trace_name(ash_exchange *x, const char *text)
{
    trace *t = x->trace;
    char index[12];
    if (t == NULL || t->name_count == ASH_TRACE_NAMES)
        return;
    append(&t->names, ash__index_name(t->name_count++, index), text);
}

bool ash__trace_link(ash_exchange *x, const char *id)
{
    trace *t = x->trace;
    ash_error err = ASH_ERROR_INIT;
    if (t == NULL)
        return false;
    t->by_link = true;
    append(&t->more, "link", id);
    if (ash__audit_admit(t->gate->audit, t->kind, &err) != 0)
        ash__answer_error(x, &err);
    return x->status != 0;
}
