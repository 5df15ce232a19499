/* SPDX-License-Identifier: Apache-2.0 */
/* What the audit log is to have of a request: which kind of event it is, and of what path. */
#include "http/gate/trace.h"
#include "http/site/state.h"

#include <string.h>

static unsigned kind_by_method(const ash_exchange *x, unsigned change)
{
    if (strcmp(x->method, "OPTIONS") == 0)
        return 0;
    return ash__method_is_safe(x->method) ? ASH_AUDIT_READS : change;
}

static unsigned kind_of_part(const ash_exchange *x, const ash_site_part *p, const char *rest)
{
    switch (p->tells) {
    case ASH_SITE_TELLS_NOTHING:
        return 0;
    case ASH_SITE_TELLS_USERS:
        return kind_by_method(x, ASH_AUDIT_USERS);
    case ASH_SITE_TELLS_CALL:
        return rest[0] == '/' ? ash__site_api_kind(rest + 1) : 0;
    case ASH_SITE_TELLS_METHOD:
    case ASH_SITE_TELLS_SECRET:
        break;
    }
    return kind_by_method(x, ASH_AUDIT_WRITES);
}

static bool trace_annex(const ash_site *s, ash_exchange *x, const ash_site_annex *a,
                        const char *rest)
{
    unsigned change = a->change_kind != NULL ? a->change_kind(rest) : ASH_AUDIT_WRITES;
    return ash__trace_begin(s->gate, x, kind_by_method(x, change), x->target.path);
}

/* Of a name that is none, only that: it may be a link that somebody spelled wrong. */
static bool trace_reserved(const ash_site *s, ash_exchange *x, const ash_site_place *place)
{
    const ash_site_part *p = place->part;
    if (place->annex != NULL)
        return trace_annex(s, x, place->annex, place->rest);
    if (p == NULL)
        return ash__trace_begin(s->gate, x, 0, ASH_SITE_RESERVED);
    if (ash__trace_begin(s->gate, x, kind_of_part(x, p, place->rest), x->target.path))
        return true;
    if (p->tells == ASH_SITE_TELLS_SECRET)
        ash__trace_path(x, ASH_SITE_RESERVED "/", p->name);
    return false;
}

/* Where something is copied or moved to. */
static void trace_destination(ash_exchange *x)
{
    const char *field = ash__head_field(x->head, "Destination"), *why;
    ash_http_target to = {0};
    if (x->trace == NULL || field == NULL)
        return;
    if (ash__http_target_parse(field, &to, NULL, &why) && to.path != NULL)
        ash__trace_text(x, "to", ash__site_is_reserved(to.path) ? ASH_SITE_RESERVED : to.path);
    ash__http_target_release(&to);
}

bool ash__site_trace(const ash_site *s, ash_exchange *x, const ash_site_place *place)
{
    const char *path = x->target.path;
    if (path == NULL)
        return false;
    if (place != NULL)
        return trace_reserved(s, x, place);
    if (ash__trace_begin(s->gate, x, kind_by_method(x, ASH_AUDIT_WRITES), path))
        return true;
    trace_destination(x);
    return false;
}
