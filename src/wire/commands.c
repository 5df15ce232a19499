/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands.  A new one is a row here; help, listCommands and docs/COMPATIBILITY.md
 * follow from it. */
#include "wire/cmd.h"

#include "base/mem.h"
#include "wire/needs.h"

#include <stdio.h>
#include <string.h>

enum {
    BOOL = ASH_ARG_BOOL,
    NUMBER = ASH_ARG_NUMBER,
    STRING = ASH_ARG_STRING,
    DOC = ASH_ARG_DOC,
    ARRAY = ASH_ARG_ARRAY,
    ANY = ASH_ARG_ANY,
    HINT = ASH_ARG_STRING | ASH_ARG_DOC
};

#define ARGS(...) ((const ash_argument[]){__VA_ARGS__, {NULL, 0}})
#define NO_ARGS   ((const ash_argument[]){{NULL, 0}})

/* What members of a MongoDB cluster send each other ($configTime, shardVersion, …) is ignored. */
static const ash_argument generic_arguments[] = {
    {"$db", STRING},
    {"lsid", DOC},
    {"txnNumber", NUMBER},
    {"autocommit", BOOL},
    {"startTransaction", BOOL},
    {"$clusterTime", DOC},
    {"$readPreference", DOC},
    {"readConcern", DOC},
    {"writeConcern", DOC},
    {"maxTimeMS", NUMBER},
    {"maxTimeMSOpOnly", NUMBER},
    {"comment", ANY},
    {"apiVersion", STRING},
    {"apiStrict", BOOL},
    {"apiDeprecationErrors", BOOL},
    {"$audit", ANY},
    {"$client", ANY},
    {"$configServerState", ANY},
    {"$configTime", ANY},
    {"$topologyTime", ANY},
    {"$oplogQueryData", ANY},
    {"$queryOptions", ANY},
    {"$replData", ANY},
    {"clientOperationKey", ANY},
    {"databaseVersion", ANY},
    {"shardVersion", ANY},
    {"help", ANY},
    {NULL, 0},
};

/* clang-format takes the last pair of braces in these lists for a block. */
#define LIST_ARGS                                                                                  \
    {"filter", DOC}, {"nameOnly", BOOL}, {"authorizedCollections", BOOL},                          \
    {                                                                                              \
        "cursor", DOC                                                                              \
    }

#define FIND_ARGS                                                                                  \
    {"filter", DOC}, {"sort", DOC}, {"projection", DOC}, {"hint", HINT}, {"skip", NUMBER},         \
        {"limit", NUMBER}, {"batchSize", NUMBER}, {"singleBatch", BOOL}, {"allowDiskUse", BOOL},   \
        {"max", DOC}, {"min", DOC}, {"returnKey", BOOL}, {"showRecordId", BOOL},                   \
        {"tailable", BOOL}, {"awaitData", BOOL}, {"oplogReplay", BOOL}, {"noCursorTimeout", BOOL}, \
        {"allowPartialResults", BOOL}, {"collation", DOC}, {"let", DOC}, {"resumeAfter", DOC},     \
        {"requestResumeToken", BOOL},                                                              \
    {                                                                                              \
        "ashlarPastDamage", BOOL                                                                   \
    }

#define MODIFY_ARGS                                                                                \
    {"query", DOC}, {"sort", DOC}, {"remove", BOOL}, {"update", DOC | ARRAY}, {"new", BOOL},       \
        {"fields", DOC}, {"upsert", BOOL}, {"bypassDocumentValidation", BOOL}, {"collation", DOC}, \
        {"arrayFilters", ARRAY}, {"hint", HINT},                                                   \
    {                                                                                              \
        "let", DOC                                                                                 \
    }

#define CREATE_ARGS                                                                                \
    {"capped", BOOL}, {"autoIndexId", BOOL}, {"idIndex", DOC}, {"size", NUMBER}, {"max", NUMBER},  \
        {"storageEngine", DOC}, {"validator", DOC}, {"validationLevel", STRING},                   \
        {"validationAction", STRING}, {"indexOptionDefaults", DOC}, {"viewOn", STRING},            \
        {"pipeline", ARRAY}, {"collation", DOC}, {"changeStreamPreAndPostImages", DOC},            \
        {"timeseries", DOC}, {"expireAfterSeconds", ANY}, {"clusteredIndex", DOC | BOOL},          \
        {"encryptedFields", DOC}, {"flags", NUMBER},                                               \
    {                                                                                              \
        "temp", BOOL                                                                               \
    }

