/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is told of a command is named here.  A field that is not named stays out. */
#include "wire/audit.h"

#include "audit/audit.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/cmd.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_TEXT_BYTES = 255,
    MAX_LIST_BYTES = 4096,
    MAX_IDS = 10,
    MAX_ID_BYTES = 128,
    MAX_OPERATIONS = 20
};

/* Commands with events of their own. */
typedef struct told {
    const char *command;
    const char *type;
    unsigned kind;
    const char *name;   /* what its value is called; NULL: it is a collection */
    const char *fields; /* further ones that are told, " roles privileges " */
} told;

#define USERS  ASH_AUDIT_USERS
#define STRUCT ASH_AUDIT_STRUCTURE

static const told list[] = {
    {"create", "createCollection", STRUCT, NULL, " viewOn "},
    {"createIndexes", "createIndex", STRUCT, NULL, ""},
    {"collMod", "collMod", STRUCT, NULL, " viewOn "},
    {"drop", "dropCollection", STRUCT, NULL, ""},
    {"dropDatabase", "dropDatabase", STRUCT, "", ""},
    {"dropIndexes", "dropIndex", STRUCT, NULL, " index "},
    {"renameCollection", "renameCollection", STRUCT, "old", " to dropTarget "},
    {"createUser", "createUser", USERS, "user", " roles mechanisms authenticationRestrictions "},
    {"updateUser", "updateUser", USERS, "user", " roles mechanisms authenticationRestrictions "},
    {"dropUser", "dropUser", USERS, "user", ""},
    {"dropAllUsersFromDatabase", "dropAllUsersFromDatabase", USERS, "", ""},
    {"grantRolesToUser", "grantRolesToUser", USERS, "user", " roles "},
    {"revokeRolesFromUser", "revokeRolesFromUser", USERS, "user", " roles "},
    {"createRole", "createRole", USERS, "role", " roles privileges authenticationRestrictions "},
    {"updateRole", "updateRole", USERS, "role", " roles privileges authenticationRestrictions "},
    {"dropRole", "dropRole", USERS, "role", ""},
    {"dropAllRolesFromDatabase", "dropAllRolesFromDatabase", USERS, "", ""},
    {"grantRolesToRole", "grantRolesToRole", USERS, "role", " roles "},
    {"revokeRolesFromRole", "revokeRolesFromRole", USERS, "role", " roles "},
    {"grantPrivilegesToRole", "grantPrivilegesToRole", USERS, "role", " privileges "},
    {"revokePrivilegesFromRole", "revokePrivilegesFromRole", USERS, "role", " privileges "},
};

static const told *find_told(const char *command)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(list); i++)
        if (strcmp(list[i].command, command) == 0)
            return &list[i];
    return NULL;
}

bool ash__wire_audit_knows(const char *command)
{
    return find_told(command) != NULL;
}

/* ---- kinds ---- */

static bool is_one_of(const ash_command *c, const char *names)
{
    char padded[64];
    snprintf(padded, sizeof padded, " %s ", c->info->name);
    return strstr(names, padded) != NULL;
}

/* Documents that are users, roles and what else a server has for itself. */
static bool is_system(const char *db, const char *coll)
{
    return db != NULL && coll != NULL && strcmp(db, "admin") == 0 &&
           strncmp(coll, "system.", 7) == 0;
}

/* The next operation of a transaction, its name and value first. */
static bool next_operation(ash_doc_iter *it, ash_doc_iter *first, const char **db)
{
    while (ash__doc_iter_next(it)) {
        if (it->value.type != BSON_TYPE_DOCUMENT)
            continue;
        *first = ash__doc_iter(ash__value_doc(it->value));
        *db = ash__doc_utf8(ash__value_doc(it->value), "$db", "");
        if (ash__doc_iter_next(first))
            return true;
    }
    return false;
}

