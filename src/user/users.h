/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_USERS_H
#define ASH_USER_USERS_H

/* Users and roles of a store, in the documents that MongoDB keeps of them:
 *
 *   admin.system.users  {_id: "DB.NAME", userId: UUID, user, db, mechanisms: […],
 *                        credentials: {"SCRAM-SHA-256": {iterationCount, salt, storedKey,
 *                        serverKey}, …} or {external: true}, customData?, roles: [{role, db}, …],
 *                        authenticationRestrictions?: [{clientSource?, serverAddress?}, …],
 *                        limits?: {connections, operations, bytes} (usage.h; Ashlar's own)}
 *   admin.system.roles  {_id: "DB.NAME", role, db, privileges: [{resource, actions}, …],
 *                        roles: [{role, db}, …]}
 *   admin.system.keys   {_id: "scram", secret}: what the salts of unknown users come from
 *
 * Each change is one write of one document, durable as the store's other writes.  What is asked is
 * answered from the store each time; callers keep what they resolved, and ask anew after a change.
 * Any thread. */

#include "user/privilege.h"
#include "user/scram.h"

#include <ashlar/store.h>

typedef struct ash_users {
    ash_store *store; /* borrowed */
    uint8_t secret[32];
} ash_users;

enum {
    ASH_USER_NAME_BYTES = 256, /* with its NUL */
    ASH_MAX_ROLES = 1000       /* that one user or role may come to, with those they inherit */
};

/* Reads the secret, or draws one, which is kept with the first user. */
int ash__users_init(ash_users *u, ash_store *store, ash_error *err);
void ash__users_release(ash_users *u); /* wipes the secret */

/* Keep the secret, unless there is one: ASH_EINVAL (73) through a server, which has its own. */
int ash__users_keep_secret(ash_users *u, ash_error *err);

/* How often users and roles of any store of this process may have changed, from 1; and once more.
 * Whoever answers requests that could change them says so before the answer leaves. */
uint64_t ash__users_changes(void);
void ash__users_changed(void);

/* Is there anybody? */
int ash__users_any(ash_users *u, bool *any, ash_error *err);

/* Which of the two a call is about. */
typedef struct ash_user_kind ash_user_kind;
extern const ash_user_kind ash__user_kind; /* system.users */
extern const ash_user_kind ash__role_kind; /* system.roles */

typedef struct ash_user_id {
    const ash_user_kind *kind;
    const char *name;
    const char *db; /* that it belongs to */
} ash_user_id;

/* Users of this database have no password: each is named as the subject of its certificate
 * (subject.h), and {external: true} is its credential. */
#define ASH_EXTERNAL_DB "$external"
bool ash__user_is_external(const ash_user_id *id);

/* ASH_ENOTFOUND: 11, 31.  *out: initialised on success, the caller destroys. */
int ash__user_find(ash_users *u, const ash_user_id *id, bson_t *out, ash_error *err);

/* What somebody of that name signs in with, found or made up so that nobody can; *known says which,
 * and is for the log. */
int ash__user_credential(ash_users *u, const ash_user_id *id, ash_scram_mechanism mechanism,
                         ash_scram_credential *out, bool *known, ash_error *err);
/* has[m]: the user can sign in by mechanism m.  A user who is not there has all, one of $external none. */
int ash__user_mechanisms(ash_users *u, const ash_user_id *id, bool has[ASH_SCRAM_MECHANISMS],
                         ash_error *err);

/* ---- changes; arguments are those of MongoDB's commands ---- */

typedef struct ash_user_change {
    const char *password;       /* NULL: stays */
    const ash_doc *roles;       /* array of names and {role, db}; NULL: stays */
    const ash_doc *privileges;  /* of a role; NULL: stays */
    const ash_doc *custom_data; /* NULL: stays */
    const ash_doc *mechanisms;  /* array of names; NULL: all, or as before */
    const ash_doc *origins;     /* authenticationRestrictions (origin.h); NULL: stays */
} ash_user_change;

/* ASH_EEXISTS (51003, 51002); ASH_ENOTFOUND (31) for a role that is not there; ASH_EINVAL (2, 80).
 */
int ash__user_create(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                     ash_error *err);
/* ASH_ENOTFOUND (11, 31). */
int ash__user_update(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                     ash_error *err);
int ash__user_drop(ash_users *u, const ash_user_id *id, ash_error *err);
int ash__user_drop_all(ash_users *u, const ash_user_kind *kind, const char *db, int64_t *count,
                       ash_error *err);
/* Roles given or taken: one that is there already, or is not, is passed over. */
int ash__user_grant(ash_users *u, const ash_user_id *id, ash_doc roles, bool grant, ash_error *err);
int ash__role_grant_privileges(ash_users *u, const ash_user_id *id, ash_doc privileges, bool grant,
                               ash_error *err);

/* Its limits from now on (user/usage.h). */
struct ash_limits;
int ash__user_set_limits(ash_users *u, const ash_user_id *id, const struct ash_limits *limits,
                         ash_error *err);

/* ---- what roles come to ---- */

/* Is {role, db} one of an array of such? */
bool ash__roles_have(ash_doc roles, ash_doc role);

/* Of an array of {role, db}: all that they allow, with all that they inherit; roles that are not
 * there any more allow nothing.  all (or NULL): an open array of the caller's, gets each once as
 * {role, db}.  ASH_ETOOBIG over ASH_MAX_ROLES. */
int ash__roles_resolve(ash_users *u, ash_doc roles, ash_privileges *out, ash_builder *all,
                       ash_error *err);

/* What a user's roles allow, and which roles are meant where a list of a tree names them without a
 * database: those of admin and of the store's default one, as whoever may make roles elsewhere could
 * make one of any name.  *out: an array of {role, db}, initialised in any case. */
int ash__user_near_roles(ash_users *u, ash_doc user, ash_privileges *privileges, bson_t *out,
                         ash_error *err);

/* Those of a database (NULL: all) that match, in the order of their _id; *out is yours. */
int ash__user_each_matching(ash_users *u, const ash_user_kind *kind, const char *db, ash_doc filter,
                            ash_cursor **out, ash_error *err);
/* All of them. */
int ash__user_each(ash_users *u, const ash_user_kind *kind, const char *db, ash_cursor **out,
                   ash_error *err);

/* ---- inside this folder ---- */

struct ash_user_kind {
    const char *collection;
    const char *field; /* "user", "role" */
    const char *noun;  /* "User", "Role" */
    int32_t missing_code, exists_code;
};
int ash__user_collection(ash_users *u, const char *name, ash_collection **out, ash_error *err);
int ash__user_missing(const ash_user_id *id, ash_error *err);
/* The array as {role, db} each, once, as the field roles of an open document; db: of those without one.
 * ASH_ENOTFOUND (31) where one is not there and must exist. */
int ash__roles_normalise(ash_users *u, ash_doc roles, const char *db, bool must_exist,
                         ash_builder *b, ash_error *err);
/* Set what the update says in one document; ASH_ENOTFOUND as above. */
int ash__user_apply(ash_users *u, const ash_user_id *id, ash_doc update, ash_error *err);
/* Would these privileges and roles do for a role?  80 when not. */
int ash__role_check(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                    ash_error *err);
/* Does any of the roles come to that one? */
int ash__roles_reach(ash_users *u, ash_doc roles, const ash_user_id *role, bool *out,
                     ash_error *err);
/* Fields credentials and mechanisms of a new password, into an open document. */
int ash__user_write_credentials(const char *name, const char *password, const ash_doc *mechanisms,
                                ash_builder *b, ash_error *err);

#endif
