/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site/assets.h"

#include "base/mem.h"
#include "http/condition.h"
#include "http/site/state.h"

#include <string.h>

static const ash_asset *find(const char *name)
{
    for (const ash_asset *a = ash__assets; a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

void ash__site_asset_href(ash_buffer *out, const char *name)
{
    const ash_asset *a = find(name);
    ash__buffer_printf(out, ASH_SITE_RESERVED "/assets/%s?%s", name, a != NULL ? a->digest : "");
}

/* With its digest in the query it is that content for ever. */
static bool is_exact(const ash_exchange *x, const ash_asset *a)
{
    return x->target.query != NULL && strcmp(x->target.query, a->digest) == 0;
}

void ash__site_assets(ash_site *site, ash_exchange *x, const char *rest)
{
    const ash_asset *a = rest[0] == '/' ? find(rest + 1) : NULL;
    char etag[32];
    (void)site;
    if (a == NULL) {
        ash__answer_text(x, 404, "the page has no such part");
        return;
    }
    if (ash__site_refuse_change(x))
        return;
    snprintf(etag, sizeof etag, "\"%s\"", a->digest);
    ash_validators now = {etag, 0};
    ash__answer_field(x, "ETag", "%s", etag);
    ash__answer_field(x, "Cache-Control",
                      is_exact(x, a) ? "public, max-age=31536000, immutable" : "no-cache");
    ash__answer_field(x, "X-Content-Type-Options", "nosniff");
    int status = ash__http_condition_check(x->head, x->method, &now);
    if (status == 304)
        ash__answer_empty(x, 304);
    else
        ash__answer_body(x, 200, a->type, a->data, a->len);
}

void ash__site_openapi(ash_site *site, ash_exchange *x, const char *rest)
{
    (void)rest;
    ash__site_assets(site, x, "/openapi.json");
}
