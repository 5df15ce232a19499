/* SPDX-License-Identifier: Apache-2.0 */
#include "object_steps.h"

#include "base/error.h"
#include "base/mem.h"
#include "model.h"
#include "scratch.h"

#include <stdio.h>
#include <string.h>

/* ---- single changes ---- */

/* Nothing, in the commit, in a chunk, in several, in more than one block. */
static const size_t lengths[OBJECT_CONTENTS] = {0,      7,      200,    7000,   100000,
                                                131072, 131073, 300007, 700000, 1300000};

static int bind(object_worker *w, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_object_manager_bind(w->manager, w->name, NULL, &w->objects, &own);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

static void unbind(object_worker *w)
{
    ash_object_store_close(w->objects);
    w->objects = NULL;
}

int object_worker_open(object_worker *w, ash_store *store, uint64_t seed, uint32_t thread,
                       ash_error *err)
{
    *w = (object_worker){.store = store, .seed = seed, .thread = thread};
    snprintf(w->name, sizeof w->name, "store%u", (unsigned)thread);
    int rc = ash_object_manager_new(store, NULL, &w->manager, err);
    return rc == 0 ? bind(w, err) : rc;
}

void object_worker_close(object_worker *w)
{
    unbind(w);
    ash_object_manager_close(w->manager);
    w->manager = NULL;
}

static ash_object_config config_of(const object_worker *w)
{
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    config.name = w->name;
    config.keep_last = w->thread % 2 == 1 ? 2 : 0;
    config.compression = w->thread % 2 == 1;
    return config;
}

int object_make(object_worker *w, ash_error *err)
{
    ash_object_config config = config_of(w);
    unbind(w);
    return ash_object_manager_create(w->manager, &config, NULL, &w->objects, err);
}

static int configure(object_worker *w, uint32_t number, ash_error *err)
{
    char text[16];
    ash_object_config config = config_of(w);
    snprintf(text, sizeof text, "%u", (unsigned)number);
    config.description = text;
    return ash_object_manager_update(w->manager, &config, NULL, err);
}

int object_drop(object_worker *w, ash_error *err)
{
    int rc = ash_object_manager_delete(w->manager, w->name, NULL, err);
    if (rc == 0)
        unbind(w);
    return rc;
}

static int put_bytes(object_worker *w, const ash_object_meta *meta, const uint8_t *data, size_t len,
                     ash_error *err)
{
    ash_object_writer *writer = NULL;
    int rc = ash_object_store_open_writer(w->objects, meta, NULL, NULL, &writer, err);
    for (size_t at = 0, take; rc == 0 && at < len; at += take) {
        take = len - at < 70000 ? len - at : 70000;
        rc = ash_object_writer_write(writer, data + at, take, err);
    }
    if (rc == 0)
        rc = ash_object_writer_finish(writer, NULL, NULL, err);
    ash_object_writer_free(writer);
    return rc;
}

int object_put(object_worker *w, const char *name, uint32_t content, uint32_t number,
               ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    char text[16];
    REQUIRE(content < OBJECT_CONTENTS);
    size_t len = lengths[content];
    uint8_t *data = ash__alloc(len + 1);
    model_fill(770 + content, data, len);
    snprintf(text, sizeof text, "%u", (unsigned)number);
    meta.name = name;
    meta.description = text;
    meta.chunk_size = number % 3 == 0 ? 50000 : 0;
    int rc = put_bytes(w, &meta, data, len, err);
    ash__free(data);
    return rc;
}

int object_describe(object_worker *w, const char *name, const char *to, uint32_t number,
                    ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    char text[16];
    snprintf(text, sizeof text, "%u", (unsigned)number);
    bson_t *tags = BCON_NEW("0", BCON_UTF8(text));
    meta.name = to;
    meta.tags = tags;
    int rc = ash_object_store_update_meta(w->objects, name, &meta, NULL, NULL, NULL, err);
    bson_destroy(tags);
    return rc;
}

int object_link(object_worker *w, const char *name, const char *target, ash_error *err)
{
    ash_object *o = NULL;
    int rc = ash_object_store_info(w->objects, target, NULL, NULL, &o, err);
    if (rc == 0)
        rc = ash_object_store_link(w->objects, name, o, NULL, NULL, NULL, err);
    ash_object_free(o);
    return rc;
}

int object_restore(object_worker *w, const char *name, uint32_t number, ash_error *err)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    uint64_t revision = 0;
    int rc = ash_object_store_versions(w->objects, name, 0, NULL, &l, err);
    for (uint32_t i = 0; rc == 0 && i <= number % 3 + 1; i++) {
        rc = ash_object_listing_next(l, &o, err);
        revision = rc == 0 && o != NULL ? ash_object_revision(o) : revision;
    }
    ash_object_listing_free(l);
    if (rc == 0)
        rc = ash_object_store_restore(w->objects, name, revision, NULL, NULL, NULL, err);
    return rc;
}