/* Flags of commands that read or write one collection's documents. */
enum {
    READS = ASH_COMMAND_COLLECTION | ASH_COMMAND_READ_CONCERN,
    SNAPSHOT = ASH_COMMAND_SNAPSHOT,
    LOOKS = ASH_COMMAND_TRANSACTION | ASH_COMMAND_READS,
    WRITES = ASH_COMMAND_COLLECTION | ASH_COMMAND_WRITES,
    FILLS = WRITES | ASH_COMMAND_NOT_SYSTEM,
    RETRIES = FILLS | ASH_COMMAND_RETRYABLE | ASH_COMMAND_API1 | ASH_COMMAND_TRANSACTION,
    LENIENT = ASH_COMMAND_LENIENT,
    ADMIN = ASH_COMMAND_ADMIN,
    API1 = ASH_COMMAND_API1,
    REFUSED = ASH_COMMAND_REFUSED,
    BRIEF = ASH_COMMAND_BRIEF,
    SECRET = ASH_COMMAND_SECRET,
    USERS = ASH_COMMAND_WRITES | ASH_COMMAND_USERS
};

#define NO_TRANSACTIONS "answers 263: there are no transactions for clients"
#define NO_RESTRICTIONS "authenticationRestrictions answer 238"

/* Users' passwords; the mechanisms to keep credentials for. */
#define USER_ARGS                                                                                  \
    {"pwd", STRING}, {"roles", ARRAY}, {"customData", DOC}, {"mechanisms", ARRAY},                 \
        {"digestPassword", BOOL},                                                                  \
    {                                                                                              \
        "authenticationRestrictions", ARRAY                                                        \
    }

/* What a command needs of who asks.  A row is written by COMMAND, which takes seven things, so that
 * one without a need does not compile. */
#define NOTHING                                                                                    \
    {                                                                                              \
        ASH_NEED_NOTHING, 0, NULL                                                                  \
    }
#define LOGIN                                                                                      \
    {                                                                                              \
        ASH_NEED_LOGIN, 0, NULL                                                                    \
    }
#define OWNER                                                                                      \
    {                                                                                              \
        ASH_NEED_OWNER, 0, NULL                                                                    \
    }
#define COLLECTION(action)                                                                         \
    {                                                                                              \
        ASH_NEED_COLLECTION, ASH_CAN(action), NULL                                                 \
    }
#define DATABASE(action)                                                                           \
    {                                                                                              \
        ASH_NEED_DATABASE, ASH_CAN(action), NULL                                                   \
    }
#define CLUSTER(action)                                                                            \
    {                                                                                              \
        ASH_NEED_CLUSTER, ASH_CAN(action), NULL                                                    \
    }
#define OWN(check)                                                                                 \
    {                                                                                              \
        ASH_NEED_OWN, 0, check                                                                     \
    }
#define COMMAND(name, aliases, args, flags, run, needs, note)                                      \
    {                                                                                              \
        name, aliases, args, flags, run, needs, note                                               \
    }

