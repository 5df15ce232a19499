/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of privileges are short (a user of ten roles has some thirty), so they are searched from
 * the front. */
#include "user/privilege.h"

#include "base/mem.h"

#include <string.h>

_Static_assert(ASH_ACTIONS <= 64, "a set of actions is 64 bits");

const char *const ash__tree_collections[ASH_TREE_COLLECTIONS] = {"v7files", "v7files.vermongo",
                                                                 "v7.fs.files", "v7.fs.chunks"};

const char *ash__action_name(int action)
{
    static const char *const names[] = {
#define X(name, text) #text,
#include "user/action.def"
#undef X
    };
    return names[action];
}

void ash__privileges_release(ash_privileges *p)
{
    for (size_t i = 0; i < p->count; i++) {
        ash__free(p->items[i].db);
        ash__free(p->items[i].coll);
    }
    ash__free(p->items);
    memset(p, 0, sizeof *p);
}

static ash_privilege *find(ash_privileges *p, ash_resource_kind kind, const char *db,
                           const char *coll)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].kind == kind &&
            (kind != ASH_RESOURCE_NAMESPACE ||
             (strcmp(p->items[i].db, db) == 0 && strcmp(p->items[i].coll, coll) == 0)))
            return &p->items[i];
    return NULL;
}

void ash__privileges_add(ash_privileges *p, ash_resource_kind kind, const char *db,
                         const char *coll, ash_actions actions)
{
    bool named = kind == ASH_RESOURCE_NAMESPACE;
    ash_privilege *known = find(p, kind, db, coll);
    if (known != NULL) {
        known->actions |= actions;
        return;
    }
    p->items = ash__grow_array(p->items, p->count, &p->capacity, sizeof *p->items);
    p->items[p->count++] = (ash_privilege){kind, named ? ash__strdup(db) : NULL,
                                           named ? ash__strdup(coll) : NULL, actions};
}

void ash__privileges_take(ash_privileges *p, ash_resource_kind kind, const char *db,
                          const char *coll, ash_actions actions)
{
    ash_privilege *known = find(p, kind, db, coll);
    if (known == NULL || (known->actions &= ~actions) != 0)
        return;
    ash__free(known->db);
    ash__free(known->coll);
    size_t at = (size_t)(known - p->items);
    memmove(known, known + 1, (p->count - at - 1) * sizeof *known);
    p->count--;
}

void ash__privileges_add_all(ash_privileges *p, const ash_privileges *more)
{
    for (size_t i = 0; i < more->count; i++) {
        const ash_privilege *item = &more->items[i];
        ash__privileges_add(p, item->kind, item->db, item->coll, item->actions);
    }
}

/* ---- what they allow ---- */

static bool is_system(const char *coll)
{
    return strncmp(coll, "system.", strlen("system.")) == 0;
}

/* What a wish for "all databases" leaves out. */
static bool is_own_db(const char *db)
{
    return strcmp(db, "local") == 0 || strcmp(db, "config") == 0;
}

static bool covers(const ash_privilege *p, const char *db, const char *coll)
{
    if (p->kind == ASH_RESOURCE_ANY)
        return true;
    if (p->kind == ASH_RESOURCE_CLUSTER)
        return false;
    if (p->db[0] != '\0' && strcmp(p->db, db) != 0)
        return false;
    if (p->coll[0] != '\0')
        return strcmp(p->coll, coll) == 0;
    return !is_system(coll) && (p->db[0] != '\0' || !is_own_db(db));
}

bool ash__privileges_allow(const ash_privileges *p, const char *db, const char *coll,
                           ash_actions actions)
{
    for (size_t i = 0; i < p->count; i++)
        if (covers(&p->items[i], db, coll))
            actions &= ~p->items[i].actions;
    return actions == 0;
}

bool ash__privileges_allow_cluster(const ash_privileges *p, ash_actions actions)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].kind != ASH_RESOURCE_NAMESPACE)
            actions &= ~p->items[i].actions;
    return actions == 0;
}

bool ash__privileges_reach(const ash_privileges *p, const char *db, ash_actions actions)
{
    for (size_t i = 0; i < p->count; i++) {
        const ash_privilege *item = &p->items[i];
        if ((item->actions & actions) == 0 || item->kind == ASH_RESOURCE_CLUSTER)
            continue;
        if (item->kind == ASH_RESOURCE_ANY || strcmp(item->db, db) == 0 ||
            (item->db[0] == '\0' && (item->coll[0] != '\0' || !is_own_db(db))))
            return true;
    }
    return false;
}