int object_prune(object_worker *w, const char *name, int32_t keep, ash_error *err)
{
    ash_object_prune_options o = ASH_OBJECT_PRUNE_OPTIONS_INIT;
    o.name = name;
    o.by_rule = true;
    o.keep_last = keep;
    return ash_object_store_prune(w->objects, &o, NULL, NULL, err);
}

/* ---- steps ---- */

enum kind { PUT, DESCRIBE, RENAME, DELETE, LINK, RESTORE, PRUNE, CONFIGURE, SEAL, DROP, KINDS };
static const char *const kind_names[KINDS] = {"put",     "describe", "rename",    "delete", "link",
                                              "restore", "prune",    "configure", "seal",   "drop"};
/* Of a hundred steps. */
static const uint32_t shares[KINDS] = {44, 8, 12, 10, 5, 7, 4, 4, 1, 5};

typedef struct object_step {
    enum kind kind;
    char name[8], to[8];
    uint32_t content, number;
} object_step;

static object_step choose_step(uint64_t seed, uint32_t thread, uint32_t number)
{
    rng r = rng_for(seed * 1000003 + number, 70 + thread);
    object_step s = {.kind = PUT};
    uint32_t die = rng_below(&r, 100);
    while (s.kind < DROP && die >= shares[s.kind])
        die -= shares[s.kind++];
    snprintf(s.name, sizeof s.name, "%c", (char)('a' + rng_below(&r, 5)));
    snprintf(s.to, sizeof s.to, "%c", (char)('a' + rng_below(&r, 5)));
    s.content = rng_below(&r, OBJECT_CONTENTS);
    s.number = rng_below(&r, 1000);
    return s;
}

void object_step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes)
{
    object_step s = choose_step(seed, thread, number);
    snprintf(out, bytes, "%s %s (to %s, content %u, number %u), step %u of thread %u",
             kind_names[s.kind], s.name, s.to, (unsigned)s.content, (unsigned)s.number,
             (unsigned)number, (unsigned)thread);
}

bool object_step_is_prune(uint64_t seed, uint32_t thread, uint32_t number)
{
    return choose_step(seed, thread, number).kind == PRUNE;
}

static int perform(object_worker *w, const object_step *s, ash_error *err)
{
    if (w->objects == NULL)
        return object_make(w, err);
    switch (s->kind) {
    case PUT:
        return object_put(w, s->name, s->content, s->number, err);
    case DESCRIBE:
        return object_describe(w, s->name, NULL, s->number, err);
    case RENAME:
        return object_describe(w, s->name, s->to, s->number, err);
    case DELETE:
        return ash_object_store_delete(w->objects, s->name, NULL, NULL, NULL, err);
    case LINK:
        return object_link(w, s->name, s->to, err);
    case RESTORE:
        return object_restore(w, s->name, s->number, err);
    case PRUNE:
        return object_prune(w, s->number % 2 ? s->name : NULL, (int32_t)(s->number % 3), err);
    case CONFIGURE:
        return configure(w, s->number, err);
    case SEAL:
        return ash_object_store_seal(w->objects, NULL, err);
    default:
        return object_drop(w, err);
    }
}

static bool is_refusal(int rc)
{
    return rc == ASH_ENOTFOUND || rc == ASH_EEXISTS || rc == ASH_EINVAL || rc == ASH_ENOREVISION;
}

int object_worker_do(object_worker *w, uint32_t number, ash_error *err)
{
    object_step s = choose_step(w->seed, w->thread, number);
    int rc = perform(w, &s, err);
    /* Sealed stores are not the end. */
    if (rc == ASH_EREADONLY)
        rc = s.number % 4 == 0 ? object_drop(w, err) : 0;
    if (is_refusal(rc))
        return 0;
    if (rc != 0) {
        char what[100];
        object_step_describe(w->seed, w->thread, number, what, sizeof what);
        ash__error_prefix(err, "%s", what);
    }
    return rc;
}
