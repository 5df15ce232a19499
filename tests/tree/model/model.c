/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- versions ---- */

static void add(model *m, version v)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity * 2 + 64;
        m->versions = realloc(m->versions, m->capacity * sizeof *m->versions);
        if (m->versions == NULL)
            abort();
    }
    v.from = m->step;
    v.to = NOW;
    m->versions[m->count++] = v;
}

void model_init(model *m)
{
    *m = (model){.nodes = 1};
    add(m, (version){.node = 0, .number = 1, .parent = NONE, .content = NONE});
    m->step = 1;
}

void model_release(model *m)
{
    free(m->versions);
}

static bool holds(const version *v, int at)
{
    return at == NOW ? v->to == NOW : v->from <= at && at < v->to;
}

int model_version(const model *m, int node, int at)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->versions[i].node == node && !m->versions[i].deleted && holds(&m->versions[i], at))
            return (int)i;
    return NONE;
}

static int find_child(const model *m, int parent, const char *name, int at)
{
    for (size_t i = 0; i < m->count; i++) {
        const version *v = &m->versions[i];
        if (v->parent == parent && !v->deleted && holds(v, at) && strcmp(v->name, name) == 0)
            return (int)i;
    }
    return NONE;
}

int model_find(const model *m, const char *path, int at)
{
    char copy[PATH_BYTES], *rest = copy;
    int found = model_version(m, 0, at);
    snprintf(copy, sizeof copy, "%s", path);
    for (char *name = strsep(&rest, "/"); name != NULL && found != NONE; name = strsep(&rest, "/"))
        if (name[0] != '\0')
            found = find_child(m, m->versions[found].node, name, at);
    return found;
}

void model_path(const model *m, int node, int at, char out[PATH_BYTES])
{
    int v = model_version(m, node, at);
    out[0] = '\0';
    if (node == 0 || v == NONE)
        return;
    model_path(m, m->versions[v].parent, at, out);
    size_t len = strlen(out);
    snprintf(out + len, PATH_BYTES - len, "%s%s", len > 0 ? "/" : "", m->versions[v].name);
}

/* ---- changes ---- */

