/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers what: trees by their prefixes, and the reserved name. */
#include "http/site/site.h"

#include "base/mem.h"
#include "http/gate/gate.h"
#include "http/gate/trace.h"
#include "http/site/state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An upload is in memory in part: smaller pieces than the tree's own, since there may be many. */
enum { PIECE_BYTES = 8 * 1024 * 1024 };

/* ---- making ---- */

bool ash__site_is_reserved(const char *path)
{
    size_t len = strlen(ASH_SITE_RESERVED);
    return strncmp(path, ASH_SITE_RESERVED, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool ash__site_is_good_prefix(const char *prefix)
{
    size_t len = strlen(prefix);
    return len == 0 || (prefix[0] == '/' && prefix[len - 1] != '/' && len < 256 &&
                        strpbrk(prefix, "?#%\\\"<>") == NULL && strstr(prefix, "//") == NULL &&
                        !ash__site_is_reserved(prefix));
}

static int open_mount(ash_site *s, const ash_site_mount_options *o, ash_error *err)
{
    ash_site_mount *m = &s->mounts[s->mount_count++];
    ash_tree_options t = ASH_TREE_OPTIONS_INIT;
    if (!ash__site_is_good_prefix(o->prefix))
        return ash__fail(
            err, ASH_EINVAL,
            "\"%.100s\" is no prefix: it is \"\" or \"/NAME\", without a '/' at its end",
            o->prefix);
    for (size_t i = 0; i + 1 < s->mount_count; i++)
        if (strcmp(s->mounts[i].prefix, o->prefix) == 0)
            return ash__fail(err, ASH_EINVAL, "two trees are to be at \"%s/\"", o->prefix);
    t.piece_bytes = PIECE_BYTES;
    m->prefix = ash__strdup(o->prefix);
    m->root = ash__strdup(o->root);
    int rc = ash_tree_open(s->store, o->root, &t, &m->tree, err);
    return rc == 0 ? ash__dav_new(s->store, m->tree, o->prefix, &m->dav, err) : rc;
}

/* One that could not be made comes last. */
static int longest_first(const void *a, const void *b)
{
    const char *p = ((const ash_site_mount *)a)->prefix, *q = ((const ash_site_mount *)b)->prefix;
    size_t x = p != NULL ? strlen(p) : 0, y = q != NULL ? strlen(q) : 0;
    return (x < y) - (x > y);
}

int ash__site_new(ash_store *store, const ash_site_options *opts, ash_site **out, ash_error *err)
{
    ash_site *s = ash__new(ash_site);
    int rc =
        opts->mount_count > ASH_SITE_MAX_MOUNTS
            ? ash__fail(err, ASH_EINVAL, "at most %d trees are shown", (int)ASH_SITE_MAX_MOUNTS)
            : 0;
    s->store = store;
    s->gate = opts->gate;
    s->annexes = opts->annexes;
    s->version = ash__strdup(opts->version != NULL ? opts->version : "");
    s->hosts = ash__alloc_array(opts->host_count + 1, sizeof *s->hosts);
    for (size_t i = 0; i < opts->host_count; i++)
        s->hosts[s->host_count++] = ash__strdup(opts->hosts[i]);
    for (size_t i = 0; i < opts->mount_count && rc == 0; i++)
        rc = open_mount(s, &opts->mounts[i], err);
    qsort(s->mounts, s->mount_count, sizeof *s->mounts, longest_first);
    if (rc == 0)
        rc = ash__site_parts_new(s, err);
    if (rc != 0) {
        ash__site_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ash__site_free(ash_site *s)
{
    if (s == NULL)
        return;
    ash__site_parts_free(s);
    for (size_t i = 0; i < s->mount_count; i++) {
        ash__dav_free(s->mounts[i].dav);
        ash_tree_close(s->mounts[i].tree);
        ash__free(s->mounts[i].prefix);
        ash__free(s->mounts[i].root);
    }
    for (size_t i = 0; i < s->host_count; i++)
        ash__free(s->hosts[i]);
    ash__free(s->hosts);
    ash__free(s->version);
    ash__free(s);
}

void ash__site_watch_server(ash_site *site, const ash_http_server *server)
{
    atomic_store(&site->server, server);
}

const ash_site_mount *ash__site_mount_of(const ash_site *site, const char *path,
                                         const char **in_tree)
{
    for (size_t i = 0; i < site->mount_count; i++) {
        const ash_site_mount *m = &site->mounts[i];
        size_t len = strlen(m->prefix);
        if (strncmp(path, m->prefix, len) == 0 && (path[len] == '/' || path[len] == '\0')) {
            *in_tree = path[len] == '\0' ? "/" : path + len;
            return m;
        }
    }
    return NULL;
}

/* ---- below the reserved name ---- */

static void begin_part(ash_site *s, ash_exchange *x, const ash_site_part *p, const char *rest)
{
    if (ash__site_refuse_need(s, x, p->need))
        return;
    if (p->need == ASH_SITE_NEEDS_NOTHING) {
        x->op = NULL;
        x->admits = NULL;
    }
    p->begin(s, x, rest);
}

static void begin_reserved(ash_site *s, ash_exchange *x, const ash_site_place *place)
{
    if (place->part != NULL)
        begin_part(s, x, place->part, place->rest);
    else if (ash__site_refuse_need(s, x, ASH_SITE_NEEDS_NAME))
        return;
    else if (place->annex != NULL)
        place->annex->begin(place->annex->ctx, x, place->rest);
    else
        ash__answer_text(x, 404, "nothing of that name is below " ASH_SITE_RESERVED "/");
}

/* ---- trees ---- */

static bool is_reading(const ash_exchange *x)
{
    return strcmp(x->method, "GET") == 0 || x->is_head;
}

bool ash__site_wants_page(const ash_exchange *x)
{
    return ash__head_has_word(x->head, "Accept", "text/html");
}

static int look(const ash_site_mount *m, const ash_op *op, const char *path, bool *there,
                bool *is_folder, ash_error *err)
{
    ash_tree_entry *e = NULL;
    int rc = ash__dav_lookup(m->dav, op, path, &e, err);
    *there = e != NULL;
    *is_folder = e != NULL && ash_tree_entry_is_folder(e);
    ash_tree_entry_free(e);
    return rc;
}

void ash__site_answer_look(ash_exchange *x, const char *path, const ash_error *err)
{
    if (x->op != NULL &&
        (err->code == ASH_EACCES || err->code == ASH_ENOTFOUND || err->code == ASH_EINVAL))
        ash__answer_text(x, 404, "there is no %s", path);
    else
        ash__answer_error(x, err);
}

void ash__site_redirect_to_folder(ash_exchange *x)
{
    ash_buffer to = ASH_BUFFER_INIT;
    ash__http_target_encode(&to, x->target.path);
    ash__buffer_append_byte(&to, '/');
    if (x->target.query != NULL)
        ash__buffer_printf(&to, "?%s", x->target.query);
    ash__answer_field(x, "Location", "%s", ash__buffer_text(&to));
    ash__answer_empty(x, 301);
    ash__buffer_release(&to);
}

/* /health and /metrics, where people look for them; false: it is neither. */
static bool answer_operators(ash_site *s, ash_exchange *x)
{
    if (strcmp(x->target.path, "/health") == 0)
        ash__site_health(s, x, "");
    else if (strcmp(x->target.path, "/metrics") == 0 &&
             !ash__site_refuse_need(s, x, ASH_SITE_NEEDS_MONITOR))
        ash__site_metrics(s, x, "");
    /* Who looks after the server asks often, and reads nobody's files. */
    if (x->status != 0)
        ash__trace_kind(x, 0);
    return x->status != 0;
}

/* What WebDAV would answer otherwise than people need it; false: nothing is answered. */
static bool answer_people(ash_site *s, const ash_site_mount *m, ash_exchange *x, const char *path)
{
    ash_error err = ASH_ERROR_INIT;
    bool there, is_folder;
    if (look(m, x->op, path, &there, &is_folder, &err) != 0)
        ash__answer_error(x, &err);
    else if (!there && answer_operators(s, x))
        return true;
    else if (is_folder && ash__site_wants_page(x) && !x->target.is_folder)
        ash__site_redirect_to_folder(x);
    else if (ash__site_wants_page(x) && (is_folder || !there))
        ash__site_page(s, m, x, path);
    return x->status != 0;
}

bool ash__site_leaves_tree(const ash_site *s, const ash_site_mount *m, ash_exchange *x)
{
    const char *field = ash__head_field(x->head, "Destination"), *why, *in_tree;
    ash_http_target to = {0};
    bool other = field != NULL && ash__http_target_parse(field, &to, NULL, &why) &&
                 to.path != NULL && !ash__site_is_reserved(to.path) &&
                 ash__site_mount_of(s, to.path, &in_tree) != m;
    ash__http_target_release(&to);
    if (other)
        ash__answer_text(x, 502, "the Destination is in another tree");
    return other;
}

/* Who may not look into the tree gets to the server's state, whatever lies there. */
static bool answer_watchers(ash_site *s, ash_exchange *x)
{
    return is_reading(x) && !ash__site_may(s, x, ASH_SITE_NEEDS_LOOK) && answer_operators(s, x);
}

static void begin_tree(ash_site *s, const ash_site_mount *m, ash_exchange *x, const char *path)
{
    if (answer_watchers(s, x) || ash__site_refuse_need(s, x, ASH_SITE_NEEDS_BY_METHOD))
        return;
    if (is_reading(x) &&
        (ash__site_wants_page(x) || strcmp(path, "/health") == 0 ||
         strcmp(path, "/metrics") == 0) &&
        answer_people(s, m, x, path))
        return;
    if (!ash__site_leaves_tree(s, m, x))
        ash__dav_begin(m->dav, x, path);
}

static void begin_nowhere(ash_site *s, ash_exchange *x, const char *path)
{
    if (is_reading(x) && answer_operators(s, x))
        return;
    if (ash__site_refuse_need(s, x, ASH_SITE_NEEDS_NAME))
        return;
    if (strcmp(x->method, "OPTIONS") == 0)
        ash__dav_options(NULL, x, path);
    else if (strcmp(path, "/") == 0 && s->mount_count > 1 && is_reading(x)) {
        ash__site_roots(s, x);
    } else if (strcmp(path, "/") == 0 && s->mount_count == 1) {
        ash_buffer to = ASH_BUFFER_INIT;
        ash__http_target_encode(&to, s->mounts[0].prefix);
        ash__answer_field(x, "Location", "%s/", ash__buffer_text(&to));
        ash__answer_empty(x, 302);
        ash__buffer_release(&to);
    } else
        ash__answer_text(x, 404, "no tree is at %s", path);
}

/* "*": the server as a whole. */
static void begin_star(ash_site *s, ash_exchange *x)
{
    if (ash__site_refuse_need(s, x, ASH_SITE_NEEDS_NAME))
        return;
    if (strcmp(x->method, "OPTIONS") == 0) {
        ash__dav_options(NULL, x, "*");
        return;
    }
    ash__answer_field(x, "Allow", "OPTIONS");
    ash__answer_text(x, 405, "\"*\" is for OPTIONS alone");
}

static bool admits(ash_exchange *x)
{
    const ash_site *s = x->service;
    return ash__gate_admits_still(s->gate, x);
}

/* It is answered, or put off.  Who is refused and was known is told of. */
static bool refuse_at_the_door(ash_site *s, ash_exchange *x, const ash_site_place *place)
{
    if (ash__site_refuse_stranger(s, x)) {
        if (ash__gate_recognize(s->gate, x)) {
            (void)ash__site_trace(s, x, place);
            ash__trace_text(x, "origin", ash__head_field(x->head, "Origin"));
        }
        return true;
    }
    if (ash__gate_enter(s->gate, x))
        return false;
    if (x->status == 429)
        (void)ash__site_trace(s, x, place);
    return true;
}

static void begin(ash_exchange *x)
{
    ash_site *s = x->service;
    const char *path = x->target.path, *in_tree = NULL;
    ash_site_place place = {0};
    bool reserved = path != NULL && ash__site_is_reserved(path);
    if (reserved)
        place = ash__site_place_of(s, path + strlen(ASH_SITE_RESERVED));
    const ash_site_place *asked = reserved ? &place : NULL;
    if (refuse_at_the_door(s, x, asked) || ash__site_trace(s, x, asked) ||
        ash__site_refuse_outside(x))
        return;
    x->admits = admits;
    if (path == NULL) {
        begin_star(s, x);
        return;
    }
    if (reserved) {
        begin_reserved(s, x, &place);
        return;
    }
    const ash_site_mount *m = ash__site_mount_of(s, path, &in_tree);
    if (m == NULL)
        begin_nowhere(s, x, path);
    else
        begin_tree(s, m, x, in_tree);
}

const ash_http_service *ash__site_service(void)
{
    static const ash_http_service service = {begin};
    return &service;
}