/* Has p these actions on this whole resource, by privileges that are as wide or wider? */
static bool covers_one(const ash_privileges *p, const ash_privilege *less)
{
    ash_actions rest = less->actions;
    for (size_t i = 0; i < p->count; i++) {
        const ash_privilege *item = &p->items[i];
        bool wide;
        if (item->kind == ASH_RESOURCE_ANY)
            wide = true;
        else if (less->kind != ASH_RESOURCE_NAMESPACE || item->kind != less->kind)
            wide = item->kind == less->kind;
        else if (less->db[0] == '\0')
            wide = item->db[0] == '\0' && strcmp(item->coll, less->coll) == 0;
        else
            wide = covers(item, less->db, less->coll);
        if (wide)
            rest &= ~item->actions;
    }
    return rest == 0;
}

bool ash__privileges_cover(const ash_privileges *p, const ash_privileges *less)
{
    for (size_t i = 0; i < less->count; i++)
        if (!covers_one(p, &less->items[i]))
            return false;
    return true;
}

/* ---- as documents ---- */

static void write_one(const ash_privilege *p, ash_builder *b)
{
    char index[12];
    uint32_t n = 0;
    ash__builder_begin_doc(b, "resource");
    if (p->kind == ASH_RESOURCE_NAMESPACE) {
        ash__builder_text(b, "db", p->db);
        ash__builder_text(b, "collection", p->coll);
    } else
        ash__builder_bool(b, p->kind == ASH_RESOURCE_ANY ? "anyResource" : "cluster", true);
    ash__builder_end(b);
    ash__builder_begin_array(b, "actions");
    if (p->actions == ASH_ACTIONS_ALL)
        ash__builder_text(b, "0", "anyAction");
    else
        for (int a = 0; a < ASH_ACTIONS; a++)
            if ((p->actions >> a & 1) != 0)
                ash__builder_text(b, ash__index_name(n++, index), ash__action_name(a));
    ash__builder_end(b);
}

void ash__privileges_write(const ash_privileges *p, ash_builder *b, const char *name)
{
    char index[12];
    ash__builder_begin_array(b, name);
    for (size_t i = 0; i < p->count; i++) {
        ash__builder_begin_doc(b, ash__index_name((uint32_t)i, index));
        write_one(&p->items[i], b);
        ash__builder_end(b);
    }
    ash__builder_end(b);
}

static int bad(ash_error *err, const char *what)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s", what);
}

static int read_actions(ash_doc list, ash_actions *out, ash_error *err)
{
    *out = 0;
    for (ash_doc_iter it = ash__doc_iter(list); ash__doc_iter_next(&it);) {
        const char *name = ash__value_utf8(it.value, "");
        int a = 0;
        if (strcmp(name, "anyAction") == 0) {
            *out = ASH_ACTIONS_ALL;
            continue;
        }
        while (a < ASH_ACTIONS && strcmp(ash__action_name(a), name) != 0)
            a++;
        if (a == ASH_ACTIONS)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "Unrecognized action privilege string: %.60s", name);
        *out |= UINT64_C(1) << a;
    }
    return *out != 0 ? 0 : bad(err, "a privilege needs actions");
}

static int read_one(ash_privileges *p, ash_doc doc, ash_error *err)
{
    ash_value resource = ash__doc_get(doc, "resource"), list = ash__doc_get(doc, "actions");
    ash_actions actions;
    if (resource.type != BSON_TYPE_DOCUMENT || list.type != BSON_TYPE_ARRAY)
        return bad(err, "a privilege is {resource: {…}, actions: […]}");
    int rc = read_actions(ash__value_doc(list), &actions, err);
    if (rc != 0)
        return rc;
    ash_doc r = ash__value_doc(resource);
    const char *db = ash__doc_utf8(r, "db", NULL), *coll = ash__doc_utf8(r, "collection", NULL);
    bool cluster = ash__value_truthy(ash__doc_get(r, "cluster"));
    bool any = ash__value_truthy(ash__doc_get(r, "anyResource"));
    if ((db != NULL) != (coll != NULL) || (db != NULL) + cluster + any != 1)
        return bad(err, "a resource is {db, collection}, {cluster: true} or {anyResource: true}");
    ash__privileges_add(p,
                        db != NULL ? ASH_RESOURCE_NAMESPACE
                        : cluster  ? ASH_RESOURCE_CLUSTER
                                   : ASH_RESOURCE_ANY,
                        db, coll, actions);
    return 0;
}

int ash__privileges_read(ash_privileges *p, ash_doc list, ash_error *err)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(list); rc == 0 && ash__doc_iter_next(&it);)
        rc = it.value.type == BSON_TYPE_DOCUMENT ? read_one(p, ash__value_doc(it.value), err)
                                                 : bad(err, "a privilege is a document");
    return rc;
}