/* The folder of the path's last name, as a node, or NONE. */
static int find_folder(const model *m, const char *path, const char **name)
{
    char above[PATH_BYTES];
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    snprintf(above, sizeof above, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
    int v = model_find(m, above, NOW);
    return v != NONE && m->versions[v].content == NONE ? m->versions[v].node : NONE;
}

static void revise(model *m, int at, version changed)
{
    m->versions[at].to = m->step;
    changed.number = m->versions[at].number + 1;
    add(m, changed);
}

static void new_node(model *m, int parent, const char *name, int content)
{
    version v = {.node = m->nodes++, .number = 1, .parent = parent, .content = content};
    snprintf(v.name, sizeof v.name, "%s", name);
    add(m, v);
}

static bool is_below(const model *m, int node, int top, int at)
{
    while (node != NONE && node != top)
        node = m->versions[model_version(m, node, at)].parent;
    return node == top;
}

static void delete_node(model *m, int node)
{
    int at = model_version(m, node, NOW);
    version gone = m->versions[at];
    gone.deleted = true;
    revise(m, at, gone);
}

static bool put(model *m, const step *s)
{
    const char *name;
    int folder = find_folder(m, s->path, &name);
    if (folder == NONE)
        return false;
    int there = find_child(m, folder, name, NOW);
    if (there == NONE) {
        new_node(m, folder, name, s->content);
        return true;
    }
    version v = m->versions[there];
    if (v.content == NONE || s->content == NONE)
        return false;
    if (v.content != s->content) {
        v.content = s->content;
        revise(m, there, v);
    }
    return true;
}

static bool move(model *m, const step *s)
{
    const char *name;
    int from = model_find(m, s->path, NOW), folder = find_folder(m, s->to, &name);
    if (from == NONE || folder == NONE)
        return false;
    version v = m->versions[from];
    int there = find_child(m, folder, name, NOW);
    if (is_below(m, folder, v.node, NOW))
        return false;
    if (there == from)
        return true;
    if (there != NONE && (!s->replace || v.content == NONE || m->versions[there].content == NONE))
        return false;
    if (there != NONE)
        delete_node(m, m->versions[there].node);
    v.parent = folder;
    snprintf(v.name, sizeof v.name, "%s", name);
    revise(m, from, v);
    return true;
}

static void copy_below(model *m, int source, int at, int parent, const char *name)
{
    int content = m->versions[model_version(m, source, at)].content, made = m->nodes;
    size_t count = m->count;
    new_node(m, parent, name, content);
    for (size_t i = 0; content == NONE && i < count; i++) {
        version v = m->versions[i];
        if (v.parent == source && !v.deleted && holds(&v, at))
            copy_below(m, v.node, at, made, v.name);
    }
}

static bool copy(model *m, const step *s)
{
    const char *name;
    int from = model_find(m, s->path, s->at), folder = find_folder(m, s->to, &name);
    if (from == NONE || folder == NONE)
        return false;
    version v = m->versions[from];
    int there = find_child(m, folder, name, NOW);
    if (is_below(m, folder, v.node, NOW))
        return false;
    if (there == NONE) {
        copy_below(m, v.node, s->at, folder, name);
        return true;
    }
    version changed = m->versions[there];
    if (!s->replace || v.content == NONE || changed.content == NONE)
        return false;
    if (changed.content != v.content) {
        changed.content = v.content;
        revise(m, there, changed);
    }
    return true;
}

static bool remove_path(model *m, const step *s)
{
    int at = model_find(m, s->path, NOW);
    if (at == NONE || m->versions[at].node == 0)
        return false;
    int top = m->versions[at].node, count = m->nodes;
    bool *below = calloc((size_t)count, sizeof *below);
    for (int i = 0; i < count; i++)
        below[i] = model_version(m, i, NOW) != NONE && is_below(m, i, top, NOW);
    for (int i = 0; i < count; i++)
        if (below[i])
            delete_node(m, i);
    free(below);
    return true;
}

/* The deletion that is the node's newest version, or NONE. */
static int find_deletion(const model *m, int node)
{
    for (size_t i = m->count; i-- > 0;)
        if (m->versions[i].node == node && m->versions[i].to == NOW)
            return m->versions[i].deleted ? (int)i : NONE;
    return NONE;
}

static void bring_back(model *m, int deletion, int parent, const char *name)
{
    version v = m->versions[deletion];
    int when = v.from, node = v.node;
    size_t count = m->count;
    v.deleted = false;
    v.parent = parent;
    char own[sizeof v.name];
    snprintf(own, sizeof own, "%s", name);
    memcpy(v.name, own, sizeof v.name);
    revise(m, deletion, v);
    for (size_t i = 0; i < count; i++) {
        version below = m->versions[i];
        if (below.parent == node && below.deleted && below.to == NOW && below.from == when)
            bring_back(m, (int)i, node, below.name);
    }
}

static bool undelete(model *m, const step *s)
{
    int deletion = find_deletion(m, s->node);
    const char *name;
    if (deletion == NONE)
        return false;
    version v = m->versions[deletion];
    int folder = v.parent;
    name = v.name;
    if (s->to[0] != '\0')
        folder = find_folder(m, s->to, &name);
    else if (model_version(m, folder, NOW) == NONE)
        return false;
    if (folder == NONE || find_child(m, folder, name, NOW) != NONE)
        return false;
    char own[sizeof v.name];
    snprintf(own, sizeof own, "%s", name);
    bring_back(m, deletion, folder, own);
    return true;
}

static bool restore(model *m, const step *s)
{
    int now = model_find(m, s->path, NOW);
    if (now == NONE)
        return false;
    version v = m->versions[now];
    for (size_t i = 0; i < m->count; i++) {
        const version *old = &m->versions[i];
        if (old->node != v.node || old->number != s->number)
            continue;
        if (old->deleted)
            return false;
        if (old->content != v.content) {
            v.content = old->content;
            revise(m, now, v);
        }
        return true;
    }
    return false;
}

/* The version of that number that is over. */
static int find_past(const model *m, int node, int number, bool deleted)
{
    for (size_t i = 0; i < m->count; i++) {
        const version *v = &m->versions[i];
        if (v->node == node && v->number == number && v->deleted == deleted && v->to != NOW)
            return (int)i;
    }
    return NONE;
}

static void drop(model *m, int at)
{
    m->count--;
    memmove(m->versions + at, m->versions + at + 1, (m->count - (size_t)at) * sizeof *m->versions);
}

/* A deletion goes with the version that it ended. */
static bool forget(model *m, const step *s)
{
    int now = model_find(m, s->path, NOW);
    if (now == NONE || m->versions[now].content == NONE)
        return false;
    int node = m->versions[now].node, at = find_past(m, node, s->number, false);
    if (at == NONE)
        return false;
    drop(m, at);
    at = find_past(m, node, s->number + 1, true);
    if (at != NONE)
        drop(m, at);
    return true;
}

bool model_apply(model *m, const step *s)
{
    bool done = false;
    switch (s->kind) {
    case STEP_PUT:
    case STEP_FOLDER:
        done = put(m, s);
        break;
    case STEP_MOVE:
        done = move(m, s);
        break;
    case STEP_COPY:
        done = copy(m, s);
        break;
    case STEP_REMOVE:
        done = remove_path(m, s);
        break;
    case STEP_UNDELETE:
        done = undelete(m, s);
        break;
    case STEP_RESTORE:
        done = restore(m, s);
        break;
    case STEP_FORGET:
        done = forget(m, s);
        break;
    }
    m->step++;
    return done;
}

/* ---- what comes next ---- */

enum { CONTENTS = 14 };

static void random_path(rng *r, char out[PATH_BYTES])
{
    static const char *const folders[] = {"", "", "d/", "e/", "d/f/", "e/d/"};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    snprintf(out, PATH_BYTES, "%s%s", folders[rng_below(r, 6)], names[rng_below(r, 6)]);
}

/* Mostly of something that is there, or was. */
static void likely_path(const model *m, rng *r, int at, char out[PATH_BYTES])
{
    random_path(r, out);
    for (int i = 0; i < 8 && rng_below(r, 6) != 0; i++) {
        int node = (int)rng_below(r, (uint32_t)m->nodes);
        if (node != 0 && model_version(m, node, at) != NONE) {
            model_path(m, node, at, out);
            return;
        }
    }
}

step model_next(const model *m, rng *r, const int *moments, int moment_count)
{
    static const step_kind kinds[] = {
        STEP_PUT,  STEP_PUT,  STEP_PUT,  STEP_PUT,    STEP_PUT,      STEP_FOLDER,  STEP_FOLDER,
        STEP_MOVE, STEP_MOVE, STEP_COPY, STEP_REMOVE, STEP_UNDELETE, STEP_RESTORE, STEP_FORGET};
    step s = {.kind = kinds[rng_below(r, sizeof kinds / sizeof *kinds)], .at = NOW};
    if (moment_count > 0 && rng_below(r, 3) == 0)
        s.at = moments[rng_below(r, (uint32_t)moment_count)];
    random_path(r, s.path);
    random_path(r, s.to);
    if (s.kind != STEP_FOLDER && (s.kind != STEP_PUT || rng_below(r, 2) == 0))
        likely_path(m, r, s.kind == STEP_COPY ? s.at : NOW, s.path);
    s.content = s.kind == STEP_FOLDER ? NONE : (int)rng_below(r, CONTENTS);
    s.replace = rng_below(r, 2) == 0;
    s.number = (int)rng_below(r, 4) + 1;
    if (s.kind == STEP_FOLDER && rng_below(r, 2) == 0)
        snprintf(s.path, sizeof s.path, "%s", rng_below(r, 2) == 0 ? "d" : "e");
    if (s.kind == STEP_UNDELETE) {
        s.node = (int)rng_below(r, (uint32_t)m->nodes);
        for (int i = 0; i < m->nodes && find_deletion(m, s.node) == NONE; i++)
            s.node = (s.node + 1) % m->nodes;
        if (rng_below(r, 2) == 0)
            s.to[0] = '\0';
    }
    /* Of what was deleted the past is another owner's, perhaps. */
    if (s.kind == STEP_FORGET && model_find(m, s.path, NOW) == NONE)
        s.kind = STEP_PUT;
    /* Copies of copies grow without end. */
    if (s.kind == STEP_COPY && m->nodes > NODES_MAX / 16)
        s.kind = STEP_REMOVE;
    return s;
}