static ash_doc operations_of(const ash_command *c)
{
    ash_value operations = ash__arg(c, "operations");
    return operations.type == BSON_TYPE_ARRAY ? ash__value_doc(operations) : ash__doc_empty;
}

/* Nothing of a transaction stays before it is to be committed. */
static unsigned kind_of_transaction(const ash_command *c)
{
    const char *db;
    ash_doc_iter first;
    if (!ash__arg_bool(c, "commit", false))
        return ASH_AUDIT_READS;
    for (ash_doc_iter it = ash__doc_iter(operations_of(c)); next_operation(&it, &first, &db);)
        if (is_system(db, ash__value_utf8(first.value, NULL)))
            return ASH_AUDIT_WRITES | ASH_AUDIT_USERS;
    return ASH_AUDIT_WRITES;
}

static unsigned kind_of(const ash_command *c)
{
    const told *t = find_told(c->info->name);
    if (t != NULL)
        return t->kind;
    if (is_one_of(c, " saslStart saslContinue authenticate logout "))
        return ASH_AUDIT_AUTHENTICATION;
    if (is_one_of(c, " ashlarMaintain "))
        return ASH_AUDIT_STRUCTURE;
    if (is_one_of(c, " ashlarTransact "))
        return kind_of_transaction(c);
    if (!c->connection->operation.only_reads)
        return is_system(c->db, c->coll) ? ASH_AUDIT_USERS : ASH_AUDIT_WRITES;
    return is_one_of(c, " find count distinct aggregate getMore filemd5 explain ") ? ASH_AUDIT_READS
                                                                                   : 0;
}

static ash_audit *audit_of(const ash_command *c)
{
    return c->server->opts.audit;
}

int ash__wire_audit_admit(const ash_command *c, ash_error *err)
{
    const ash_access *a = &c->connection->access;
    if (audit_of(c) == NULL || (a->is_owner && a->user == NULL))
        return 0;
    return ash__audit_admit(audit_of(c), kind_of(c), err);
}

/* ---- what is told ---- */

static void add_namespace(ash_builder *b, const char *db, const char *coll)
{
    char *ns = coll != NULL ? ash__sprintf("%s.%.255s", db, coll) : ash__strdup(db);
    ash__builder_string(b, "ns", ns, (uint32_t)ash__text_good(ns, strlen(ns)));
    ash__free(ns);
}

/* Short ones, and no documents: these could have anything in them. */
static bool is_plain_id(ash_value v)
{
    return v.type != 0 && v.type != BSON_TYPE_DOCUMENT && v.type != BSON_TYPE_ARRAY &&
           v.type != BSON_TYPE_REGEX && v.type != BSON_TYPE_CODE &&
           v.type != BSON_TYPE_CODEWSCOPE && v.len <= MAX_ID_BYTES;
}

/* The statements of a write, or the one of a read; where is what has the _id in each. */
static void add_ids(const ash_command *c, const char *statements, const char *where, ash_builder *b)
{
    ash_error ignored = ASH_ERROR_INIT;
    ash_doc *docs = NULL;
    size_t count = 0;
    uint32_t shown = 0;
    if (ash__arg_docs(c, statements, &docs, &count, &ignored) != 0)
        return;
    ash__builder_int64(b, "count", (int64_t)count);
    ash__builder_begin_array(b, "ids");
    for (size_t i = 0; i < count && shown < MAX_IDS; i++) {
        ash_value in = where != NULL ? ash__doc_get(docs[i], where) : (ash_value){0};
        ash_doc doc = in.type == BSON_TYPE_DOCUMENT ? ash__value_doc(in) : docs[i];
        ash_value id = where == NULL || in.type == BSON_TYPE_DOCUMENT ? ash__doc_get(doc, "_id")
                                                                      : (ash_value){0};
        if (is_plain_id(id))
            ash__builder_item(b, shown++, id);
    }
    ash__builder_end(b);
    ash__free(docs);
}

