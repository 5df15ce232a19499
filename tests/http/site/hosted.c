/* SPDX-License-Identifier: Apache-2.0 */
#include "hosted.h"

#include "base/base64.h"

#include <stdio.h>
#include <string.h>

struct ash_audit *hosted_audit;

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
    assert_ok(ash__users_init(&h->users, h->f->store, &h->f->err), &h->f->err);
    assert_ok(ash__gate_new(h->f->store, &(ash_gate_options){.audit = hosted_audit}, &h->gate,
                            &h->f->err),
              &h->f->err);
    o.gate = h->gate;
    assert_ok(ash__site_new(h->f->store, &o, &h->site, &h->f->err), &h->f->err);
    *state = h;
    return 0;
}

int hosted_teardown(void **state)
{
    hosted *h = *state;
    void *f = h->f;
    ash__site_free(h->site);
    ash__gate_free(h->gate);
    ash__users_release(&h->users);
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

/* ---- users ---- */

/* Each "$" as the store's default database. */
static char *with_database(hosted *h, const char *roles)
{
    ash_buffer out = ASH_BUFFER_INIT;
    for (const char *at = roles; *at != '\0'; at++)
        if (*at == '$')
            ash__buffer_append_text(&out, ash_store_default_db(h->f->store));
        else
            ash__buffer_append_byte(&out, (uint8_t)*at);
    char *text = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    return text;
}

static void change_user(hosted *h, const char *name, const char *password, const char *roles,
                        int (*change)(ash_users *u, const ash_user_id *id,
                                      const ash_user_change *change, ash_error *err))
{
    char user[64];
    const char *at = strchr(name, '@');
    bson_error_t why;
    char *json = roles != NULL ? with_database(h, roles) : NULL;
    bson_t *list = json != NULL ? bson_new_from_json((const uint8_t *)json, -1, &why) : NULL;
    assert_true(json == NULL || list != NULL);
    ash__free(json);
    ash_doc doc = list != NULL ? ash__doc_from_bson(list) : ash__doc_empty;
    ash_user_change c = {.password = password, .roles = list != NULL ? &doc : NULL};
    snprintf(user, sizeof user, "%.*s", at != NULL ? (int)(at - name) : 60, name);
    ash_user_id id = {&ash__user_kind, user, at != NULL ? at + 1 : "admin"};
    assert_ok(change(&h->users, &id, &c, &h->f->err), &h->f->err);
    ash__users_changed();
    bson_destroy(list);
}

void hosted_add_user(hosted *h, const char *name, const char *password, const char *roles)
{
    change_user(h, name, password, roles, ash__user_create);
}

void hosted_change_user(hosted *h, const char *name, const char *password, const char *roles)
{
    change_user(h, name, password, roles, ash__user_update);
}

void hosted_remove_user(hosted *h, const char *name)
{
    ash_user_id id = {&ash__user_kind, name, "admin"};
    assert_ok(ash__user_drop(&h->users, &id, &h->f->err), &h->f->err);
    ash__users_changed();
}

visit *hosted_ask_as(hosted *h, const char *who, const char *line, const char *fields,
                     const char *body)
{
    ash_buffer all = ASH_BUFFER_INIT;
    char *base64 = who != NULL ? ash__base64_write(who, strlen(who)) : NULL;
    if (base64 != NULL)
        ash__buffer_printf(&all, "Authorization: Basic %s\n", base64);
    ash__buffer_append_text(&all, fields != NULL ? fields : "");
    visit *v = hosted_ask(h, line, ash__buffer_text(&all), body);
    ash__buffer_release(&all);
    ash__free(base64);
    return v;
}

void hosted_expect_as(hosted *h, const char *who, const char *line, const char *body, int status)
{
    visit *v = hosted_ask_as(h, who, line, NULL, body);
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
