/* SPDX-License-Identifier: Apache-2.0 */
/* What each part of the space needs of who asks: the same as the commands on the wire that do the
 * same with the same collections. */
#include "http/gate/may.h"
#include "http/site/state.h"

#include "base/mem.h"

#include <string.h>

static bool may_all(const ash_site *s, const ash_exchange *x, ash_actions actions)
{
    for (size_t i = 0; i < ASH_TREE_COLLECTIONS; i++)
        if (!ash__gate_may(x, ash_store_default_db(s->store), ash__tree_collections[i], actions))
            return false;
    return true;
}

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);
    while (len > 0 && top[len - 1] == '/')
        len--;
    return path != NULL && strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool ash__site_is_within(const ash_exchange *x, const char *path)
{
    const char *top = ash__gate_within(x);
    return top == NULL || is_below(path, top);
}

/* Both ends of a COPY or MOVE. */
static bool is_target_within(const ash_exchange *x)
{
    const char *field = ash__head_field(x->head, "Destination"), *why;
    ash_http_target to = {0};
    bool good = field == NULL ||
                (ash__http_target_parse(field, &to, NULL, &why) && ash__site_is_within(x, to.path));
    ash__http_target_release(&to);
    return good;
}

/* Below the reserved name: what everybody may, calls that look at their paths themselves, and what
 * has a path behind its own. */
static bool is_part_within(const ash_exchange *x, const char *rest)
{
    static const char *const by_path[] = {"/archive", "/events"};
    static const char *const others[] = {"/health", "/assets", "/share", "/tree"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(by_path); i++)
        if (is_below(rest, by_path[i]))
            return ash__site_is_within(x, rest + strlen(by_path[i]));
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++)
        if (is_below(rest, others[i]))
            return true;
    return false;
}

/* A report is of versions, also of those that lay elsewhere. */
bool ash__site_refuse_outside(ash_exchange *x)
{
    const char *path = x->target.path;
    if (ash__gate_within(x) == NULL)
        return false;
    bool within = path != NULL && (ash__site_is_reserved(path)
                                       ? is_part_within(x, path + strlen(ASH_SITE_RESERVED))
                                       : ash__site_is_within(x, path) && is_target_within(x) &&
                                             strcmp(x->method, "REPORT") != 0);
    if (!within)
        ash__answer_text(x, 403, "this token is for another place");
    return !within;
}

static bool may_share(const ash_site *s, const ash_exchange *x, ash_actions actions)
{
    return ash__gate_may(x, ash_store_default_db(s->store), "v7files.shares", actions);
}

bool ash__site_may(const ash_site *s, const ash_exchange *x, ash_site_need need)
{
    const ash_actions looks = ASH_CAN_LOOK, changes = ASH_CAN_CHANGE;
    switch (need) {
    case ASH_SITE_NEEDS_NOTHING:
        return true;
    case ASH_SITE_NEEDS_NAME:
        return !ash__gate_is_stranger(x);
    case ASH_SITE_NEEDS_LOOK:
        return may_all(s, x, looks);
    case ASH_SITE_NEEDS_CHANGE:
        return may_all(s, x, changes);
    case ASH_SITE_NEEDS_BY_METHOD:
        return may_all(s, x, ash__method_is_safe(x->method) ? looks : changes);
    case ASH_SITE_NEEDS_SHARE:
        return may_all(s, x, looks) && may_share(s, x, ASH_CAN(INSERT));
    case ASH_SITE_NEEDS_SHARES:
        return may_all(s, x, looks) && may_share(s, x, looks);
    case ASH_SITE_NEEDS_UNSHARE:
        return may_all(s, x, looks) && may_share(s, x, ASH_CAN(REMOVE));
    case ASH_SITE_NEEDS_MONITOR:
        return ash__gate_may_cluster(x, ASH_CAN(SERVER_STATUS));
    }
    return false;
}

bool ash__site_refuse_need(const ash_site *s, ash_exchange *x, ash_site_need need)
{
    if (ash__site_may(s, x, need))
        return false;
    if (ash__gate_is_stranger(x) ? !ash__site_lead_to_login(x) : !ash__site_refuse_by_page(x))
        ash__gate_refuse(x);
    return true;
}
