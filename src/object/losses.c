/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy would lose, before it begins. */
#include "object/core.h"

#include "base/mem.h"
#include "base/options.h"

#include <string.h>

int ash_object_config_fit(const ash_object_config *config, ash_object_manager *m, bool versions,
                          ash_object_config *out, bson_t *lost, ash_error *err)
{
    ash_object_config c;
    ash_assert(config != NULL && m != NULL && out != NULL);
    int rc = ash__options_copy(&c, sizeof c, config, err);
    if (rc != 0)
        return rc;
    if (!versions && !m->can.versions)
        c.keep_last = 0, c.keep_within_ms = 0;
    ash__object_config_reduce(&c, &m->can, lost);
    return ash__out_copy(out, &c, sizeof *out, err);
}

static void append_once(bson_t *lost, const char *text)
{
    bson_iter_t it;
    if (bson_iter_init(&it, lost))
        while (bson_iter_next(&it))
            if (strcmp(bson_iter_utf8(&it, NULL), text) == 0)
                return;
    ash__object_append(lost, text);
}

/* Sooner than its store says. */
static bool has_own_end(const ash_object *o, const ash_object_config *c)
{
    return o->expires_ms != 0 && (c->ttl_ms == 0 || o->expires_ms != o->modified_ms + c->ttl_ms);
}

static bool has_other_digest(const ash_object *o)
{
    ash_digest_kind kind;
    uint8_t bytes[32];
    size_t len;
    return ash__digest_parse(o->digest, &kind, bytes, &len) && kind != ASH_DIGEST_SHA256;
}

typedef struct loss_run {
    const ash_object_capabilities *can;
    const ash_object_config *config;
    bson_t *lost;
} loss_run;

static int look_at(void *ctx, const ash_object *o, ash_error *err)
{
    const loss_run *r = ctx;
    (void)err;
    if (!r->can->digests && has_other_digest(o))
        append_once(r->lost, "digest");
    if (!r->can->object_ttl && has_own_end(o, r->config))
        append_once(r->lost, "ttl_ms");
    return 0;
}

int ash_object_store_losses(ash_object_store *from, ash_object_manager *to,
                            const ash_object_copy_options *opts, const ash_op *op, bson_t *lost,
                            ash_error *err)
{
    ash_object_copy_options o;
    ash_object_config fitting = ASH_OBJECT_CONFIG_INIT;
    ash_object_status *st = NULL;
    ash_assert(from != NULL && to != NULL && lost != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__object_require(to, to->can.changes, "changes", err);
    if (rc == 0)
        rc = ash_object_store_status(from, &own, &st, err);
    if (rc != 0)
        return rc;
    loss_run r = {&to->can, &st->config.config, lost};
    ash_object_list_options which = ASH_OBJECT_LIST_OPTIONS_INIT;
    which.prefix = o.prefix;
    which.filter = o.filter;
    rc = ash_object_config_fit(r.config, to, o.versions, &fitting, lost, err);
    if (rc == 0 && (!to->can.digests || !to->can.object_ttl))
        rc = ash__object_each(from, &which, &own, look_at, &r, err);
    ash_object_status_free(st);
    return rc;
}
