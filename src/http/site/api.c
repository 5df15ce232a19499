/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site/api.h"

#include "base/mem.h"
#include "http/gate/gate.h"
#include "http/gate/trace.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_BODY_BYTES = 64 * 1024 };

/* ---- parameters ---- */

char *ash__api_text(const ash_api_call *c, const char *name)
{
    bson_iter_t at;
    char *text = NULL;
    if (c->body == NULL) {
        ash__http_target_query(&c->x->target, name, &text);
        return text;
    }
    if (!bson_iter_init_find(&at, c->body, name) || !BSON_ITER_HOLDS_UTF8(&at))
        return NULL;
    /* No path and no name has a NUL in it. */
    uint32_t len;
    const char *value = bson_iter_utf8(&at, &len);
    return strlen(value) == len ? ash__strdup(value) : NULL;
}

int64_t ash__api_number(const ash_api_call *c, const char *name, int64_t otherwise)
{
    bson_iter_t at;
    char *end;
    if (c->body != NULL)
        return bson_iter_init_find(&at, c->body, name) && BSON_ITER_HOLDS_NUMBER(&at)
                   ? bson_iter_as_int64(&at)
                   : otherwise;
    char *text = ash__api_text(c, name);
    int64_t n = text != NULL ? strtoll(text, &end, 10) : otherwise;
    bool good = text == NULL || (end != text && *end == '\0');
    ash__free(text);
    return good ? n : otherwise;
}

bool ash__api_flag(const ash_api_call *c, const char *name)
{
    bson_iter_t at;
    if (c->body != NULL)
        return bson_iter_init_find(&at, c->body, name) && BSON_ITER_HOLDS_BOOL(&at) &&
               bson_iter_bool(&at);
    return ash__http_target_flag(&c->x->target, name);
}

/* ---- errors ---- */

void ash__api_refuse(ash_api_call *c, int status, const char *code, const char *format, ...)
{
    ash_buffer out = ASH_BUFFER_INIT;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ash__buffer_append_text(&out, "{\"error\":{");
    ash__json_add_text(&out, "code", code);
    ash__json_add_int(&out, "status", status);
    ash__json_add_text(&out, "text", text);
    ash__buffer_append_text(&out, "}}\n");
    ash__answer_body(c->x, status, "application/json", out.data, out.len);
    ash__buffer_release(&out);
}

/* Would a listing have shown the user what a change was refused for, or that nothing is there? */
static bool is_in_sight(ash_api_call *c)
{
    ash_dav *dav = c->mount->dav;
    ash_tree_entry *there = NULL, *above = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (ash__dav_allows(dav, c->x->op, c->path, ASH_TREE_READ))
        return true;
    int rc = ash__dav_lookup(dav, NULL, c->path, &there, &err);
    if (rc == 0 && there == NULL)
        rc = ash__dav_lookup_parent(dav, c->x->op, c->path, &above, &err);
    bool sees = rc == 0 && above != NULL;
    ash_tree_entry_free(there);
    ash_tree_entry_free(above);
    return sees;
}

/* What a user may not see is missing, by the same words, which would else say where it is. */
static bool fail_for_user(ash_api_call *c, const ash_error *err)
{
    if (c->x->op == NULL || c->path == NULL ||
        (err->code != ASH_EACCES && err->code != ASH_ENOTFOUND && err->code != ASH_EINVAL) ||
        (err->code == ASH_EINVAL && is_in_sight(c)))
        return false;
    if (err->code == ASH_EACCES && is_in_sight(c))
        ash__api_refuse(c, 403, "EACCES", "that is not allowed to this user");
    else
        ash__api_refuse(c, 404, "ENOTFOUND", "there is no %s, for this user", c->path);
    return true;
}

void ash__api_fail(ash_api_call *c, const ash_error *err)
{
    if (fail_for_user(c, err))
        return;
    int status = err->code == ASH_ELOST ? 423 : ash__status_of(err->code);
    ash__api_refuse(c, status, ash_error_name(err->code), "%s", err->text);
}

/* ---- entries ---- */

static void add_tags(ash_buffer *out, const ash_tree_entry *e)
{
    ash_doc doc = ash_tree_entry_document(e);
    bson_t view;
    bson_iter_t at, tag;
    if (doc.data == NULL || !bson_init_static(&view, doc.data, doc.len) ||
        !bson_iter_init_find(&at, &view, "tags") || !BSON_ITER_HOLDS_ARRAY(&at) ||
        !bson_iter_recurse(&at, &tag))
        return;
    ash__json_key(out, "tags");
    ash__buffer_append_byte(out, '[');
    while (bson_iter_next(&tag))
        if (BSON_ITER_HOLDS_UTF8(&tag)) {
            ash__json_comma(out);
            ash__json_string(out, bson_iter_utf8(&tag, NULL));
        }
    ash__buffer_append_byte(out, ']');
}

