/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands.  A new one is a row here; help, listCommands and docs/COMPATIBILITY.md
 * follow from it. */
#include "wire/cmd.h"

#include "base/mem.h"

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
    BRIEF = ASH_COMMAND_BRIEF
};

#define NO_TRANSACTIONS "answers 263: there are no transactions for clients"
#define NO_USERS        "answers 115: there are no users"
#define NO_SASL         "answers 334: there is no authentication"

/* In the order of their names. */
static const ash_wire_command_info commands[] = {
    {"abortTransaction", NULL, NO_ARGS, ADMIN | API1 | REFUSED | LENIENT,
     ash__run_refuse_transaction, NO_TRANSACTIONS},
    {"aggregate", NULL,
     ARGS({"pipeline", ARRAY}, {"cursor", DOC}, {"explain", BOOL}, {"allowDiskUse", BOOL},
          {"bypassDocumentValidation", BOOL}, {"collation", DOC}, {"hint", HINT}, {"let", DOC}),
     ASH_COMMAND_READ_CONCERN | ASH_COMMAND_WRITES | SNAPSHOT | API1 | LOOKS, ash__run_aggregate,
     "stages that are supported are listed with the aggregation"},
    {"ashlarMaintain", NULL, ARGS({"action", DOC}), ADMIN, ash__run_ashlar_maintain,
     "Ashlar's own, through the Unix socket only: checks, repairs and backups for the command"},
    {"ashlarTransact", NULL,
     ARGS({"operations", ARRAY}, {"results", ARRAY}, {"commit", BOOL}, {"session", ANY},
          {"number", NUMBER}, {"now", ANY}, {"seed", ANY}),
     ADMIN | ASH_COMMAND_WRITES, ash__run_ashlar_transact,
     "Ashlar's own: the transactions of ash_store_transact, see src/wire/cmd_transact.c; "
     "operations "
     "are aggregate, count, delete, distinct, find, findAndModify, insert and update"},
    {"buildInfo", " buildinfo ", NO_ARGS, LENIENT | BRIEF, ash__run_build_info,
     "tells the version of the server whose behaviour is kept to, and ashlarVersion"},
    {"collMod", NULL,
     ARGS({"index", DOC}, {"validator", DOC}, {"validationLevel", STRING},
          {"validationAction", STRING}, {"viewOn", STRING}, {"pipeline", ARRAY},
          {"expireAfterSeconds", ANY}, {"changeStreamPreAndPostImages", DOC},
          {"cappedSize", NUMBER}, {"cappedMax", NUMBER}, {"dryRun", BOOL}),
     WRITES | API1, ash__run_coll_mod, NULL},
    {"collStats", " collstats ", ARGS({"scale", NUMBER}), READS, ash__run_coll_stats, NULL},
    {"commitTransaction", NULL, NO_ARGS, ADMIN | API1 | REFUSED | LENIENT,
     ash__run_refuse_transaction, NO_TRANSACTIONS},
    {"compact", NULL, ARGS({"force", BOOL}, {"freeSpaceTargetMB", NUMBER}), ASH_COMMAND_COLLECTION,
     ash__run_compact,
     "gives back what is free in the whole store, as collections share it; freeSpaceTargetMB is "
     "ignored"},
    {"configureFailPoint", NULL, ARGS({"mode", HINT}, {"data", DOC}), ADMIN | ASH_COMMAND_TEST,
     ash__run_configure_fail_point,
     "four fail points for driver test suites, only with --test-commands"},
    {"connectionStatus", NULL, ARGS({"showPrivileges", BOOL}), 0, ash__run_connection_status, NULL},
    {"count", NULL,
     ARGS({"query", DOC}, {"limit", NUMBER}, {"skip", NUMBER}, {"hint", HINT}, {"collation", DOC},
          {"fields", ANY}),
     READS | API1 | LOOKS, ash__run_count, NULL},
    {"create", NULL, ARGS(CREATE_ARGS), FILLS | API1, ash__run_create,
     "timeseries, clusteredIndex, encryptedFields and expireAfterSeconds answer 238; a view that "
     "joins itself is made, and reading it answers 165"},
    {"createIndexes", NULL, ARGS({"indexes", ARRAY}, {"commitQuorum", ANY}), FILLS | API1,
     ash__run_create_indexes,
     "ascending, descending and hashed keys, with TTL, unique, sparse, partial and hidden; text, "
     "2d, "
     "2dsphere and wildcard keys answer 67"},
    {"createUser", NULL, NO_ARGS, LENIENT | REFUSED, ash__run_refuse_users, NO_USERS},
    {"currentOp", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_current_op,
     "filters besides are ignored; `validate`, `compact` and the work of the command tell `msg` "
     "and `progress`"},
    {"dbStats", " dbstats ", ARGS({"scale", NUMBER}, {"freeStorage", ANY}), 0, ash__run_db_stats,
     NULL},
    {"delete", NULL,
     ARGS({"deletes", ARRAY}, {"ordered", BOOL}, {"let", DOC}, {"bypassDocumentValidation", BOOL}),
     RETRIES, ash__run_delete, NULL},
    {"distinct", NULL, ARGS({"key", STRING}, {"query", DOC}, {"collation", DOC}, {"hint", HINT}),
     READS | SNAPSHOT | LOOKS, ash__run_distinct, "hint is ignored"},
    {"drop", NULL, NO_ARGS, WRITES | API1, ash__run_drop, NULL},
    {"dropAllUsersFromDatabase", NULL, NO_ARGS, LENIENT | REFUSED, ash__run_refuse_users, NO_USERS},
    {"dropDatabase", NULL, NO_ARGS, ASH_COMMAND_WRITES | API1, ash__run_drop_database, NULL},
    {"dropIndexes", " deleteIndexes ", ARGS({"index", STRING | DOC | ARRAY}), WRITES | API1,
     ash__run_drop_indexes, NULL},
    {"dropUser", NULL, NO_ARGS, LENIENT | REFUSED, ash__run_refuse_users, NO_USERS},
    {"endSessions", NULL, NO_ARGS, API1, ash__run_end_sessions, NULL},
    {"explain", NULL, ARGS({"verbosity", STRING}), API1, ash__run_explain,
     "shows how documents are found: COLLSCAN, IXSCAN, OR, SORT_MERGE and FETCH below PROJECTION, "
     "SORT, SKIP and LIMIT; there are no IDHACK, COUNT, UPDATE and DELETE stages, and "
     "no "
     "bounds of min and max"},
    {"filemd5", NULL, ARGS({"root", STRING}), 0, ash__run_filemd5, NULL},
    {"find", NULL, ARGS(FIND_ARGS), READS | SNAPSHOT | API1 | LOOKS, ash__run_find,
     "returnKey and resume tokens answer 238; with ashlarPastDamage, Ashlar's own, a batch tells "
     "of a "
     "document that cannot be read as {$ashlarDamage: {code, errmsg}}, and the cursor goes on"},
    {"findAndModify", " findandmodify ", ARGS(MODIFY_ARGS), RETRIES, ash__run_find_and_modify,
     NULL},
    {"fsync", NULL, ARGS({"async", BOOL}, {"lock", BOOL}), ADMIN, ash__run_fsync,
     "lock answers 238"},
    {"getCmdLineOpts", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_get_cmd_line_opts, NULL},
    {"getLastError", " getlasterror ",
     ARGS({"w", ANY}, {"j", ANY}, {"wtimeout", ANY}, {"fsync", ANY}), 0, ash__run_get_last_error,
     "tells of the last write command of the connection; removed from MongoDB in 5.1"},
    {"getLog", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_get_log, "logs are always empty"},
    {"getMore", NULL,
     ARGS({"collection", STRING}, {"batchSize", NUMBER}, {"term", NUMBER},
          {"lastKnownCommittedOpTime", ANY}),
     API1, ash__run_get_more, "waits of more than 60 s end with an empty batch"},
    {"getParameter", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_get_parameter,
     "few parameters exist"},
    {"getnonce", NULL, NO_ARGS, LENIENT, ash__run_getnonce, "removed from MongoDB in 6.2"},
    {"hello", NULL, NO_ARGS, LENIENT | API1, ash__run_hello, "no topologyVersion, so no streaming"},
    {"hostInfo", NULL, NO_ARGS, ADMIN | LENIENT, ash__run_host_info, NULL},
    {"insert", NULL,
     ARGS({"documents", ARRAY}, {"ordered", BOOL}, {"bypassDocumentValidation", BOOL}), RETRIES,
     ash__run_insert, NULL},
    {"isMaster", " ismaster ", NO_ARGS, LENIENT, ash__run_ismaster, NULL},
    {"killAllSessions", " killAllSessionsByPattern ", NO_ARGS, 0, ash__run_kill_all_sessions,
     "ends the sessions of everybody: there are no users"},
    {"killCursors", NULL, ARGS({"cursors", ARRAY}), ASH_COMMAND_COLLECTION | API1,
     ash__run_kill_cursors, NULL},
    {"killOp", NULL, ARGS({"op", NUMBER}), ADMIN, ash__run_kill_op, NULL},
    {"killSessions", NULL, NO_ARGS, 0, ash__run_end_sessions, NULL},
    {"listCollections", NULL, ARGS(LIST_ARGS), API1, ash__run_list_collections, NULL},
    {"listCommands", NULL, NO_ARGS, LENIENT, ash__run_list_commands, NULL},
    {"listDatabases", NULL,
     ARGS({"filter", DOC}, {"nameOnly", BOOL}, {"authorizedDatabases", BOOL}), ADMIN | API1,
     ash__run_list_databases, "filter: {name: text} or {name: {$in: […]}} only, others answer 238"},
    {"listIndexes", NULL, ARGS({"cursor", DOC}, {"includeBuildUUIDs", BOOL}),
     ASH_COMMAND_COLLECTION | API1 | BRIEF, ash__run_list_indexes, NULL},
    {"logout", NULL, NO_ARGS, 0, ash__run_logout, NULL},
    {"ping", NULL, NO_ARGS, LENIENT | API1 | BRIEF, ash__run_ping, NULL},
    {"refreshSessions", NULL, NO_ARGS, API1, ash__run_refresh_sessions, NULL},
    {"renameCollection", NULL, ARGS({"to", STRING}, {"dropTarget", BOOL}, {"stayTemp", BOOL}),
     ADMIN | WRITES, ash__run_rename_collection, NULL},
    {"profile", NULL, ARGS({"slowms", NUMBER}, {"sampleRate", NUMBER}, {"filter", ANY}), 0,
     ash__run_profile, "levels 1 and 2 answer 238: slow operations go to the log"},
    {"replSetGetConfig", NULL, ARGS({"commitmentStatus", BOOL}), ADMIN,
     ash__run_repl_set_get_config, NULL},
    {"replSetGetStatus", NULL, ARGS({"initialSync", ANY}), ADMIN, ash__run_repl_set_get_status,
     NULL},
    {"saslContinue", NULL, NO_ARGS, LENIENT | REFUSED, ash__run_sasl, NO_SASL},
    {"saslStart", NULL, ARGS({"mechanism", STRING}), LENIENT | REFUSED, ash__run_sasl, NO_SASL},
    {"serverStatus", NULL, NO_ARGS, LENIENT, ash__run_server_status, NULL},
    {"startSession", NULL, NO_ARGS, 0, ash__run_start_session, NULL},
    {"updateUser", NULL, NO_ARGS, LENIENT | REFUSED, ash__run_refuse_users, NO_USERS},
    {"update", NULL,
     ARGS({"updates", ARRAY}, {"ordered", BOOL}, {"bypassDocumentValidation", BOOL}, {"let", DOC}),
     RETRIES, ash__run_update, NULL},
    {"usersInfo", NULL, NO_ARGS, LENIENT, ash__run_users_info, "there are none"},
    {"validate", NULL,
     ARGS({"full", BOOL}, {"scandata", BOOL}, {"repair", BOOL}, {"background", BOOL},
          {"checkBSONConformance", BOOL}, {"metadata", BOOL}),
     ASH_COMMAND_COLLECTION, ash__run_validate, NULL},
    {"whatsmyuri", NULL, NO_ARGS, 0, ash__run_whatsmyuri, NULL},
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