static void add_id(const ash_command *c, const char *where, ash_builder *b)
{
    ash_value in = ash__arg(c, where);
    if (in.type != BSON_TYPE_DOCUMENT)
        return;
    ash_value id = ash__doc_get(ash__value_doc(in), "_id");
    if (!is_plain_id(id))
        return;
    ash__builder_begin_array(b, "ids");
    ash__builder_item(b, 0, id);
    ash__builder_end(b);
}

/* Of a transaction: what is done to which collections. */
static void add_operations(const ash_command *c, ash_builder *b)
{
    uint32_t shown = 0;
    char index[12];
    const char *db;
    ash_doc_iter first;
    ash__builder_begin_array(b, "operations");
    for (ash_doc_iter it = ash__doc_iter(operations_of(c));
         shown < MAX_OPERATIONS && next_operation(&it, &first, &db);) {
        char *text =
            ash__sprintf("%.60s %.63s.%.255s", first.name, db, ash__value_utf8(first.value, ""));
        ash__builder_text(b, ash__index_name(shown++, index), text);
        ash__free(text);
    }
    ash__builder_end(b);
}

/* {command, ns, count?, ids?}: MongoDB's authCheck has the whole command instead. */
static void write_check(const ash_command *c, ash_builder *b)
{
    const char *coll = c->coll != NULL ? c->coll : ash__arg_string(c, "collection", NULL);
    /* It may be on no collection. */
    if (is_one_of(c, " aggregate "))
        coll = ash__value_utf8(c->value, NULL);
    ash__builder_text(b, "command", c->info->name);
    if (c->db != NULL)
        add_namespace(b, c->db, coll);
    if (is_one_of(c, " insert "))
        add_ids(c, "documents", NULL, b);
    else if (is_one_of(c, " update "))
        add_ids(c, "updates", "q", b);
    else if (is_one_of(c, " delete "))
        add_ids(c, "deletes", "q", b);
    else if (is_one_of(c, " findAndModify count distinct "))
        add_id(c, "query", b);
    else if (is_one_of(c, " find "))
        add_id(c, "filter", b);
    else if (is_one_of(c, " ashlarTransact "))
        add_operations(c, b);
}

/* What a client says fills no log: texts are cut, and lists left out that are long. */
static void add_bounded(ash_builder *b, const char *key, ash_value v)
{
    const char *text = ash__value_utf8(v, NULL);
    if (text != NULL) {
        size_t len = strlen(text);
        size_t whole = ash__text_good(text, len < MAX_TEXT_BYTES ? len : MAX_TEXT_BYTES);
        ash__builder_string(b, key, text, (uint32_t)whole);
    } else if (v.len <= MAX_LIST_BYTES) {
        ash__builder_value(b, key, v);
    } else {
        ash__builder_text(b, key, "(too long to be told)");
    }
}

static void write_index_names(const ash_command *c, ash_builder *b)
{
    ash_value indexes = ash__arg(c, "indexes");
    uint32_t shown = 0;
    if (indexes.type != BSON_TYPE_ARRAY)
        return;
    ash__builder_begin_array(b, "indexNames");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(indexes));
         shown < MAX_IDS && ash__doc_iter_next(&it);)
        if (it.value.type == BSON_TYPE_DOCUMENT) {
            char index[12];
            add_bounded(b, ash__index_name(shown++, index),
                        ash__doc_get(ash__value_doc(it.value), "name"));
        }
    ash__builder_end(b);
}

