/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include <stdio.h>
#include <string.h>

int hosted_setup(void **state)
{
    static const ash_site_mount_options mounts[] = {{"", "/"}, {"/docs", "papers"}};
    static const char *const hosts[] = {"files.example"};
    hosted *h = ash__new(hosted);
    ash_site_options o = ASH_SITE_OPTIONS_INIT;
    void *f = NULL;
    if (support_setup(&f) != 0)
        return -1;
    h->f = f;
    o.mounts = mounts;
    o.mount_count = ASH_ARRAY_LEN(mounts);
    o.hosts = hosts;
    o.host_count = ASH_ARRAY_LEN(hosts);
    o.version = "1.2.3";
    assert_ok(ash__site_new(h->f->store, &o, &h->site, &h->f->err), &h->f->err);
    *state = h;
    return 0;
}

int hosted_teardown(void **state)
{
    hosted *h = *state;
    void *f = h->f;
    ash__site_free(h->site);
    ash__free(h);
    return support_teardown(&f);
}

visit *hosted_ask(hosted *h, const char *line, const char *fields, const char *body)
{
    return visit_ask(ash__site_service(), h->site, line, fields, body);
}

void hosted_expect(hosted *h, const char *line, const char *fields, const char *body, int status)
{
    visit *v = hosted_ask(h, line, fields, body);
    visit_expect(v, status);
    visit_free(v);
}

visit *hosted_browse(hosted *h, const char *target, int status)
{
    char *line = ash__sprintf("GET %s", target);
    visit *v = hosted_ask(h, line, "Accept: text/html,application/xhtml+xml,*/*;q=0.8\n", NULL);
    visit_expect(v, status);
    ash__free(line);
    return v;
}

bson_t *hosted_call(hosted *h, const char *call, const char *body, int status)
{
    char *line = ash__sprintf("%s /.ashlar/tree/%s", body != NULL ? "POST" : "GET", call);
    bson_error_t why = {0};
    visit *v = hosted_ask(h, line, body != NULL ? "Content-Type: application/json\n" : NULL, body);
    visit_expect(v, status);
    visit_expect_field(v, "Content-Type", "application/json");
    bson_t *answer = bson_new_from_json(v->body.data, (ssize_t)v->body.len, &why);
    if (answer == NULL)
        fail_msg("%s: %s: %.*s", line, why.message, (int)v->body.len, (const char *)v->body.data);
    visit_free(v);
    ash__free(line);
    return answer;
}

const char *hosted_member(const bson_t *answer, const char *path)
{
    static char text[256];
    bson_iter_t top, at;
    text[0] = '\0';
    if (!bson_iter_init(&top, answer) || !bson_iter_find_descendant(&top, path, &at))
        return text;
    if (BSON_ITER_HOLDS_UTF8(&at))
        snprintf(text, sizeof text, "%s", bson_iter_utf8(&at, NULL));
    else if (BSON_ITER_HOLDS_BOOL(&at))
        snprintf(text, sizeof text, "%s", bson_iter_bool(&at) ? "true" : "false");
    else if (BSON_ITER_HOLDS_NUMBER(&at))
        snprintf(text, sizeof text, "%lld", (long long)bson_iter_as_int64(&at));
    return text;
}

void hosted_expect_entries(hosted *h, const char *call, const char *field, const char *values)
{
    bson_t *answer = hosted_call(h, call, NULL, 200);
    ash_buffer got = ASH_BUFFER_INIT;
    bson_iter_t at, entry, member;
    assert_true(bson_iter_init_find(&at, answer, "entries") && bson_iter_recurse(&at, &entry));
    while (bson_iter_next(&entry)) {
        assert_true(bson_iter_recurse(&entry, &member) && bson_iter_find(&member, field));
        if (got.len > 0)
            ash__buffer_append_byte(&got, ' ');
        ash__buffer_append_text(&got, bson_iter_utf8(&member, NULL));
    }
    assert_string_equal(ash__buffer_text(&got), values);
    ash__buffer_release(&got);
    bson_destroy(answer);
}