/* In the order of their names. */
static const ash_wire_command_info commands[] = {
    COMMAND("abortTransaction", NULL, NO_ARGS, ADMIN | API1 | REFUSED | LENIENT,
            ash__run_refuse_transaction, LOGIN, NO_TRANSACTIONS),
    COMMAND(
        "aggregate", NULL,
        ARGS({"pipeline", ARRAY}, {"cursor", DOC}, {"explain", BOOL}, {"allowDiskUse", BOOL},
             {"bypassDocumentValidation", BOOL}, {"collation", DOC}, {"hint", HINT}, {"let", DOC}),
        ASH_COMMAND_READ_CONCERN | ASH_COMMAND_WRITES | SNAPSHOT | API1 | LOOKS, ash__run_aggregate,
        OWN(ash__need_aggregate), "stages that are supported are listed with the aggregation"),
    COMMAND(
        "ashlarMaintain", NULL, ARGS({"action", DOC}), ADMIN, ash__run_ashlar_maintain, OWNER,
        "Ashlar's own, through the Unix socket only: checks, repairs and backups for the command"),
    COMMAND("ashlarTransact", NULL,
            ARGS({"operations", ARRAY}, {"results", ARRAY}, {"commit", BOOL}, {"session", ANY},
                 {"number", NUMBER}, {"now", ANY}, {"seed", ANY}),
            ADMIN | ASH_COMMAND_WRITES, ash__run_ashlar_transact, LOGIN,
            "Ashlar's own: the transactions of ash_store_transact, see src/wire/cmd_transact.c; "
            "operations "
            "are aggregate, count, delete, distinct, find, findAndModify, insert and update"),
    COMMAND("authenticate", NULL, ARGS({"mechanism", STRING}, {"user", STRING}), LENIENT | SECRET,
            ash__run_authenticate, NOTHING, "MONGODB-X509, over TLS; SCRAM goes by saslStart"),
    COMMAND("buildInfo", " buildinfo ", NO_ARGS, LENIENT | BRIEF, ash__run_build_info, NOTHING,
            "tells the version of the server whose behaviour is kept to, and ashlarVersion"),
    COMMAND("collMod", NULL,
            ARGS({"index", DOC}, {"validator", DOC}, {"validationLevel", STRING},
                 {"validationAction", STRING}, {"viewOn", STRING}, {"pipeline", ARRAY},
                 {"expireAfterSeconds", ANY}, {"changeStreamPreAndPostImages", DOC},
                 {"cappedSize", NUMBER}, {"cappedMax", NUMBER}, {"dryRun", BOOL}),
            WRITES | API1, ash__run_coll_mod, OWN(ash__need_coll_mod), NULL),
    COMMAND("collStats", " collstats ", ARGS({"scale", NUMBER}), READS, ash__run_coll_stats,
            COLLECTION(COLL_STATS), NULL),
    COMMAND("commitTransaction", NULL, NO_ARGS, ADMIN | API1 | REFUSED | LENIENT,
            ash__run_refuse_transaction, LOGIN, NO_TRANSACTIONS),
    COMMAND(
        "compact", NULL, ARGS({"force", BOOL}, {"freeSpaceTargetMB", NUMBER}),
        ASH_COMMAND_COLLECTION, ash__run_compact, COLLECTION(COMPACT),
        "gives back what is free in the whole store, as collections share it; freeSpaceTargetMB is "
        "ignored"),
    COMMAND("configureFailPoint", NULL, ARGS({"mode", HINT}, {"data", DOC}),
            ADMIN | ASH_COMMAND_TEST, ash__run_configure_fail_point, CLUSTER(SET_PARAMETER),
            "four fail points for driver test suites, only with --test-commands"),
    COMMAND("connectionStatus", NULL, ARGS({"showPrivileges", BOOL}), 0, ash__run_connection_status,
            NOTHING, NULL),
    COMMAND("count", NULL,
            ARGS({"query", DOC}, {"limit", NUMBER}, {"skip", NUMBER}, {"hint", HINT},
                 {"collation", DOC}, {"fields", ANY}),
            READS | API1 | LOOKS, ash__run_count, COLLECTION(FIND), NULL),
    COMMAND("create", NULL, ARGS(CREATE_ARGS), FILLS | API1, ash__run_create, OWN(ash__need_create),
            "timeseries, clusteredIndex, encryptedFields and expireAfterSeconds answer 238; a view "
            "that "
            "joins itself is made, and reading it answers 165"),
    COMMAND("createIndexes", NULL, ARGS({"indexes", ARRAY}, {"commitQuorum", ANY}), FILLS | API1,
            ash__run_create_indexes, COLLECTION(CREATE_INDEX),
            "ascending, descending and hashed keys, with TTL, unique, sparse, partial and hidden; "
            "text, "
            "2d, "
            "2dsphere and wildcard keys answer 67"),
    COMMAND("createRole", NULL,
            ARGS({"privileges", ARRAY}, {"roles", ARRAY}, {"authenticationRestrictions", ARRAY}),
            USERS, ash__run_create_role, OWN(ash__need_create_role), NO_RESTRICTIONS),
    COMMAND("createUser", NULL, ARGS(USER_ARGS), USERS | SECRET, ash__run_create_user,
            OWN(ash__need_create_user), NULL),
    COMMAND(
        "currentOp", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_current_op, OWN(ash__need_current_op),
        "filters besides are ignored; `validate`, `compact` and the work of the command tell `msg` "
        "and `progress`"),
    COMMAND("dbStats", " dbstats ", ARGS({"scale", NUMBER}, {"freeStorage", ANY}), 0,
            ash__run_db_stats, DATABASE(DB_STATS), NULL),
    COMMAND("delete", NULL,
            ARGS({"deletes", ARRAY}, {"ordered", BOOL}, {"let", DOC},
                 {"bypassDocumentValidation", BOOL}),
            RETRIES, ash__run_delete, COLLECTION(REMOVE), NULL),
    COMMAND("distinct", NULL,
            ARGS({"key", STRING}, {"query", DOC}, {"collation", DOC}, {"hint", HINT}),
            READS | SNAPSHOT | LOOKS, ash__run_distinct, COLLECTION(FIND), "hint is ignored"),
    COMMAND("drop", NULL, NO_ARGS, WRITES | API1, ash__run_drop, COLLECTION(DROP_COLLECTION), NULL),
    COMMAND("dropAllRolesFromDatabase", NULL, NO_ARGS, USERS, ash__run_drop_all_roles,
            OWN(ash__need_drop_role), NULL),
    COMMAND("dropAllUsersFromDatabase", NULL, NO_ARGS, USERS, ash__run_drop_all_users,
            OWN(ash__need_drop_user), NULL),
    COMMAND("dropDatabase", NULL, NO_ARGS, ASH_COMMAND_WRITES | API1, ash__run_drop_database,
            OWN(ash__need_drop_database), NULL),
    COMMAND("dropIndexes", " deleteIndexes ", ARGS({"index", STRING | DOC | ARRAY}), WRITES | API1,
            ash__run_drop_indexes, COLLECTION(DROP_INDEX), NULL),
    COMMAND("dropRole", NULL, NO_ARGS, USERS, ash__run_drop_role, OWN(ash__need_drop_role), NULL),
    COMMAND("dropUser", NULL, NO_ARGS, USERS, ash__run_drop_user, OWN(ash__need_drop_user), NULL),
    COMMAND("endSessions", NULL, NO_ARGS, API1, ash__run_end_sessions, LOGIN, NULL),
    COMMAND("explain", NULL, ARGS({"verbosity", STRING}), API1, ash__run_explain,
            OWN(ash__need_explain),
            "shows how documents are found: COLLSCAN, IXSCAN, OR, SORT_MERGE and FETCH below "
            "PROJECTION, "
            "SORT, SKIP and LIMIT; there are no IDHACK, COUNT, UPDATE and DELETE stages, and "
            "no "
            "bounds of min and max"),
    COMMAND("filemd5", NULL, ARGS({"root", STRING}), 0, ash__run_filemd5, OWN(ash__need_filemd5),
            NULL),
    COMMAND(
        "find", NULL, ARGS(FIND_ARGS), READS | SNAPSHOT | API1 | LOOKS, ash__run_find,
        COLLECTION(FIND),
        "returnKey and resume tokens answer 238; with ashlarPastDamage, Ashlar's own, a batch "
        "tells "
        "of a "
        "document that cannot be read as {$ashlarDamage: {code, errmsg}}, and the cursor goes on"),
    COMMAND("findAndModify", " findandmodify ", ARGS(MODIFY_ARGS), RETRIES,
            ash__run_find_and_modify, OWN(ash__need_modify), NULL),
    COMMAND("fsync", NULL, ARGS({"async", BOOL}, {"lock", BOOL}), ADMIN, ash__run_fsync,
            CLUSTER(FSYNC), "lock answers 238"),
    COMMAND("getCmdLineOpts", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_get_cmd_line_opts,
            CLUSTER(GET_CMD_LINE_OPTS), NULL),
    COMMAND("getLastError", " getlasterror ",
            ARGS({"w", ANY}, {"j", ANY}, {"wtimeout", ANY}, {"fsync", ANY}), 0,
            ash__run_get_last_error, LOGIN,
            "tells of the last write command of the connection; removed from MongoDB in 5.1"),
    COMMAND("getLog", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_get_log, CLUSTER(GET_LOG),
            "logs are always empty"),
    COMMAND("getMore", NULL,
            ARGS({"collection", STRING}, {"batchSize", NUMBER}, {"term", NUMBER},
                 {"lastKnownCommittedOpTime", ANY}),
            API1, ash__run_get_more, OWN(ash__need_get_more),
            "waits of more than 60 s end with an empty batch"),
    COMMAND("getParameter", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_get_parameter,
            CLUSTER(GET_PARAMETER), "few parameters exist"),
    COMMAND("getnonce", NULL, NO_ARGS, LENIENT, ash__run_getnonce, NOTHING,
            "removed from MongoDB in 6.2"),
    COMMAND("grantPrivilegesToRole", NULL, ARGS({"privileges", ARRAY}), USERS,
            ash__run_grant_privileges, OWN(ash__need_grant_to_role), NULL),
    COMMAND("grantRolesToRole", NULL, ARGS({"roles", ARRAY}), USERS, ash__run_grant_roles_to_role,
            OWN(ash__need_grant_to_role), NULL),
    COMMAND("grantRolesToUser", NULL, ARGS({"roles", ARRAY}), USERS, ash__run_grant_roles_to_user,
            OWN(ash__need_grant_to_user), NULL),
    COMMAND("hello", NULL, NO_ARGS, LENIENT | API1, ash__run_hello, NOTHING,
            "no topologyVersion, so no streaming"),
    COMMAND("hostInfo", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_host_info, CLUSTER(HOST_INFO),
            NULL),
    COMMAND("insert", NULL,
            ARGS({"documents", ARRAY}, {"ordered", BOOL}, {"bypassDocumentValidation", BOOL}),
            RETRIES, ash__run_insert, COLLECTION(INSERT), NULL),
    COMMAND("isMaster", " ismaster ", NO_ARGS, LENIENT, ash__run_ismaster, NOTHING, NULL),
    COMMAND("killAllSessions", " killAllSessionsByPattern ", NO_ARGS, 0, ash__run_kill_all_sessions,
            CLUSTER(KILL_ANY_SESSION), "ends the sessions of everybody"),
    COMMAND("killCursors", NULL, ARGS({"cursors", ARRAY}), ASH_COMMAND_COLLECTION | API1,
            ash__run_kill_cursors, LOGIN, NULL),
    COMMAND("killOp", NULL, ARGS({"op", NUMBER}), ADMIN, ash__run_kill_op, LOGIN, NULL),
    COMMAND("killSessions", NULL, NO_ARGS, 0, ash__run_end_sessions, LOGIN, NULL),
    COMMAND("listCollections", NULL, ARGS(LIST_ARGS), API1, ash__run_list_collections,
            OWN(ash__need_list_collections), NULL),
    COMMAND("listCommands", NULL, NO_ARGS, LENIENT, ash__run_list_commands, LOGIN, NULL),
    COMMAND("listDatabases", NULL,
            ARGS({"filter", DOC}, {"nameOnly", BOOL}, {"authorizedDatabases", BOOL}), ADMIN | API1,
            ash__run_list_databases, LOGIN,
            "filter: {name: text} or {name: {$in: […]}} only, others answer 238"),
    COMMAND("listIndexes", NULL, ARGS({"cursor", DOC}, {"includeBuildUUIDs", BOOL}),
            ASH_COMMAND_COLLECTION | API1 | BRIEF, ash__run_list_indexes, COLLECTION(LIST_INDEXES),
            NULL),
    COMMAND("logout", NULL, NO_ARGS, 0, ash__run_logout, NOTHING, NULL),
    COMMAND("ping", NULL, NO_ARGS, LENIENT | API1 | BRIEF, ash__run_ping, NOTHING, NULL),
    COMMAND("profile", NULL, ARGS({"slowms", NUMBER}, {"sampleRate", NUMBER}, {"filter", ANY}), 0,
            ash__run_profile, DATABASE(ENABLE_PROFILER),
            "levels 1 and 2 answer 238: slow operations go to the log"),
    COMMAND("refreshSessions", NULL, NO_ARGS, API1, ash__run_refresh_sessions, LOGIN, NULL),
    COMMAND("renameCollection", NULL,
            ARGS({"to", STRING}, {"dropTarget", BOOL}, {"stayTemp", BOOL}), ADMIN | WRITES,
            ash__run_rename_collection, OWN(ash__need_rename), NULL),
    COMMAND("replSetGetConfig", NULL, ARGS({"commitmentStatus", BOOL}), ADMIN,
            ash__run_repl_set_get_config, CLUSTER(REPL_SET_GET_CONFIG), NULL),
    COMMAND("replSetGetStatus", NULL, ARGS({"initialSync", ANY}), ADMIN,
            ash__run_repl_set_get_status, CLUSTER(REPL_SET_GET_STATUS), NULL),
    COMMAND("revokePrivilegesFromRole", NULL, ARGS({"privileges", ARRAY}), USERS,
            ash__run_revoke_privileges, OWN(ash__need_grant_to_role), NULL),
    COMMAND("revokeRolesFromRole", NULL, ARGS({"roles", ARRAY}), USERS,
            ash__run_revoke_roles_from_role, OWN(ash__need_grant_to_role), NULL),
    COMMAND("revokeRolesFromUser", NULL, ARGS({"roles", ARRAY}), USERS,
            ash__run_revoke_roles_from_user, OWN(ash__need_grant_to_user), NULL),
    COMMAND("rolesInfo", NULL,
            ARGS({"showPrivileges", ANY}, {"showBuiltinRoles", BOOL},
                 {"showAuthenticationRestrictions", BOOL}),
            0, ash__run_roles_info, OWN(ash__need_view_roles),
            "showPrivileges \"asUserFragment\" is taken for true"),
    COMMAND("saslContinue", NULL, NO_ARGS, LENIENT | SECRET, ash__run_sasl_continue, NOTHING, NULL),
    COMMAND("saslStart", NULL, ARGS({"mechanism", STRING}), LENIENT | SECRET, ash__run_sasl_start,
            NOTHING, "SCRAM-SHA-1 and SCRAM-SHA-256, without channel binding"),
    COMMAND("serverStatus", NULL, NO_ARGS, LENIENT, ash__run_server_status, CLUSTER(SERVER_STATUS),
            NULL),
    COMMAND("startSession", NULL, NO_ARGS, 0, ash__run_start_session, LOGIN, NULL),
    COMMAND("update", NULL,
            ARGS({"updates", ARRAY}, {"ordered", BOOL}, {"bypassDocumentValidation", BOOL},
                 {"let", DOC}),
            RETRIES, ash__run_update, OWN(ash__need_update), NULL),
    COMMAND("updateRole", NULL,
            ARGS({"privileges", ARRAY}, {"roles", ARRAY}, {"authenticationRestrictions", ARRAY}),
            USERS, ash__run_update_role, OWN(ash__need_create_role), NO_RESTRICTIONS),
    COMMAND("updateUser", NULL, ARGS(USER_ARGS), USERS | SECRET, ash__run_update_user,
            OWN(ash__need_update_user), NULL),
    COMMAND("usersInfo", NULL,
            ARGS({"showCredentials", BOOL}, {"showCustomData", BOOL}, {"showPrivileges", BOOL},
                 {"showAuthenticationRestrictions", BOOL}, {"filter", DOC}),
            0, ash__run_users_info, OWN(ash__need_view_users),
            "filter: on fields by name, not on credentials and without operators around them"),
    COMMAND("validate", NULL,
            ARGS({"full", BOOL}, {"scandata", BOOL}, {"repair", BOOL}, {"background", BOOL},
                 {"checkBSONConformance", BOOL}, {"metadata", BOOL}),
            ASH_COMMAND_COLLECTION, ash__run_validate, COLLECTION(VALIDATE), NULL),
    COMMAND("whatsmyuri", NULL, NO_ARGS, 0, ash__run_whatsmyuri, NOTHING, NULL),
};

const ash_wire_command_info *ash__wire_commands(size_t *count)
{
    *count = ASH_ARRAY_LEN(commands);
    return commands;
}

const ash_argument *ash__wire_generic_arguments(void)
{
    return generic_arguments;
}

const ash_wire_command_info *ash__wire_command_find(const char *name)
{
    char padded[64];
    /* A name with a space would match across the spaces of the lists. */
    if (strchr(name, ' ') != NULL ||
        snprintf(padded, sizeof padded, " %s ", name) >= (int)sizeof padded)
        return NULL;
    for (size_t i = 0; i < ASH_ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0 ||
            (commands[i].aliases != NULL && strstr(commands[i].aliases, padded) != NULL))
            return &commands[i];
    return NULL;
}
