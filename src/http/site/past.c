/* SPDX-License-Identifier: Apache-2.0 */
/* What was, as folders that can be looked at and taken from: versions of files, what was deleted, a
 * tree as it was.  Nothing is written here; a MOVE or COPY out of them restores. */
#include "base/log.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/dav/bytes.h"
#include "http/dav/guard.h"
#include "http/dav/multistatus.h"
#include "http/dav/upload.h"
#include "http/dav/xml.h"
#include "http/json.h"
#include "http/site/state.h"

#include <stdlib.h>
#include <string.h>

typedef enum past_kind { VERSIONS, TRASH, AT } past_kind;
/* A listing: a name a line, as of the tree's folders; for browsers; for WebDAV's clients. */
typedef enum past_form { NAMES, HTML, MULTISTATUS } past_form;

typedef struct past {
    past_kind kind;
    const ash_site_mount *mount;
    const ash_op *op; /* who asks */
    char *url;        /* below the reserved name, as it came */
    char *path;
    int64_t at_ms;

    /* What stands there: a folder of this kind, or one version of a file. */
    bool is_folder;
    ash_tree_entry *entry;     /* the version; of a folder the entry, or NULL */
    ash_tree_listing *listing; /* what is in the folder */
    bool of_versions;          /* … are versions of entry */
    bool begun;
    past_form form;
} past;

static void release(ash_exchange *x)
{
    past *p = x->state;
    ash_tree_entry_free(p->entry);
    ash_tree_listing_free(p->listing);
    ash__free(p->url);
    ash__free(p->path);
    ash__free(p);
}

/* ---- names ---- */

static void id_text(const ash_tree_entry *e, char out[25])
{
    const bson_value_t *id = ash_tree_entry_id(e);
    out[0] = '\0';
    if (id->value_type == BSON_TYPE_OID)
        bson_oid_to_string(&id->value.v_oid, out);
}

/* What an entry is called in this folder; the caller frees. */
static char *name_of(const past *p, const ash_tree_entry *e)
{
    char id[25];
    if (p->of_versions)
        return ash__sprintf("v%d-%s", ash_tree_entry_version(e), ash_tree_entry_name(e));
    if (p->kind != TRASH)
        return ash__strdup(ash_tree_entry_name(e));
    id_text(e, id);
    return ash__sprintf("%s-%s", id, ash_tree_entry_name(e));
}

/* Files are folders of their versions. */
static bool looks_like_folder(const past *p, const ash_tree_entry *e)
{
    return ash_tree_entry_is_folder(e) || (p->kind == VERSIONS && !p->of_versions);
}

/* ---- what stands there ---- */

static int list(past *p, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    o.at_ms = p->at_ms;
    p->is_folder = true;
    return ash_tree_list(p->mount->tree, p->path, &o, p->op, &p->listing, err);
}

/* "v12-name" in the place of a file's version; 0: none. */
static int32_t version_of(const char *name)
{
    char *end;
    long n = name[0] == 'v' ? strtol(name + 1, &end, 10) : 0;
    return n > 0 && n < INT32_MAX && *end == '-' ? (int32_t)n : 0;
}

static int find_version(past *p, ash_error *err)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    char *slash = strrchr(p->path, '/');
    int32_t n = version_of(slash + 1);
    if (n == 0)
        return ash__fail(err, ASH_ENOTFOUND, "there is no %s", p->path);
    *slash = '\0';
    when.version = n;
    return ash_tree_get(p->mount->tree, p->path[0] == '\0' ? "/" : p->path, &when, p->op, &p->entry,
                        err);
}

static int find_in_versions(past *p, ash_error *err)
{
    if (ash__dav_lookup(p->mount->dav, p->op, p->path, &p->entry, err) != 0)
        return err->code;
    if (p->entry == NULL)
        return find_version(p, err);
    if (ash_tree_entry_is_folder(p->entry))
        return list(p, err);
    p->is_folder = p->of_versions = true;
    return ash_tree_history(p->mount->tree, p->path, 0, p->op, &p->listing, err);
}

