/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_COMMAND_H
#define ASH_WIRE_COMMAND_H

/* Commands: the table of them, and what a handler is given.
 *
 * Before a handler runs, the dispatcher (wire/dispatch.h) has checked the names and types of all
 * arguments, the session, the concerns and the API version, and filled in c->op.  A handler appends
 * its fields to c->reply->body, whose root is open, and returns 0; or it fails, and what it wrote
 * is thrown away.  `ok`, times and errors are the dispatcher's to add. */

#include "wire/connection.h"

typedef struct ash_command ash_command;
typedef int (*ash_command_fn)(ash_command *c, ash_error *err);

/* Types that an argument may have.  null counts as absent unless ANY. */
enum {
    ASH_ARG_BOOL = 1, /* or a number */
    ASH_ARG_NUMBER = 2,
    ASH_ARG_STRING = 4,
    ASH_ARG_DOC = 8,
    ASH_ARG_ARRAY = 16,
    ASH_ARG_ANY = 32
};

typedef struct ash_argument {
    const char *name; /* NULL ends a list */
    unsigned types;
} ash_argument;

enum {
    ASH_COMMAND_ADMIN = 1,      /* on the database admin only */
    ASH_COMMAND_COLLECTION = 2, /* its own value names a collection */
    ASH_COMMAND_RETRYABLE = 4,  /* may carry txnNumber */
    ASH_COMMAND_READ_CONCERN = 8,
    ASH_COMMAND_WRITES = 16,
    ASH_COMMAND_LENIENT = 32,       /* ignores arguments that it does not know */
    ASH_COMMAND_TEST = 64,          /* only with test_commands */
    ASH_COMMAND_REFUSED = 128,      /* known, and always answered by an error that says why */
    ASH_COMMAND_API1 = 256,         /* belongs to MongoDB's stable API, version 1 */
    ASH_COMMAND_SNAPSHOT = 512,     /* may read at a point in time */
    ASH_COMMAND_NOT_SYSTEM = 1024,  /* not on collections that a server keeps to itself */
    ASH_COMMAND_TRANSACTION = 2048, /* may be an operation of ashlarTransact; with op.transaction
                                       set its handler may run on another thread */
    ASH_COMMAND_READS = 4096,       /* in a transaction it changes nothing */
    ASH_COMMAND_BRIEF = 8192,       /* answered from memory: in the order in which requests came */
    ASH_COMMAND_SECRET = 16384,     /* its arguments are nobody else's to see */
    ASH_COMMAND_USERS = 32768       /* changes users or roles */
};

/* What a command needs of who asks it, once the server has users (wire/access.h). */
typedef enum ash_need_kind {
    ASH_NEED_NOTHING = 1, /* it is what somebody says who has not signed in */
    ASH_NEED_LOGIN,       /* to have signed in: it is about one's own things */
    ASH_NEED_COLLECTION,  /* actions on its collection */
    ASH_NEED_DATABASE,    /* actions on its database */
    ASH_NEED_CLUSTER,     /* actions on the server */
    ASH_NEED_OWN,         /* what check() says of its arguments (wire/needs.h) */
    ASH_NEED_OWNER        /* to come through the Unix socket, without signing in */
} ash_need_kind;

typedef struct ash_need {
    ash_need_kind kind;
    ash_actions actions;
    ash_command_fn check;
} ash_need;

typedef struct ash_wire_command_info {
    const char *name;
    const char *aliases; /* other spellings, each between spaces: " ismaster isMaster "; or NULL */
    const ash_argument *arguments; /* besides its own value and those that every command takes */
    unsigned flags;
    ash_command_fn run;
    ash_need needs;
    const char *note; /* what differs from MongoDB, for docs/COMPATIBILITY.md; or NULL */
} ash_wire_command_info;

/* All commands, by name.  The arguments that every command takes are in a list of their own. */
const ash_wire_command_info *ash__wire_commands(size_t *count);
const ash_argument *ash__wire_generic_arguments(void);
const ash_wire_command_info *ash__wire_command_find(const char *name);

