/* SPDX-License-Identifier: Apache-2.0 */
/* Managers: which backend an address is for; making, finding and deleting stores. */
#include "object/core.h"

#include "base/mem.h"
#include "base/options.h"

#include <inttypes.h>
#include <string.h>

int ash__object_require(const ash_object_manager *m, bool can, const char *what, ash_error *err)
{
    if (can)
        return 0;
    return ash__fail(err, ASH_EUNSUPPORTED, "%s: object stores here (%s) do not have it", what,
                     m->can.backend);
}

int ash__object_outside(const ash_op *op, ash_error *err)
{
    if (op == NULL || op->transaction == NULL)
        return 0;
    return ash__fail(err, ASH_ESTATE, "this cannot be part of a transaction");
}

/* ---- opening ---- */

/* An address may hold a password: its scheme is all that is shown. */
static int refuse_uri(const char *uri, ash_error *err)
{
    const char *colon = strstr(uri, "://");
    if (ash__uri_is_nats(uri))
        return ash__fail(err, ASH_EUNSUPPORTED, "this build lacks JetStream (libnats)");
    if (colon != NULL)
        return ash__fail(err, ASH_EUNSUPPORTED, "nothing here opens %.*s addresses",
                         (int)(colon - uri), uri);
    return ash__fail(err, ASH_EINVAL, "that is no address of object stores");
}

static const ash_object_backend *backend_of(const char *uri)
{
    const ash_object_backend *const *b = ash__object_backends;
    while (*b != NULL && !(*b)->accepts(uri))
        b++;
    return *b;
}

bool ash_object_uri_is_store(const char *uri)
{
    ash_assert(uri != NULL);
    const ash_object_backend *b = backend_of(uri);
    return b != NULL && b->open_on != NULL;
}

int ash_object_manager_open(const char *uri, const ash_object_manager_options *opts,
                            ash_object_manager **out, ash_error *err)
{
    ash_object_manager_options o;
    ash_assert(uri != NULL && out != NULL);
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc != 0)
        return rc;
    const ash_object_backend *b = backend_of(uri);
    return b != NULL ? b->open(uri, &o, out, err) : refuse_uri(uri, err);
}

int ash_object_manager_new(ash_store *store, const ash_object_manager_options *opts,
                           ash_object_manager **out, ash_error *err)
{
    ash_object_manager_options o;
    ash_assert(store != NULL && out != NULL);
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc != 0)
        return rc;
    for (const ash_object_backend *const *b = ash__object_backends; *b != NULL; b++)
        if ((*b)->open_on != NULL)
            return (*b)->open_on(store, &o, out, err);
    return ash__fail(err, ASH_EUNSUPPORTED, "this build keeps no objects on stores");
}

void ash_object_manager_close(ash_object_manager *m)
{
    if (m != NULL)
        m->ops->close(m);
}

int ash_object_manager_capabilities(ash_object_manager *m, ash_object_capabilities *out,
                                    ash_error *err)
{
    m->can.size = sizeof m->can;
    return ash__out_copy(out, &m->can, sizeof m->can, err);
}

/* ---- stores ---- */

static int copy_config(const ash_object_manager *m, const ash_object_config *theirs,
                       ash_object_config_copy *out, ash_error *err)
{
    ash_object_config c;
    memset(out, 0, sizeof *out);
    int rc = ash__options_copy(&c, sizeof c, theirs, err);
    if (rc == 0)
        rc = ash__object_config_copy(&c, out, err);
    if (rc == 0)
        rc = ash__object_config_allowed(&out->config, &m->can, err);
    return rc;
}

static void bind_name(ash_object_store *s, ash_object_manager *m, const char *name)
{
    s->manager = m;
    s->name = ash__strdup(name);
    s->archive = NULL;
}

int ash_object_manager_create(ash_object_manager *m, const ash_object_config *config,
                              const ash_op *op, ash_object_store **out, ash_error *err)
{
    ash_object_config_copy copy;
    ash_object_store *s = NULL;
    ash_assert(m != NULL && config != NULL);
    ash_op own = ash__op_of(op);
    int rc = copy_config(m, config, &copy, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0)
        rc = m->ops->create(m, &copy.config, &own, &s, err);
    if (rc == 0)
        bind_name(s, m, copy.config.name);
    if (out != NULL)
        *out = s;
    else
        ash_object_store_close(s);
    ash__object_config_release(&copy);
    return rc;
}

int ash_object_manager_bind(ash_object_manager *m, const char *name, const ash_op *op,
                            ash_object_store **out, ash_error *err)
{
    ash_assert(m != NULL && name != NULL && out != NULL);
    *out = NULL;
    ash_op own = ash__op_of(op);
    int rc = ash__object_store_name_check(name, err);
    if (rc == 0)
        rc = m->ops->bind(m, name, &own, out, err);
    if (rc == 0)
        bind_name(*out, m, name);
    return rc;
}

/* JetStream would make room by taking objects away. */
static int check_room(ash_object_manager *m, const ash_object_config *c, const ash_op *op,
                      ash_error *err)
{
    ash_object_store *s = NULL;
    ash_object_status *st = NULL;
    if (c->max_bytes == 0)
        return 0;
    int rc = ash_object_manager_bind(m, c->name, op, &s, err);
    if (rc == 0)
        rc = ash_object_store_status(s, op, &st, err);
    if (rc == 0 && st->bytes > c->max_bytes)
        rc = ash__fail(err, ASH_ENOSPC, "object store %s has %" PRId64 " bytes already: max_bytes",
                       c->name, st->bytes);
    ash_object_status_free(st);
    ash_object_store_close(s);
    return rc;
}

int ash_object_manager_update(ash_object_manager *m, const ash_object_config *config,
                              const ash_op *op, ash_error *err)
{
    ash_object_config_copy copy;
    ash_assert(m != NULL && config != NULL);
    ash_op own = ash__op_of(op);
    int rc = copy_config(m, config, &copy, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0)
        rc = check_room(m, &copy.config, &own, err);
    if (rc == 0)
        rc = m->ops->update(m, &copy.config, &own, err);
    ash__object_config_release(&copy);
    return rc;
}

int ash_object_manager_delete(ash_object_manager *m, const char *name, const ash_op *op,
                              ash_error *err)
{
    ash_assert(m != NULL && name != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__object_store_name_check(name, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    return rc == 0 ? m->ops->remove(m, name, &own, err) : rc;
}

int ash_object_manager_list(ash_object_manager *m, const ash_op *op,
                            ash_object_status_listing **out, ash_error *err)
{
    ash_assert(m != NULL && out != NULL);
    ash_op own = ash__op_of(op);
    *out = ash__status_listing_new();
    int rc = m->ops->list(m, &own, *out, err);
    ash__status_listing_sort(*out);
    if (rc != 0) {
        ash_object_status_listing_free(*out);
        *out = NULL;
    }
    return rc;
}

int ash_object_manager_collections(ash_object_manager *m, const ash_op *op, bson_t *names,
                                   ash_error *err)
{
    ash_assert(m != NULL && names != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__object_require(m, m->ops->collections != NULL, "collections", err);
    return rc == 0 ? m->ops->collections(m, &own, names, err) : rc;
}
