/* SPDX-License-Identifier: Apache-2.0 */
/* What each built-in role allows, as MongoDB 7.0 documents it, of the actions that there are. */
#include "user/builtin.h"

#include "base/mem.h"

#include <string.h>

#define READ                                                                                       \
    (ASH_CAN(FIND) | ASH_CAN(CHANGE_STREAM) | ASH_CAN(COLL_STATS) | ASH_CAN(DB_HASH) |             \
     ASH_CAN(DB_STATS) | ASH_CAN(KILL_CURSORS) | ASH_CAN(LIST_COLLECTIONS) |                       \
     ASH_CAN(LIST_INDEXES) | ASH_CAN(PLAN_CACHE_READ))
#define READ_WRITE                                                                                 \
    (READ | ASH_CAN(INSERT) | ASH_CAN(UPDATE) | ASH_CAN(REMOVE) | ASH_CAN(CREATE_COLLECTION) |     \
     ASH_CAN(CREATE_INDEX) | ASH_CAN(DROP_COLLECTION) | ASH_CAN(DROP_INDEX) |                      \
     ASH_CAN(CONVERT_TO_CAPPED) | ASH_CAN(RENAME_COLLECTION_SAME_DB))
#define DB_ADMIN                                                                                   \
    (ASH_CAN(BYPASS_DOCUMENT_VALIDATION) | ASH_CAN(COLL_MOD) | ASH_CAN(COLL_STATS) |               \
     ASH_CAN(COMPACT) | ASH_CAN(CONVERT_TO_CAPPED) | ASH_CAN(CREATE_COLLECTION) |                  \
     ASH_CAN(CREATE_INDEX) | ASH_CAN(DB_STATS) | ASH_CAN(DROP_COLLECTION) |                        \
     ASH_CAN(DROP_DATABASE) | ASH_CAN(DROP_INDEX) | ASH_CAN(ENABLE_PROFILER) |                     \
     ASH_CAN(INDEX_STATS) | ASH_CAN(LIST_COLLECTIONS) | ASH_CAN(LIST_INDEXES) |                    \
     ASH_CAN(PLAN_CACHE_READ) | ASH_CAN(PLAN_CACHE_WRITE) | ASH_CAN(PLAN_CACHE_INDEX_FILTER) |     \
     ASH_CAN(RENAME_COLLECTION_SAME_DB) | ASH_CAN(STORAGE_DETAILS) | ASH_CAN(VALIDATE))
#define USER_ADMIN                                                                                 \
    (ASH_CAN(CHANGE_CUSTOM_DATA) | ASH_CAN(CHANGE_PASSWORD) | ASH_CAN(CREATE_ROLE) |               \
     ASH_CAN(CREATE_USER) | ASH_CAN(DROP_ROLE) | ASH_CAN(DROP_USER) | ASH_CAN(GRANT_ROLE) |        \
     ASH_CAN(REVOKE_ROLE) | ASH_CAN(SET_AUTHENTICATION_RESTRICTION) | ASH_CAN(VIEW_ROLE) |         \
     ASH_CAN(VIEW_USER))
#define MONITOR                                                                                    \
    (ASH_CAN(CONN_POOL_STATS) | ASH_CAN(GET_CMD_LINE_OPTS) | ASH_CAN(GET_LOG) |                    \
     ASH_CAN(GET_PARAMETER) | ASH_CAN(HOST_INFO) | ASH_CAN(INPROG) | ASH_CAN(LIST_DATABASES) |     \
     ASH_CAN(LIST_SESSIONS) | ASH_CAN(REPL_SET_GET_CONFIG) | ASH_CAN(REPL_SET_GET_STATUS) |        \
     ASH_CAN(SERVER_STATUS) | ASH_CAN(TOP))
#define MONITOR_DB                                                                                 \
    (ASH_CAN(COLL_STATS) | ASH_CAN(DB_STATS) | ASH_CAN(INDEX_STATS) | ASH_CAN(USE_UUID))
#define HOST                                                                                       \
    (ASH_CAN(FSYNC) | ASH_CAN(KILLOP) | ASH_CAN(KILL_ANY_CURSOR) | ASH_CAN(KILL_ANY_SESSION) |     \
     ASH_CAN(LOG_ROTATE) | ASH_CAN(SET_PARAMETER) | ASH_CAN(SHUTDOWN))
#define BACKUP_CLUSTER                                                                             \
    (ASH_CAN(APPEND_OPLOG_NOTE) | ASH_CAN(GET_PARAMETER) | ASH_CAN(LIST_DATABASES) |               \
     ASH_CAN(SERVER_STATUS))
#define BACKUP_DATA                                                                                \
    (ASH_CAN(FIND) | ASH_CAN(LIST_COLLECTIONS) | ASH_CAN(LIST_INDEXES) | ASH_CAN(COLL_STATS))
#define RESTORE                                                                                    \
    (ASH_CAN(BYPASS_DOCUMENT_VALIDATION) | ASH_CAN(COLL_MOD) | ASH_CAN(CONVERT_TO_CAPPED) |        \
     ASH_CAN(CREATE_COLLECTION) | ASH_CAN(CREATE_INDEX) | ASH_CAN(DROP_COLLECTION) |               \
     ASH_CAN(INSERT) | ASH_CAN(LIST_COLLECTIONS))