typedef struct ash_write_concern {
    int64_t w;          /* 1 unless given as a number */
    bool majority;      /* w: "majority" */
    bool journal;       /* j: true */
    int32_t error_code; /* it cannot be satisfied: the write is done and this is told; or 0 */
    char error_text[160];
} ash_write_concern;

enum { ASH_DB_NAME_BYTES = 64 };

struct ash_command {
    ash_server *server;
    ash_connection *connection;
    const ash_request *request;
    const ash_wire_command_info *info;
    const char *db;
    ash_doc body;
    ash_value value;  /* of the first field, which names the command */
    const char *coll; /* of ASH_COMMAND_COLLECTION */
    ash_op op;
    ash_retry_id retry; /* c->op.retry points here when retryable */
    bool retryable;     /* txnNumber was given */
    bool has_session;
    ash_session_id session;
    int64_t max_time_ms; /* 0 = none */
    int64_t await_ms;    /* of a getMore on a cursor that waits for news */
    ash_write_concern concern;
    const char *read_level; /* of the read concern; "" when not given */
    bool wants_snapshot;  /* read_level "snapshot": c->op.at_time is set before the handler runs */
    uint64_t wanted_time; /* its atClusterTime; 0 = the present */
    ash_reply *reply;
    char db_text[ASH_DB_NAME_BYTES];
};

/* What the connection says of each of its operations. */
static inline void ash__command_begin_op(ash_command *c)
{
    c->op = (ash_op)ASH_OP_INIT;
    c->op.principal = &c->connection->principal;
}

/* ---- arguments; absent and null alike ---- */

ash_value ash__arg(const ash_command *c, const char *name); /* missing if absent */
bool ash__arg_bool(const ash_command *c, const char *name, bool otherwise);
int64_t ash__arg_int64(const ash_command *c, const char *name, int64_t otherwise);
const char *ash__arg_string(const ash_command *c, const char *name, const char *otherwise);

/* A number that must not be negative: ASH_EINVAL (51024). */
int ash__arg_count(const ash_command *c, const char *name, int64_t *out, ash_error *err);

/* NULL if absent; else holder as a view of the document or array. */
const bson_t *ash__arg_bson(const ash_command *c, const char *name, bson_t *holder);
const bson_t *ash__value_bson(ash_value v, bson_t *holder); /* NULL unless document or array */

/* The field of a document as libbson's value; NULL if absent or null.  A view. */
typedef struct ash_arg_value {
    bson_t doc;
    bson_iter_t iter;
} ash_arg_value;
const bson_value_t *ash__field_value(ash_doc doc, const char *name, ash_arg_value *holder);

/* Documents from the array or the document sequence of that name, at least one and at most 100,000.
 * *out: array of views, freed by the caller with ash__free().  ASH_EINVAL: 40414 none given, 16
 * wrong number, 14 not documents. */
int ash__arg_docs(const ash_command *c, const char *name, ash_doc **out, size_t *count,
                  ash_error *err);

/* Check the fields of a document inside a command: names and types, 40415 and 14.  where: "update.
 * updates" for the message. */
int ash__check_fields(ash_doc doc, const ash_argument *allowed, const char *where, ash_error *err);

int ash__missing_argument(const ash_command *c, const char *name, ash_error *err); /* 40414 */

/* Collections system.* are a server's own, but for a few: ASH_EINVAL (73) when clients must not
 * make or fill it. */
int ash__check_system_name(const char *db, const char *coll, ash_error *err);
/* A name that a command gives: not empty, and no NUL in it, behind which nobody would look. 73. */
int ash__check_namespace(const char *name, uint32_t len_bytes, ash_error *err);

/* The collection that the command names. Freed by the caller. */
int ash__command_collection(const ash_command *c, ash_collection **out, ash_error *err);

#endif