static int find_in_trash(past *p, ash_error *err)
{
    char hex[25] = "";
    bson_value_t id = {.value_type = BSON_TYPE_OID};
    if (strcmp(p->path, "/") == 0) {
        p->is_folder = true;
        return ash_tree_trash(p->mount->tree, "/", 0, p->op, &p->listing, err);
    }
    if (strlen(p->path) > 25 && p->path[25] == '-')
        memcpy(hex, p->path + 1, 24);
    if (!bson_oid_is_valid(hex, strlen(hex)))
        return ash__fail(err, ASH_ENOTFOUND, "nothing of that name is in the trash");
    bson_oid_init_from_string(&id.value.v_oid, hex);
    int rc = ash_tree_get_by_id(p->mount->tree, &id, 0, p->op, &p->entry, err);
    /* An id is found wherever it lies. */
    if (rc == 0 && !ash_tree_entry_has_path(p->entry))
        rc = ash__fail(err, ASH_ENOTFOUND, "this tree's trash has no such entry");
    if (rc == 0 && !ash_tree_entry_is_deleted(p->entry))
        rc = ash__fail(err, ASH_ENOTFOUND, "it is not in the trash any more");
    /* Its content comes with it, and is not shown here. */
    p->is_folder = rc == 0 && ash_tree_entry_is_folder(p->entry);
    return rc;
}

static int find_at(past *p, ash_error *err)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    when.at_ms = p->at_ms;
    int rc = ash_tree_get(p->mount->tree, p->path, &when, p->op, &p->entry, err);
    return rc == 0 && ash_tree_entry_is_folder(p->entry) ? list(p, err) : rc;
}

/* ---- listings ---- */

static void add_prop(ash_buffer *out, const char *name, const char *text)
{
    ash__buffer_printf(out, "<D:%s>", name);
    ash__xml_text(out, text);
    ash__buffer_printf(out, "</D:%s>", name);
}

static void add_response(const past *p, ash_buffer *out, const char *name, const ash_tree_entry *e)
{
    bool folder = e == NULL || (name != NULL ? looks_like_folder(p, e) : p->is_folder);
    char text[ASH_ETAG_BYTES];
    ash__buffer_append_text(out, "<D:response><D:href>");
    ash__http_target_encode(out, p->url);
    if (name != NULL) {
        ash__buffer_append_text(out, out->data[out->len - 1] == '/' ? "" : "/");
        ash__http_target_encode(out, name);
    }
    ash__buffer_append_text(out, folder && out->data[out->len - 1] != '/' ? "/" : "");
    ash__buffer_append_text(out, "</D:href><D:propstat><D:prop>");
    ash__buffer_append_text(out, folder ? "<D:resourcetype><D:collection/></D:resourcetype>"
                                        : "<D:resourcetype/>");
    add_prop(out, "displayname", name != NULL ? name : strrchr(p->url, '/') + 1);
    if (e != NULL) {
        ash__date_http(text, p->of_versions ? ash_tree_entry_changed_ms(e)
                                            : ash_tree_entry_modified_ms(e));
        add_prop(out, "getlastmodified", text);
    }
    if (!folder) {
        ash__buffer_printf(out, "<D:getcontentlength>%lld</D:getcontentlength>",
                           (long long)ash_tree_entry_length(e));
        add_prop(out, "getcontenttype", ash__dav_type(e));
        ash__dav_etag(e, text);
        ash__buffer_printf(out, "<D:getetag>%s</D:getetag>", text);
    }
    ash__buffer_append_text(
        out, "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>");
}

static void add_line(const past *p, ash_buffer *out, const char *name, const ash_tree_entry *e)
{
    char date[ASH_DATE_BYTES];
    bool folder = looks_like_folder(p, e);
    ash__date_iso(date,
                  p->of_versions ? ash_tree_entry_changed_ms(e) : ash_tree_entry_modified_ms(e));
    /* Without "./", what stands before a ':' would be taken for a scheme. */
    ash__buffer_append_text(out, "<tr><td><a href=\"./");
    ash__http_target_encode(out, name);
    ash__buffer_append_text(out, folder ? "/\"><bdi>" : "\"><bdi>");
    ash__html_text(out, name);
    ash__buffer_printf(out, "%s</bdi></a></td><td class=\"n\">", folder ? "/" : "");
    if (!folder)
        ash__buffer_printf(out, "%lld", (long long)ash_tree_entry_length(e));
    ash__buffer_printf(out, "</td><td><time datetime=\"%s\">%.10s %.5s</time></td></tr>\n", date,
                       date, date + 11);
}

