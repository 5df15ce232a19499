/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_PRIVILEGE_H
#define ASH_USER_PRIVILEGE_H

/* Privileges as MongoDB has them: actions on a resource.
 *
 *   {db: "x", collection: "c"}  that collection, and no other
 *   {db: "x", collection: ""}   the database x, and all its collections but system.…
 *   {db: "", collection: "c"}   collections of that name in all databases
 *   {db: "", collection: ""}    all databases but local and config, all collections but system.…
 *   {cluster: true}             the server
 *   {anyResource: true}         all of these
 *
 * A list grows by what is added to it and has each resource once.  One thread at a time; a list
 * that is not changed any more, any number. */

#include "bson/builder.h"

enum {
#define X(name, text) ASH_ACTION_##name,
#include "user/action.def"
#undef X
    ASH_ACTIONS
};
typedef uint64_t ash_actions; /* a set: a sum of ASH_CAN(…) */
#define ASH_CAN(name)   (UINT64_C(1) << ASH_ACTION_##name)
#define ASH_ACTIONS_ALL UINT64_MAX /* "anyAction", with those that are yet to come */

const char *ash__action_name(int action); /* "find" */

/* What who looks at a tree by a server, or changes it, needs on each collection that it is made of, in
 * the store's default database. */
enum { ASH_TREE_COLLECTIONS = 4 };
extern const char *const ash__tree_collections[ASH_TREE_COLLECTIONS];
#define ASH_CAN_LOOK   ASH_CAN(FIND)
#define ASH_CAN_CHANGE (ASH_CAN_LOOK | ASH_CAN(INSERT) | ASH_CAN(UPDATE) | ASH_CAN(REMOVE))

typedef enum ash_resource_kind {
    ASH_RESOURCE_NAMESPACE,
    ASH_RESOURCE_CLUSTER,
    ASH_RESOURCE_ANY
} ash_resource_kind;

typedef struct ash_privilege {
    ash_resource_kind kind;
    char *db; /* owned; "": any */
    char *coll;
    ash_actions actions;
} ash_privilege;

typedef struct ash_privileges {
    ash_privilege *items;
    size_t count, capacity;
} ash_privileges;
#define ASH_PRIVILEGES_INIT                                                                        \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

void ash__privileges_release(ash_privileges *p);
/* db and coll: copied; of a namespace only. */
void ash__privileges_add(ash_privileges *p, ash_resource_kind kind, const char *db,
                         const char *coll, ash_actions actions);
void ash__privileges_take(ash_privileges *p, ash_resource_kind kind, const char *db,
                          const char *coll, ash_actions actions);
void ash__privileges_add_all(ash_privileges *p, const ash_privileges *more);

/* All of these, there?  coll "": the database itself. */
bool ash__privileges_allow(const ash_privileges *p, const char *db, const char *coll,
                           ash_actions actions);
bool ash__privileges_allow_cluster(const ash_privileges *p, ash_actions actions);
/* Any of these on anything in that database? */
bool ash__privileges_reach(const ash_privileges *p, const char *db, ash_actions actions);
/* Is everything that `less` has also in p? */
bool ash__privileges_cover(const ash_privileges *p, const ash_privileges *less);

/* As an array of {resource, actions}, of that name in an open document. */
void ash__privileges_write(const ash_privileges *p, ash_builder *b, const char *name);
/* ASH_EINVAL for what is none; p may have grown. */
int ash__privileges_read(ash_privileges *p, ash_doc list, ash_error *err);

#endif
