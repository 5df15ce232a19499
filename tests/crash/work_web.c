/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as a work with a twin, through a server of HTTP: what its answers promise.  Each thread is a
 * client, with a tree of its own. */
#include "twin.h"

#include "base/error.h"
#include "base/mem.h"
#include "steps.h"
#include "tree_steps.h"
#include "web_door.h"

#include <stdio.h>
#include <string.h>

struct share {
    tree_worker own; /* looks at what is there */
    ash_site *site;
};

int share_open(ash_store *store, uint64_t seed, uint32_t thread, share **out, ash_error *err)
{
    share *s = *out = ash__new(share);
    char root[16];
    snprintf(root, sizeof root, "root%u", (unsigned)thread);
    int rc = tree_worker_open(&s->own, store, seed, thread, err);
    return rc == 0 ? web_door_open(store, root, &s->site, err) : rc;
}

void share_close(share *s)
{
    if (s == NULL)
        return;
    if (s->site != NULL)
        ash__site_free(s->site);
    tree_worker_close(&s->own);
    ash__free(s);
}

uint32_t share_thread(const share *s)
{
    return s->own.thread;
}

/* ---- steps ---- */

enum kind { PUT, PATCH, MKCOL, COPY, MOVE, DELETE, PROPPATCH, LOCK, UNLOCK, UPLOAD, KINDS };
static const char *const kind_names[KINDS] = {"PUT",    "PATCH",     "MKCOL", "COPY",   "MOVE",
                                              "DELETE", "PROPPATCH", "LOCK",  "UNLOCK", "upload"};
/* Of a hundred steps. */
static const uint32_t shares[KINDS] = {28, 8, 12, 10, 10, 8, 8, 6, 4, 6};

static const char *const paths[] = {"/a",   "/b", "/c",     "/f",   "/f/a", "/f/b",
                                    "/f/g", "/g", "/f/g/a", "/g/a", NULL};
static const char *const folders[] = {"/f", "/g", "/f/g"};
enum { PATHS = ASH_ARRAY_LEN(paths) - 1 };

typedef struct web_step {
    enum kind kind;
    const char *path, *to;
    uint32_t content, number;
    bool with_key; /* of the lock, if there is one */
} web_step;

static web_step choose_step(uint64_t seed, uint32_t thread, uint32_t number)
{
    rng r = rng_for(seed * 1000003 + number, 70 + thread);
    web_step s = {.kind = PUT, .number = number};
    uint32_t die = rng_below(&r, 100);
    while (s.kind < UPLOAD && die >= shares[s.kind])
        die -= shares[s.kind++];
    s.path = s.kind == MKCOL ? folders[rng_below(&r, ASH_ARRAY_LEN(folders))]
                             : paths[rng_below(&r, PATHS)];
    s.to = paths[rng_below(&r, PATHS)];
    s.content = rng_below(&r, TREE_CONTENTS);
    s.with_key = rng_below(&r, 2) == 0;
    return s;
}

void step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes)
{
    web_step s = choose_step(seed, thread, number);
    snprintf(out, bytes, "%s %s (to %s, content %u), step %u of thread %u", kind_names[s.kind],
             s.path, s.to, (unsigned)s.content, (unsigned)number, (unsigned)thread);
}

/* LOCK makes a file where nothing is, and then locks it; who asks again finds the file. */
bool step_is_prune(uint64_t seed, uint32_t thread, uint32_t number)
{
    return choose_step(seed, thread, number).kind == LOCK;
}

static int send(share *s, const web_step *p, const char *fields, const void *body, size_t len)
{
    char *line = ash__sprintf("%s %s", kind_names[p->kind], p->path);
    /* Who has no key is refused, and goes on. */
    int status;
    char *key = p->with_key ? web_key(s->site, p->path, "If", &status) : ash__strdup("");
    char *all = ash__sprintf("%s%s", fields, key != NULL ? key : "");
    if (key != NULL)
        status = web_ask(s->site, &(web_request){line, all, body, len}, NULL);
    ash__free(all);
    ash__free(key);
    ash__free(line);
    return status;
}

static int send_content(share *s, const web_step *p)
{
    size_t len;
    uint8_t *data = tree_content(p->content, &len);
    int status;
    if (p->kind == PUT)
        status = send(s, p, "", data, len);
    else if (p->kind == PATCH)
        status = send(
            s, p, "X-Update-Range: append\nContent-Type: application/x-sabredav-partialupdate\n",
            data, len);
    else
        status = web_upload(s->site, p->path, data, len);
    ash__free(data);
    return status;
}

static int send_props(share *s, const web_step *p)
{
    char *body =
        ash__sprintf("<propertyupdate xmlns=\"DAV:\"><set><prop><n xmlns=\"x:y\">%u</n></prop>"
                     "</set></propertyupdate>",
                     (unsigned)p->number);
    int status = send(s, p, "", body, strlen(body));
    ash__free(body);
    return status;
}

/* What is locked stays where it is: a server that dies between a MOVE and the end of the lock leaves
 * the lock on what was moved. */
static int transfer(share *s, web_step *p)
{
    char *fields = ash__sprintf("Destination: %s\n", p->to);
    p->with_key = false;
    int status = send(s, p, fields, NULL, 0);
    ash__free(fields);
    return status;
}

static int do_step(share *s, web_step *p)
{
    switch (p->kind) {
    case COPY:
    case MOVE:
        return transfer(s, p);
    case DELETE:
        p->with_key = false;
        return send(s, p, "", NULL, 0);
    case MKCOL:
        return send(s, p, "", NULL, 0);
    case PROPPATCH:
        return send_props(s, p);
    case LOCK:
        return web_lock(s->site, p->path);
    case UNLOCK:
        return web_unlock(s->site, p->path);
    default:
        return send_content(s, p);
    }
}

int share_do(share *s, uint32_t number, ash_error *err)
{
    web_step p = choose_step(s->own.seed, s->own.thread, number);
    int status = do_step(s, &p);
    /* Contents may be collected before they are named, which clients try again. */
    for (int i = 0; i < 100 && (status == 409 || status == 503) && p.kind != MKCOL; i++)
        status = do_step(s, &p);
    return status >= 200 && status < 500
               ? 0
               : ash__fail(err, ASH_EIO, "%s %s: %d", kind_names[p.kind], p.path, status);
}

/* ---- what is there ---- */

int share_portrait(share *s, ash_buffer *out, ash_error *err)
{
    return web_portrait(s->site, s->own.tree, paths, out, err);
}

/* All roots share their contents: once is enough. */
bool share_clean_up(share *s, ash_error *err)
{
    return s->own.thread != 0 || tree_clean_up(&s->own, err);
}
