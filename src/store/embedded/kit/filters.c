/* SPDX-License-Identifier: Apache-2.0 */
/* Validators and the filters of partial indexes, compiled: the engine keeps them beside its
 * catalogue without knowing what they are. */

#include "store/embedded/kit/filters.h"

#include "base/mem.h"

/* A matcher borrows what it was compiled with, so both live together. */
typedef struct hooked {
    ash_query_env env;
    ash_matcher *matcher;
} hooked;

static int hook_compile(const bson_t *filter, const ash_collation *collation, void **out,
                        ash_error *err)
{
    hooked *h = ash__new(hooked);
    if (collation != NULL)
        h->env.collation = *collation;
    int rc = ash__matcher_new(filter, &h->env, &h->matcher, err);
    if (rc != 0) {
        ash__free(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

static int hook_test(void *filter, ash_doc doc, bool *matches, ash_error *err)
{
    return ash__hooked_test(filter, doc, matches, err);
}

static void hook_free(void *filter)
{
    hooked *h = filter;
    if (h == NULL)
        return;
    ash__matcher_free(h->matcher);
    ash__free(h);
}

const ash_matcher *ash__hooked_matcher(const void *filter)
{
    return filter != NULL ? ((const hooked *)filter)->matcher : NULL;
}

int ash__hooked_test(const void *filter, ash_doc doc, bool *matches, ash_error *err)
{
    const hooked *h = filter;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__matcher_check(h->matcher, doc, NULL, matches, &own);
    /* What an expression cannot be evaluated for is data, and data that does not match; that time
     * was up is no answer. */
    if (rc != ASH_ETIMEOUT && rc != ASH_EINTERRUPTED)
        return 0;
    if (err != NULL)
        *err = own;
    return rc;
}

const ash_filter_hooks ash__embedded_hooks = {
    .compile = hook_compile, .test = hook_test, .free = hook_free};