#define RESTORE_USERS                                                                              \
    (RESTORE | ASH_CAN(FIND) | ASH_CAN(UPDATE) | ASH_CAN(REMOVE) | ASH_CAN(CREATE_ROLE) |          \
     ASH_CAN(CREATE_USER) | ASH_CAN(DROP_ROLE) | ASH_CAN(DROP_USER) | ASH_CAN(GRANT_ROLE) |        \
     ASH_CAN(REVOKE_ROLE) | ASH_CAN(VIEW_ROLE) | ASH_CAN(VIEW_USER) | ASH_CAN(CHANGE_PASSWORD) |   \
     ASH_CAN(CHANGE_CUSTOM_DATA))

/* OWN: the role's database; EVERY: all; each with its system.js.  USERS: admin's system.users and
 * system.roles. */
typedef struct part {
    enum { NOTHING, OWN, EVERY, USERS, CLUSTER, ANYTHING } where;
    ash_actions actions;
} part;

typedef struct builtin {
    const char *name;
    bool admin_only;
    part parts[3];
} builtin;

static const builtin builtins[] = {
    {"read", false, {{OWN, READ}}},
    {"readWrite", false, {{OWN, READ_WRITE}}},
    {"dbAdmin", false, {{OWN, DB_ADMIN}}},
    {"userAdmin", false, {{OWN, USER_ADMIN}}},
    {"dbOwner", false, {{OWN, READ_WRITE | DB_ADMIN | USER_ADMIN}}},
    {"readAnyDatabase", true, {{EVERY, READ}, {CLUSTER, ASH_CAN(LIST_DATABASES)}}},
    {"readWriteAnyDatabase", true, {{EVERY, READ_WRITE}, {CLUSTER, ASH_CAN(LIST_DATABASES)}}},
    {"dbAdminAnyDatabase", true, {{EVERY, DB_ADMIN}, {CLUSTER, ASH_CAN(LIST_DATABASES)}}},
    {"userAdminAnyDatabase",
     true,
     {{EVERY, USER_ADMIN},
      {CLUSTER, ASH_CAN(LIST_DATABASES)},
      {USERS, ASH_CAN(FIND) | ASH_CAN(COLL_STATS) | ASH_CAN(LIST_INDEXES)}}},
    {"clusterMonitor", true, {{EVERY, MONITOR_DB}, {CLUSTER, MONITOR}}},
    {"hostManager", true, {{EVERY, ASH_CAN(KILL_CURSORS)}, {CLUSTER, HOST}}},
    {"clusterAdmin",
     true,
     {{EVERY, MONITOR_DB | ASH_CAN(KILL_CURSORS) | ASH_CAN(DROP_DATABASE)},
      {CLUSTER, MONITOR | HOST | ASH_CAN(APPEND_OPLOG_NOTE)}}},
    {"backup", true, {{EVERY, BACKUP_DATA}, {CLUSTER, BACKUP_CLUSTER}, {USERS, BACKUP_DATA}}},
    {"restore",
     true,
     {{EVERY, RESTORE | ASH_CAN(CREATE_ROLE) | ASH_CAN(CREATE_USER) | ASH_CAN(DROP_ROLE) |
                  ASH_CAN(DROP_USER) | ASH_CAN(GRANT_ROLE) | ASH_CAN(REVOKE_ROLE) |
                  ASH_CAN(VIEW_ROLE) | ASH_CAN(VIEW_USER)},
      {CLUSTER, ASH_CAN(GET_PARAMETER) | ASH_CAN(LIST_DATABASES)},
      {USERS, RESTORE_USERS}}},
    {"root",
     true,
     {{EVERY, READ_WRITE | DB_ADMIN | USER_ADMIN | MONITOR_DB | RESTORE | BACKUP_DATA},
      {CLUSTER, MONITOR | HOST | BACKUP_CLUSTER},
      {USERS, RESTORE_USERS}}},
    {"__system", true, {{ANYTHING, ASH_ACTIONS_ALL}}},
};

static const builtin *find(const char *role, const char *db)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(builtins); i++)
        if (strcmp(builtins[i].name, role) == 0)
            return builtins[i].admin_only && strcmp(db, "admin") != 0 ? NULL : &builtins[i];
    return NULL;
}

bool ash__role_is_builtin(const char *role, const char *db)
{
    return find(role, db) != NULL;
}

const char *ash__role_builtin_name(const char *db, size_t index)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(builtins); i++)
        if (find(builtins[i].name, db) != NULL && index-- == 0)
            return builtins[i].name;
    return NULL;
}

static void add(ash_privileges *out, const part *p, const char *db)
{
    const ash_resource_kind ns = ASH_RESOURCE_NAMESPACE;
    switch (p->where) {
    case NOTHING:
        return;
    case OWN:
    case EVERY:
        db = p->where == OWN ? db : "";
        ash__privileges_add(out, ns, db, "", p->actions);
        if ((p->actions & (READ_WRITE | RESTORE)) != 0)
            ash__privileges_add(out, ns, db, "system.js", p->actions & (READ_WRITE | RESTORE));
        return;
    case USERS:
        ash__privileges_add(out, ns, "admin", "system.users", p->actions);
        ash__privileges_add(out, ns, "admin", "system.roles", p->actions);
        return;
    case CLUSTER:
        ash__privileges_add(out, ASH_RESOURCE_CLUSTER, NULL, NULL, p->actions);
        return;
    case ANYTHING:
        ash__privileges_add(out, ASH_RESOURCE_ANY, NULL, NULL, p->actions);
        return;
    }
}

bool ash__role_builtin(const char *role, const char *db, ash_privileges *out)
{
    const builtin *b = find(role, db);
    if (b == NULL)
        return false;
    for (size_t i = 0; i < ASH_ARRAY_LEN(b->parts); i++)
        add(out, &b->parts[i], db);
    return true;
}