void ash__api_entry(ash_buffer *out, const ash_site_mount *m, const ash_tree_entry *e)
{
    const bson_value_t *id = ash_tree_entry_id(e);
    const char *path = ash_tree_entry_path(e);
    char hex[25];
    ash__json_comma(out);
    ash__buffer_append_byte(out, '{');
    ash__json_add_text(out, "name", ash_tree_entry_name(e));
    ash_buffer whole = ASH_BUFFER_INIT;
    ash__buffer_append_text(&whole, m->prefix);
    ash__buffer_append_text(&whole, path != NULL ? path : "");
    ash__json_add_text(out, "path", ash__buffer_text(&whole));
    ash__buffer_release(&whole);
    ash__json_add_bool(out, "folder", ash_tree_entry_is_folder(e));
    if (id->value_type == BSON_TYPE_OID) {
        bson_oid_to_string(&id->value.v_oid, hex);
        ash__json_add_text(out, "id", hex);
    }
    ash__json_add_int(out, "version", ash_tree_entry_version(e));
    if (!ash_tree_entry_is_folder(e)) {
        ash__json_add_int(out, "length", ash_tree_entry_length(e));
        ash__json_add_text(out, "digest", ash_tree_entry_digest(e));
        ash__json_add_text(out, "type", ash__dav_type(e));
    }
    ash__json_add_time(out, "created", ash_tree_entry_created_ms(e));
    ash__json_add_time(out, "modified", ash_tree_entry_modified_ms(e));
    ash__json_add_time(out, "changed", ash_tree_entry_changed_ms(e));
    if (ash_tree_entry_ended_ms(e) != 0)
        ash__json_add_time(out, "ended", ash_tree_entry_ended_ms(e));
    if (ash_tree_entry_is_deleted(e))
        ash__json_add_bool(out, "deleted", true);
    if (ash_tree_entry_changed_by(e) != NULL)
        ash__json_add_text(out, "changedBy", ash_tree_entry_changed_by(e));
    add_tags(out, e);
    ash__buffer_append_byte(out, '}');
}

/* ---- paths ---- */

static bool is_clean(const char *path)
{
    for (const char *at = path; *at == '/'; at += 1 + strcspn(at + 1, "/")) {
        size_t len = strcspn(at + 1, "/");
        if ((len == 1 && at[1] == '.') || (len == 2 && at[1] == '.' && at[2] == '.') ||
            (len == 0 && at[1] != '\0'))
            return false;
    }
    return path[0] == '/';
}

/* Without the '/' at the end that folders may have. */
static char *tidy(char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;
    if (len > 1 && path[len - 1] == '/')
        path[len - 1] = '\0';
    return path;
}

/* false: x is answered. */
static bool find_path(ash_api_call *c)
{
    c->url_path = tidy(ash__api_text(c, "path"));
    if (c->url_path != NULL)
        ash__trace_path(c->x, c->url_path, "");
    if (c->url_path == NULL || !is_clean(c->url_path))
        ash__api_refuse(c, 400, "EINVAL", "`path` is needed: \"/a/b\"");
    else if (ash__site_is_reserved(c->url_path))
        ash__api_refuse(c, 403, "EACCES", "what is below " ASH_SITE_RESERVED " is no tree's");
    else if (!ash__site_is_within(c->x, c->url_path))
        ash__api_refuse(c, 403, "EACCES", "this token is for another place");
    else if ((c->mount = ash__site_mount_of(c->site, c->url_path, &c->path)) == NULL)
        ash__api_refuse(c, 404, "ENOTFOUND", "no tree is at %.300s", c->url_path);
    return c->x->status == 0;
}

/* Of a user: whether the folder is missing, or may not be seen, is one answer.  false: x has it. */
static bool check_folder(ash_api_call *c, const char *path)
{
    ash_tree_entry *folder = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (c->x->op == NULL || ash__api_flag(c, "make_folders"))
        return true;
    int rc = ash__dav_lookup_parent(c->mount->dav, c->x->op, path, &folder, &err);
    bool there = folder != NULL;
    ash_tree_entry_free(folder);
    if (rc != 0)
        ash__api_fail(c, &err);
    else if (!there)
        ash__api_refuse(c, 404, "ENOTFOUND", "the folder that %s would lie in is not there", path);
    return c->x->status == 0;
}

char *ash__api_other_path(ash_api_call *c, const char *name)
{
    const char *in_tree = NULL;
    char *path = tidy(ash__api_text(c, name));
    char *found = NULL;
    ash__trace_text(c->x, name, path);
    if (path == NULL || !is_clean(path))
        ash__api_refuse(c, 400, "EINVAL", "`%s` is needed: \"/a/b\"", name);
    else if (ash__site_is_reserved(path))
        ash__api_refuse(c, 403, "EACCES", "what is below " ASH_SITE_RESERVED " is no tree's");
    else if (!ash__site_is_within(c->x, path))
        ash__api_refuse(c, 403, "EACCES", "this token is for another place");
    else if (ash__site_mount_of(c->site, path, &in_tree) != c->mount)
        ash__api_refuse(c, 400, "EINVAL", "%.300s is not of the same tree", path);
    else if (check_folder(c, in_tree))
        found = ash__strdup(in_tree);
    ash__free(path);
    return found;
}