static void write_told(const ash_command *c, const told *t, ash_builder *b)
{
    char padded[64];
    if (t->name == NULL)
        add_namespace(b, c->db, c->coll);
    else if (t->name[0] != '\0' && c->value.type == BSON_TYPE_UTF8)
        /* What is no name could have anything in it. */
        add_bounded(b, t->name, c->value);
    if (t->kind == ASH_AUDIT_USERS || (t->name != NULL && t->name[0] == '\0'))
        ash__builder_text(b, "db", c->db);
    for (ash_doc_iter it = ash__doc_iter(c->body); ash__doc_iter_next(&it);) {
        if (snprintf(padded, sizeof padded, " %s ", it.name) < (int)sizeof padded &&
            strstr(t->fields, padded) != NULL &&
            (t->kind != ASH_AUDIT_USERS || it.value.type == BSON_TYPE_ARRAY))
            add_bounded(b, it.name, it.value);
    }
    if (strcmp(t->command, "updateUser") == 0)
        ash__builder_bool(b, "newPassword", ash__arg(c, "pwd").type != 0);
    if (strcmp(t->command, "createIndexes") == 0)
        write_index_names(c, b);
}

/* ---- events ---- */

static void tell(const ash_command *c, unsigned kind, const char *type, ash_builder *param,
                 int32_t code)
{
    const ash_access *a = &c->connection->access;
    ash_audit_event e = {.kind = kind,
                         .type = type,
                         .local = c->connection->peer.local,
                         .remote = c->connection->peer.is_unix ? c->connection->peer.local
                                                               : c->connection->peer.remote,
                         .user = a->user,
                         .db = a->db,
                         .result = code};
    if (a->user != NULL)
        e.roles = ash__doc_from_bson(&a->roles);
    ash__builder_end(param);
    e.param = ash__builder_doc(param);
    ash__audit_write(audit_of(c), &e);
    ash__builder_release(param);
}

/* Of writes that were made in part: why not whole. */
static int32_t code_of_writes(const ash_command *c, int32_t code)
{
    return code == 0 && is_one_of(c, " insert update delete ") ? c->connection->last_code : code;
}

void ash__wire_audit_tell(ash_command *c, int32_t code)
{
    ash_builder param = ASH_BUILDER_INIT;
    if (audit_of(c) == NULL || c->info == NULL || c->db == NULL)
        return;
    const told *t = find_told(c->info->name);
    unsigned kind = kind_of(c);
    if (kind == ASH_AUDIT_AUTHENTICATION)
        return; /* told where it happens */
    if (code == ASH_MONGO_UNAUTHORIZED) {
        if (c->connection->access.user == NULL)
            return;
        kind |= ASH_AUDIT_AUTHENTICATION;
        t = NULL;
    }
    if (!ash__audit_wants(audit_of(c), kind))
        return;
    ash__builder_begin(&param);
    if (t != NULL)
        write_told(c, t, &param);
    else
        write_check(c, &param);
    tell(c, kind, t != NULL ? t->type : "authCheck", &param, code_of_writes(c, code));
}

void ash__wire_audit_sign_in(const ash_command *c, const ash_attempt_name *who,
                             const char *mechanism, int32_t code, int64_t failed)
{
    ash_builder param = ASH_BUILDER_INIT;
    const char *user = who->user != NULL ? who->user : "";
    if (!ash__audit_wants(audit_of(c), ASH_AUDIT_AUTHENTICATION))
        return;
    ash__builder_begin(&param);
    ash__builder_string(&param, "user", user, (uint32_t)strnlen(user, ASH_USER_NAME_BYTES));
    ash__builder_text(&param, "db", who->db != NULL ? who->db : "");
    ash__builder_text(&param, "mechanism", mechanism);
    if (failed > 0)
        ash__builder_int64(&param, "failedBesides", failed);
    tell(c, ASH_AUDIT_AUTHENTICATION, "authenticate", &param, code);
}

void ash__wire_audit_sign_out(const ash_command *c)
{
    ash_builder param = ASH_BUILDER_INIT;
    if (c->connection->access.user == NULL ||
        !ash__audit_wants(audit_of(c), ASH_AUDIT_AUTHENTICATION))
        return;
    ash__builder_begin(&param);
    tell(c, ASH_AUDIT_AUTHENTICATION, "logout", &param, 0);
}
