/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include <stdio.h>
#include <string.h>

static void begin(ash_exchange *x)
{
    ash__dav_begin(x->service, x, x->target.path);
}

static const ash_http_service service = {begin};

int share_setup(void **state)
{
    share *s = ash__new(share);
    void *f = NULL;
    if (support_setup(&f) != 0)
        return -1;
    s->f = f;
    assert_ok(ash__dav_new(s->f->store, s->f->tree, "", &s->dav, &s->f->err), &s->f->err);
    *state = s;
    return 0;
}

int share_teardown(void **state)
{
    share *s = *state;
    void *f = s->f;
    ash__dav_free(s->dav);
    ash__free(s);
    return support_teardown(&f);
}

visit *share_ask(share *s, const char *line, const char *fields, const char *body)
{
    return visit_ask(&service, s->dav, line, fields, body);
}

visit *share_start(share *s, const char *line, const char *fields, int64_t body_length)
{
    return visit_start(&service, s->dav, line, fields, body_length);
}

void share_expect(share *s, const char *line, const char *fields, const char *body, int status)
{
    visit *v = share_ask(s, line, fields, body);
    visit_expect(v, status);
    visit_free(v);
}

char *share_etag(share *s, const char *path)
{
    char *line = ash__sprintf("HEAD %s", path);
    visit *v = share_ask(s, line, NULL, NULL);
    visit_expect(v, 200);
    char *etag = ash__strdup(visit_field(v, "ETag"));
    visit_free(v);
    ash__free(line);
    return etag;
}

share_key share_lock(share *s, const char *path, const char *fields, const char *body, int status)
{
    share_key k = {0};
    char *line = ash__sprintf("LOCK %s", path);
    visit *v = share_ask(s, line, fields, body);
    visit_expect(v, status);
    const char *token = visit_field(v, "Lock-Token");
    if (token != NULL) {
        assert_int_equal(token[0], '<');
        snprintf(k.token, sizeof k.token, "%.*s", (int)strlen(token) - 2, token + 1);
        snprintf(k.field, sizeof k.field, "If: (<%s>)\n", k.token);
        snprintf(k.unlock, sizeof k.unlock, "Lock-Token: <%s>\n", k.token);
    }
    visit_free(v);
    ash__free(line);
    return k;
}
