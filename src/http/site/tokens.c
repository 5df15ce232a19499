/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of whoever asks: made, listed, taken back.
 *
 *   GET /.ashlar/tokens          {"tokens": [{"id", "created", "expires", "used", "readOnly", "path"}]}
 *   POST /.ashlar/tokens         {"expires"?, "readOnly"?, "path"?}: 201, and "token", told once
 *   DELETE /.ashlar/tokens/ID    204
 */
#include "user/tokens.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/gate/gate.h"
#include "http/gate/trace.h"
#include "http/site/api.h"

#include <string.h>
#include <strings.h>

enum { MAX_BODY_BYTES = 4096 };

static void add_token(ash_buffer *out, const ash_token *t, const char *text)
{
    ash__json_comma(out);
    ash__buffer_append_byte(out, '{');
    ash__json_add_text(out, "id", t->id);
    ash__json_add_time(out, "created", t->created_ms);
    ash__json_add_time(out, "expires", t->expires_ms);
    ash__json_add_time(out, "used", t->used_ms);
    ash__json_add_bool(out, "readOnly", t->read_only);
    ash__json_add_text(out, "path", t->path);
    if (text != NULL)
        ash__json_add_text(out, "token", text);
    ash__buffer_append_byte(out, '}');
}

static void answer(ash_exchange *x, int status, ash_buffer *out)
{
    ash__buffer_append_byte(out, '\n');
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_body(x, status, "application/json", out->data, out->len);
    ash__buffer_release(out);
}

static int add_one(void *ctx, const ash_token *t, ash_error *err)
{
    (void)err;
    /* Of somebody who had the name before. */
    if (!t->is_orphan)
        add_token(ctx, t, NULL);
    return 0;
}

static void list(ash_site *s, ash_exchange *x)
{
    const ash_principal *who = x->op->principal;
    ash_buffer out = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash__buffer_append_text(&out, "{\"tokens\":[");
    int rc = ash__token_each(ash__gate_users(s->gate), who->user, who->db, add_one, &out, &err);
    ash__buffer_append_text(&out, "]}");
    if (rc != 0) {
        ash__buffer_release(&out);
        ash__answer_error(x, &err);
    } else {
        answer(x, 200, &out);
    }
}

/* ---- making ---- */

typedef struct making {
    ash_site *site;
    ash_buffer body;
} making;

static void release(ash_exchange *x)
{
    making *m = x->state;
    ash__buffer_release(&m->body);
    ash__free(m);
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    making *m = x->state;
    if (m->body.len + len > MAX_BODY_BYTES)
        ash__answer_text(x, 413, "the body has more than 4 KiB");
    else
        ash__buffer_append(&m->body, data, len);
}

/* Members that are not of their kinds make no token, or it would be wider than was meant. */
static bool read_asked(ash_exchange *x, const bson_t *body, ash_token *t)
{
    bson_iter_t at;
    bool good = bson_iter_init(&at, body);
    t->expires_ms = ash__clock_wall_ms() + ASH_TOKEN_DEFAULT_MS;
    while (good && bson_iter_next(&at)) {
        const char *name = bson_iter_key(&at);
        uint32_t len = 0;
        const char *text = BSON_ITER_HOLDS_UTF8(&at) ? bson_iter_utf8(&at, &len) : NULL;
        /* What goes on behind a NUL would be another text to others. */
        bool is_text = text != NULL && strlen(text) == len;
        if (strcmp(name, "expires") == 0 && is_text && strcmp(text, "never") == 0)
            t->expires_ms = 0;
        else if (strcmp(name, "expires") == 0)
            good = is_text && ash__date_parse_iso(text, &t->expires_ms) &&
                   t->expires_ms > ash__clock_wall_ms();
        else if (strcmp(name, "readOnly") == 0 && BSON_ITER_HOLDS_BOOL(&at))
            t->read_only = bson_iter_bool(&at);
        else if (strcmp(name, "path") == 0 && is_text && t->path == NULL)
            t->path = ash__strdup(text);
        else
            good = false;
    }
    if (!good)
        ash__answer_text(x, 400,
                         "a token has `expires` (a time such as 2027-01-31T12:00:00Z, or "
                         "\"never\"), `readOnly` (true or false) and `path` (\"/a/b\"), or none");
    return good;
}

static void make(ash_site *s, ash_exchange *x, const bson_t *body)
{
    const ash_principal *who = x->op->principal;
    ash_token t = {0};
    ash_buffer out = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    char text[ASH_TOKEN_TEXT_BYTES];
    if (read_asked(x, body, &t)) {
        t.user = ash__strdup(who->user);
        t.db = ash__strdup(who->db);
        if (ash__token_create(ash__gate_users(s->gate), &t, text, &err) != 0) {
            ash__answer_error(x, &err);
        } else {
            ash__trace_text(x, "id", t.id);
            ash__trace_text(x, "within", t.path);
            add_token(&out, &t, text);
            answer(x, 201, &out);
        }
    }
    ash__token_release(&t);
}

static void finish(ash_exchange *x)
{
    making *m = x->state;
    bson_error_t why = {0};
    const char *text = ash__buffer_text(&m->body);
    bool is_object = text[strspn(text, " \t\r\n")] == '{';
    bson_t *body = is_object ? bson_new_from_json(m->body.data, (ssize_t)m->body.len, &why) : NULL;
    if (body == NULL)
        ash__answer_text(x, 400, "the body is no JSON object");
    else
        make(m->site, x, body);
    bson_destroy(body);
}

static void begin_making(ash_site *s, ash_exchange *x)
{
    const char *type = ash__head_field(x->head, "Content-Type");
    if (type == NULL || strncasecmp(type, "application/json", 16) != 0) {
        ash__answer_text(x, 415, "the body has to be of the type application/json");
        return;
    }
    making *m = ash__new(making);
    m->site = s;
    x->state = m;
    x->release = release;
    x->take = take;
    x->finish = finish;
}

/* ---- all of it ---- */

static void take_back(ash_site *s, ash_exchange *x, const char *id)
{
    const ash_principal *who = x->op->principal;
    ash_error err = ASH_ERROR_INIT;
    if (ash__token_remove(ash__gate_users(s->gate), id, who->user, who->db, &err) != 0)
        ash__answer_error(x, &err);
    else
        ash__answer_empty(x, 204);
}

void ash__site_tokens(ash_site *s, ash_exchange *x, const char *rest)
{
    bool is_all = rest[0] == '\0' || strcmp(rest, "/") == 0;
    bool is_get = strcmp(x->method, "GET") == 0 || x->is_head;
    bool is_post = strcmp(x->method, "POST") == 0;
    if (is_all ? !is_get && !is_post : strcmp(x->method, "DELETE") != 0) {
        ash__answer_field(x, "Allow", is_all ? "GET, HEAD, POST" : "DELETE");
        ash__answer_text(x, 405, "%s is nothing that can be done here", x->method);
    } else if (x->op == NULL) {
        ash__answer_text(x, 404, "there are no users, and so no tokens");
    } else if (!ash__gate_owns_tokens(x)) {
        ash__answer_text(x, 403, "tokens are their user's, who signs in with the password");
    } else if (!is_all) {
        take_back(s, x, rest + 1);
    } else if (is_post) {
        begin_making(s, x);
    } else {
        list(s, x);
    }
}