/* ---- calls ---- */

static void run(ash_site *site, ash_exchange *x, const ash_api_verb *verb, const bson_t *body)
{
    ash_api_call c = {.site = site, .x = x, .body = body};
    if (ash__api_check(&c) && (!verb->needs_path || find_path(&c)))
        verb->run(&c);
    if (x->status == 0 && !x->is_put_off) {
        ash__buffer_append_byte(&c.out, '\n');
        ash__answer_field(x, "Cache-Control", "no-store");
        ash__answer_body(x, 200, "application/json", c.out.data, c.out.len);
    }
    ash__buffer_release(&c.out);
    ash__free(c.url_path);
}

typedef struct posting {
    ash_site *site;
    const ash_api_verb *verb;
    ash_buffer body;
} posting;

static void release(ash_exchange *x)
{
    posting *p = x->state;
    ash__buffer_release(&p->body);
    ash__free(p);
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    posting *p = x->state;
    ash_api_call c = {.x = x};
    if (p->body.len + len > MAX_BODY_BYTES)
        ash__api_refuse(&c, 413, "ETOOBIG", "the body has more than 64 KiB");
    else
        ash__buffer_append(&p->body, data, len);
}

static void finish(ash_exchange *x)
{
    posting *p = x->state;
    ash_api_call c = {.x = x};
    bson_error_t why = {0};
    const char *text = ash__buffer_text(&p->body);
    /* libbson takes arrays, too. */
    bool is_object = text[strspn(text, " \t\r\n")] == '{';
    bson_t *body = is_object ? bson_new_from_json(p->body.data, (ssize_t)p->body.len, &why) : NULL;
    if (body == NULL)
        ash__api_refuse(&c, 400, "EINVAL", "the body is no JSON object: %s", why.message);
    else
        run(p->site, x, p->verb, body);
    bson_destroy(body);
}

/* A form of another site could send text/plain; JSON it cannot send without being asked. */
static bool is_json(const ash_exchange *x)
{
    const char *type = ash__head_field(x->head, "Content-Type");
    return type != NULL && strncasecmp(type, "application/json", 16) == 0;
}

static void begin_post(ash_site *site, ash_exchange *x, const ash_api_verb *verb)
{
    ash_api_call c = {.x = x};
    if (!is_json(x)) {
        ash__api_refuse(&c, 415, "EINVAL", "the body has to be of the type application/json");
        return;
    }
    posting *p = ash__new(posting);
    p->site = site;
    p->verb = verb;
    x->state = p;
    x->release = release;
    x->take = take;
    x->finish = finish;
}

static const ash_api_verb *find(const char *name)
{
    static const ash_api_verb *const tables[] = {ash__api_reads, ash__api_changes, ash__api_shares};
    for (size_t i = 0; i < ASH_ARRAY_LEN(tables); i++)
        for (const ash_api_verb *v = tables[i]; v->name != NULL; v++)
            if (strcmp(v->name, name) == 0)
                return v;
    return NULL;
}

unsigned ash__site_api_kind(const char *name)
{
    const ash_api_verb *verb = find(name);
    if (verb == NULL)
        return 0;
    if (verb->need == ASH_SITE_NEEDS_SHARE || verb->need == ASH_SITE_NEEDS_UNSHARE)
        return ASH_AUDIT_USERS;
    return verb->is_post ? ASH_AUDIT_WRITES : ASH_AUDIT_READS;
}

static void name_call(ash_exchange *x, const ash_api_verb *verb)
{
    char *name = ash__sprintf("tree/%s", verb->name);
    ash__trace_command(x, name);
    ash__free(name);
}

void ash__site_api(ash_site *site, ash_exchange *x, const char *rest)
{
    ash_api_call c = {.x = x};
    const ash_api_verb *verb = rest[0] == '/' ? find(rest + 1) : NULL;
    bool is_post = strcmp(x->method, "POST") == 0;
    bool is_get = strcmp(x->method, "GET") == 0 || x->is_head;
    if (verb != NULL)
        name_call(x, verb);
    if (verb == NULL) {
        ash__api_refuse(&c, 404, "ENOTFOUND", "the API has no such call");
    } else if (verb->is_post ? !is_post : !is_get) {
        ash__answer_field(x, "Allow", verb->is_post ? "POST" : "GET, HEAD");
        ash__api_refuse(&c, 405, "EINVAL", "it is a %s", verb->is_post ? "POST" : "GET");
    } else if (ash__gate_within(x) != NULL && verb->reaches) {
        ash__api_refuse(&c, 403, "EACCES", "that is not done by a token for one place");
    } else if (!ash__site_may(site, x, verb->need)) {
        ash__api_refuse(&c, 403, "EACCES", "%s", ash__gate_why_not(x));
    } else if (verb->is_post) {
        begin_post(site, x, verb);
    } else {
        run(site, x, verb, NULL);
    }
}