static void begin_listing(past *p, ash_buffer *out)
{
    if (p->form == MULTISTATUS) {
        ash__buffer_append_text(out, ASH_DAV_MULTISTATUS_BEGIN);
        add_response(p, out, NULL, p->entry);
    }
    if (p->form != HTML)
        return;
    ash__buffer_append_text(
        out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    ash__html_text(out, p->url);
    ash__buffer_append_text(
        out, "</title><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
             "<link rel=\"stylesheet\" href=\"");
    ash__site_asset_href(out, "page.css");
    ash__buffer_append_text(out, "\"></head><body><nav aria-label=\"Path\"><a href=\"");
    ash__http_target_encode(out, p->mount->prefix);
    ash__buffer_append_text(out, "/\">Files</a></nav><main><h1>");
    ash__html_text(out, p->url);
    ash__buffer_append_text(out, "</h1><table><tbody>\n");
}

static void add_one(const past *p, ash_buffer *out, const ash_tree_entry *e)
{
    char *name = name_of(p, e);
    if (p->form == NAMES)
        ash__dav_add_line(out, name, looks_like_folder(p, e));
    else if (p->form == HTML)
        add_line(p, out, name, e);
    else
        add_response(p, out, name, e);
    ash__free(name);
}

static int more(ash_exchange *x, ash_buffer *out)
{
    static const char *const ends[] = {
        [NAMES] = "",
        [HTML] = "</tbody></table></main></body></html>\n",
        [MULTISTATUS] = ASH_DAV_MULTISTATUS_END,
    };
    past *p = x->state;
    const ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (!p->begun)
        begin_listing(p, out);
    p->begun = true;
    while (p->listing != NULL && out->len < ASH_PIECE_BYTES) {
        int rc = ash_tree_listing_next(p->listing, &e, &err);
        if (rc == ASH_ECORRUPT)
            continue;
        if (rc != 0) {
            ash__log(ASH_LOG_ERROR, "%s: %s", p->url, err.text);
            return rc;
        }
        if (e == NULL)
            break;
        /* A deletion is a version without bytes. */
        if (p->of_versions && ash_tree_entry_is_deleted(e))
            continue;
        add_one(p, out, e);
    }
    if (p->listing != NULL && e != NULL)
        return ASH_MORE_TO_COME;
    ash__buffer_append_text(out, ends[p->form]);
    return ASH_MORE_LAST;
}

static void answer_listing(past *p, ash_exchange *x, past_form form, int depth)
{
    static const char *const types[] = {[NAMES] = "text/plain; charset=utf-8",
                                        [HTML] = "text/html; charset=utf-8",
                                        [MULTISTATUS] = ASH_DAV_XML_TYPE};
    p->form = form;
    if (depth == 0) {
        ash_tree_listing_free(p->listing);
        p->listing = NULL;
    }
    x->more = more;
    if (form == HTML)
        ash__site_page_fields(x);
    ash__answer_stream(x, form == MULTISTATUS ? 207 : 200, types[form], -1);
}

static void answer_get(past *p, ash_exchange *x)
{
    if (p->is_folder && !x->target.is_folder) {
        ash__site_redirect_to_folder(x);
        return;
    }
    if (p->is_folder) {
        answer_listing(p, x, ash__site_wants_page(x) ? HTML : NAMES, 1);
        return;
    }
    ash_tree_entry *e = p->entry;
    ash_dav *dav = p->mount->dav;
    p->entry = NULL;
    release(x);
    x->state = NULL;
    x->release = NULL;
    ash__dav_send_file(x, dav, e);
}

/* ---- restoring ---- */

static int restore(const past *p, const char *to, const ash_dav_guard *g, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree *tree = p->mount->tree;
    o.fence = g->fence;
    if (p->kind == TRASH)
        return ash_tree_undelete(tree, ash_tree_entry_id(p->entry), to, &o, p->op, NULL, err);
    o.replace = true;
    o.recursive = true;
    when.at_ms = p->at_ms;
    if (p->kind == VERSIONS) {
        when.version = ash_tree_entry_version(p->entry);
        if (strcmp(p->path, to) == 0)
            return ash_tree_restore(tree, to, when.version, &o, p->op, NULL, err);
    }
    return ash_tree_copy(tree, p->path, &when, to, &o, p->op, NULL, err);
}

static void answer_restore(past *p, ash_exchange *x)
{
    ash_dav_guard g = {0};
    ash_error err = ASH_ERROR_INIT;
    char *to = NULL;
    bool is_folder;
    const char *overwrite = ash__head_field(x->head, "Overwrite");
    int status = ash__dav_destination(p->mount->dav, x, &to, &is_folder);
    if (p->entry == NULL || (p->is_folder && p->kind == VERSIONS))
        ash__answer_text(x, 403, "a folder of versions is not one thing that could be restored");
    else if (status != 0)
        ash__answer_text(x, status,
                         "the Destination is missing, is none, or is not in the same tree");
    else if (ash__dav_guard(p->mount->dav, x, to, ASH_GUARD_BYTES | ASH_GUARD_NAME, &g)) {
        if (g.entry != NULL &&
            (p->kind == TRASH || (overwrite != NULL && strcmp(overwrite, "F") == 0)))
            ash__answer_text(x, 412, "%s is there already", to);
        else if (restore(p, to, &g, &err) != 0)
            ash__dav_answer_change(x, &err);
        else
            ash__answer_empty(x, g.entry != NULL ? 204 : 201);
    }
    ash__dav_guard_release(&g);
    ash__free(to);
}

/* ---- requests ---- */

static void answer(past *p, ash_exchange *x)
{
    const char *m = x->method;
    int depth = ash__dav_depth(x, -1);
    if (strcmp(m, "GET") == 0 || x->is_head)
        answer_get(p, x);
    else if (strcmp(m, "PROPFIND") == 0 && (depth == 0 || depth == 1))
        answer_listing(p, x, MULTISTATUS, depth);
    else if (strcmp(m, "PROPFIND") == 0)
        ash__dav_answer_condition(x, 403, "propfind-finite-depth", NULL);
    else if (strcmp(m, "COPY") == 0 || strcmp(m, "MOVE") == 0)
        answer_restore(p, x);
    else if (strcmp(m, "OPTIONS") == 0) {
        ash__answer_field(x, "Allow", "OPTIONS, GET, HEAD, PROPFIND, COPY, MOVE");
        ash__answer_field(x, "DAV", "1");
        ash__answer_empty(x, 204);
    } else {
        ash__answer_field(x, "Allow", "OPTIONS, GET, HEAD, PROPFIND, COPY, MOVE");
        ash__answer_text(x, 403, "what was is not changed");
    }
}

static void begin(ash_site *s, ash_exchange *x, past_kind kind, const char *rest, int64_t at_ms)
{
    static int (*const find[])(past * p, ash_error * err) = {find_in_versions, find_in_trash,
                                                             find_at};
    const char *path = NULL;
    ash_error err = ASH_ERROR_INIT;
    const ash_site_mount *m = ash__site_mount_of(s, rest[0] == '\0' ? "/" : rest, &path);
    if (m == NULL) {
        ash__answer_text(x, 404, "no tree is there");
        return;
    }
    if (ash__site_leaves_tree(s, m, x))
        return;
    past *p = ash__new(past);
    *p = (past){.kind = kind,
                .mount = m,
                .op = x->op,
                .url = ash__strdup(x->target.path),
                .path = ash__strdup(path),
                .at_ms = at_ms};
    x->state = p;
    x->release = release;
    if (find[kind](p, &err) != 0)
        ash__site_answer_look(x, path, &err);
    else
        answer(p, x);
}

void ash__site_versions(ash_site *s, ash_exchange *x, const char *rest)
{
    begin(s, x, VERSIONS, rest, 0);
}

void ash__site_trash(ash_site *s, ash_exchange *x, const char *rest)
{
    begin(s, x, TRASH, rest, 0);
}

/* "/2026-01-31T12:00:00Z/PATH" */
void ash__site_at(ash_site *s, ash_exchange *x, const char *rest)
{
    size_t len = strcspn(rest + (rest[0] == '/'), "/");
    char *when = ash__strndup(rest + (rest[0] == '/'), len);
    int64_t ms;
    bool good = ash__date_parse_iso(when, &ms);
    ash__free(when);
    if (good)
        begin(s, x, AT, rest + 1 + len, ms);
    else
        ash__answer_text(x, 404, "what follows is a time such as 2026-01-31T12:00:00Z, and a path");
}
