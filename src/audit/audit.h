/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_AUDIT_AUDIT_H
#define ASH_AUDIT_AUDIT_H

/* An audit log: JSON lines, an event each, in the shape that MongoDB gives its own:
 *
 *   {"atype": "createUser", "ts": {"$date": …}, "local": {ip, port}, "remote": {ip, port},
 *    "users": [{user, db}], "roles": [{role, db}, …], "param": {…}, "result": 0}
 *
 * ip and port are {"unix": PATH} for who came by the folder's socket; users and roles are empty for
 * who has not signed in; result is MongoDB's error code, 0 for success.
 *
 * Which kinds are told is chosen when it is opened.  A caller asks first (ash__audit_admit), acts,
 * and writes then.  Events of one connection come in their order.  They are in the file within
 * moments, all of them when it is closed; a power cut can take the last ones.
 *
 * The file is made with mode 0600 and appended to.  Over max_bytes it becomes FILE.1, that of before
 * FILE.2, and so on up to FILE.keep.  A file that was moved away is made anew within a second.
 *
 * When it cannot be written (a full disk), that goes to the server's log, lines wait in memory, and
 * writing is tried again each second.  Once queue_bytes of them wait, admit refuses. */

#include "base/error.h"
#include "bson/value.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ash_audit ash_audit;

/* Kinds of events, as bits. */
enum {
    ASH_AUDIT_AUTHENTICATION = 1, /* signing in and out, and what was refused for want of a right */
    ASH_AUDIT_USERS = 2,          /* users, roles, tokens, links: who may do what */
    ASH_AUDIT_STRUCTURE = 4,      /* databases, collections, indexes, object stores */
    ASH_AUDIT_WRITES = 8,         /* documents, files, objects */
    ASH_AUDIT_READS = 16,
    ASH_AUDIT_SERVER = 32, /* start and stop: always */
    ASH_AUDIT_USUAL = ASH_AUDIT_AUTHENTICATION | ASH_AUDIT_USERS | ASH_AUDIT_STRUCTURE
};
/* "writes": its bit; 0 for a word that is none. */
unsigned ash__audit_kind(const char *word);

typedef struct ash_audit_options {
    const char *path;
    unsigned kinds;      /* 0: ASH_AUDIT_USUAL */
    int64_t max_bytes;   /* of a file; 0: 64 MiB */
    int32_t keep;        /* files of before; 0: 10 */
    int64_t queue_bytes; /* that may wait while it cannot be written; 0: 1 MiB */
} ash_audit_options;

/* ASH_EACCES, ASH_EIO … when it cannot be opened.  *out is yours. */
int ash__audit_open(const ash_audit_options *opts, ash_audit **out, ash_error *err);
/* Writes what waits, if that can be done.  NULL is fine. */
void ash__audit_close(ash_audit *a);

/* Is such a thing told?  NULL: nothing is. */
bool ash__audit_wants(const ash_audit *a, unsigned kind);
/* Before something of a kind is done: ASH_ENOSPC (14031) when it could not be told. */
int ash__audit_admit(const ash_audit *a, unsigned kind, ash_error *err);

typedef struct ash_audit_event {
    unsigned kind;
    const char *type;   /* "createUser" */
    const char *local;  /* "127.0.0.1:27017", "[::1]:27017", a socket's path; or NULL */
    const char *remote; /* of the client; NULL: the server itself */
    const char *user;   /* NULL: nobody has signed in */
    const char *db;
    ash_doc roles; /* array of {role, db}; may be empty */
    ash_doc param; /* no secrets: not looked at here */
    int32_t result;
} ash_audit_event;

/* Does nothing unless the kind is told.  Takes copies. */
void ash__audit_write(ash_audit *a, const ash_audit_event *event);

#endif
