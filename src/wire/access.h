/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_ACCESS_H
#define ASH_WIRE_ACCESS_H

/* Who a connection is, and what it may do.
 *
 * Nothing is asked of anybody while the server has no users, unless it was started to ask
 * (opts.auth).  From the first user on each command needs what its row in the table says
 * (wire/commands.c), by the privileges of who has signed in on the connection.
 *
 * The owner is who comes through the folder's Unix socket: only the account that runs the server
 * may open it (its mode is 0600, and the kernel says whose process connected), and that account can
 * read the folder's files as well.  So the command goes on to work beside users, without a password
 * of its own.  Who signs in through the socket is held to what the user may do.
 *
 * What a user may do is resolved once, and again after each change of users and roles: dropped
 * users and taken roles are gone by the next command.
 *
 * A struct ash_access is its connection's, on its thread. */

#include "base/error.h"
#include "user/usage.h"
#include "user/users.h"

#include <stdatomic.h>

enum { ASH_WHO_BYTES = 16 };
/* A digest of "user@db", all zero for who has not signed in: sessions, cursors and operations are
 * told apart by it. */
typedef struct ash_who {
    uint8_t bytes[ASH_WHO_BYTES];
} ash_who;

typedef struct ash_access {
    bool is_owner;
    bool has_failed; /* to sign in, and has not since: others come first where places are few */
    /* Who has signed in: */
    char *user; /* NULL: nobody */
    char *db;
    ash_who who;
    uint8_t user_id[16]; /* tells one of the same name that was made later */
    bson_t roles;        /* array of {role, db}; initialised while user is not NULL */
    ash_privileges privileges;
    ash_usage *usage;  /* of the user; NULL while user is */
    uint64_t known_at; /* the server's count of changes when they were resolved */
    const char *mechanism; /* that it tried last, or signed in by */
    /* An exchange that goes on: */
    ash_scram scram;
    char *scram_db; /* NULL: none */
    bool scram_known;
    bool scram_skips; /* the last, empty message need not come */
    bool scram_proved;
} ash_access;

struct ash_command;
struct ash_connection;

void ash__access_init(struct ash_connection *c);
void ash__access_release(struct ash_connection *c);
void ash__access_end_exchange(ash_access *a);

/* May it sign in from there?  Asked before a proof is acknowledged. */
bool ash__access_may_come(struct ash_connection *c, const char *user, const char *db,
                          ash_error *err);
/* The user has proved who it is.  ASH_EACCES (18) when it is gone meanwhile, ASH_EBUSY (462) when
 * it has as many connections as it may. */
int ash__access_sign_in(struct ash_connection *c, const char *user, const char *db, ash_error *err);
void ash__access_sign_out(struct ash_connection *c);

/* ---- what commands ask ---- */

/* Somebody who would have to sign in, and has not. */
bool ash__access_is_stranger(const struct ash_command *c);
/* Does anybody look at what is asked? */
bool ash__access_is_guarded(const struct ash_command *c);
/* Users exist by now, or do not any more.  For who has changed them. */
int ash__access_changed(struct ash_command *c, ash_error *err);

/* Before a command's arguments are looked at: is it for everybody, or has somebody signed in?
 * ASH_EACCES (13). */
int ash__access_enter(struct ash_command *c, ash_error *err);
/* Then: may the user have one more operation by now?  Waits for it; ASH_EBUSY (462). */
int ash__access_pace(struct ash_command *c, ash_error *err);
/* After that: what its row says.  ASH_EACCES (13). */
int ash__access_check(struct ash_command *c, ash_error *err);

/* Of the needs: true where nobody looks. */
bool ash__may(const struct ash_command *c, const char *db, const char *coll, ash_actions actions);
bool ash__may_cluster(const struct ash_command *c, ash_actions actions);
bool ash__may_reach(const struct ash_command *c, const char *db); /* anything in it */
bool ash__may_any(const struct ash_command *c, const char *db, const char *coll); /* any action */
/* May nobody but the first user be made, from this machine? */
bool ash__access_is_first(const struct ash_command *c);
/* "not authorized on DB to execute command { NAME: … }", 13. */
int ash__deny(const struct ash_command *c, ash_error *err);
/* Deny unless. */
int ash__require(const struct ash_command *c, const char *db, const char *coll, ash_actions actions,
                 ash_error *err);

#endif
