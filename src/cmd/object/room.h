/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_OBJECT_ROOM_H
#define ASH_CMD_OBJECT_ROOM_H

/* What the verbs of `ashlar object` share: opening managers and stores, options, showing. */

#include "cmd/kit/objects.h"

#include <ashlar/object.h>

/* Options are found by their place in the verb's table, which an enum names.  Each table begins with
 * these, as the verb's own does: they may stand before the word; its enum goes on with
 * ASH_CMD_OBJECT_FIRST_OPTION. */
enum {
    ASH_CMD_OBJECT_CREDS,
    ASH_CMD_OBJECT_NKEY,
    ASH_CMD_OBJECT_TLSCA,
    ASH_CMD_OBJECT_ARCHIVE,
    ASH_CMD_OBJECT_FIRST_OPTION
};
#define ASH_CMD_OBJECT_OPTIONS                                                                     \
    [ASH_CMD_OBJECT_CREDS] = {0, "creds", "FILE", "credentials, for nats:// addresses"},           \
    [ASH_CMD_OBJECT_NKEY] = {0, "nkey", "FILE", "an NKey's seed, likewise"},                       \
    [ASH_CMD_OBJECT_TLSCA] = {0, "tlsca", "FILE", "certificates that are trusted, likewise"},      \
    [ASH_CMD_OBJECT_ARCHIVE] = {                                                                   \
        0, "archive", "STORE", "where the bytes of archived objects are: a store beside this one"}
/* Behind them, what is said of an object (meta.c); the enum goes on with
 * ASH_CMD_OBJECT_BEHIND_SAID. */
enum {
    ASH_CMD_OBJECT_DESCRIPTION = ASH_CMD_OBJECT_FIRST_OPTION,
    ASH_CMD_OBJECT_HEADER,
    ASH_CMD_OBJECT_METADATA,
    ASH_CMD_OBJECT_TAG,
    ASH_CMD_OBJECT_TYPE,
    ASH_CMD_OBJECT_BEHIND_SAID
};
#define ASH_CMD_OBJECT_SAID_OPTIONS(of_headers)                                                    \
    [ASH_CMD_OBJECT_DESCRIPTION] = {0, "description", "TEXT", "what it is"},                       \
    [ASH_CMD_OBJECT_HEADER] = {'H', "header", "NAME:VALUE", of_headers},                           \
    [ASH_CMD_OBJECT_METADATA] = {0, "metadata", "KEY=VALUE", "likewise"},                          \
    [ASH_CMD_OBJECT_TAG] = {0, "tag", "TAG", "likewise"},                                          \
    [ASH_CMD_OBJECT_TYPE] = {0, "type", "TYPE", "content type, such as text/html"}
#define ASH_CMD_OBJECT_NO_OPTION                                                                   \
    {                                                                                              \
        0, NULL, NULL, NULL                                                                        \
    }

/* The verbs, in the order of the help. */
#define ASH_CMD_OBJECT_VERBS(X)                                                                    \
    X(add)                                                                                         \
    X(edit)                                                                                        \
    X(ls)                                                                                          \
    X(info)                                                                                        \
    X(status)                                                                                      \
    X(put)                                                                                         \
    X(get)                                                                                         \
    X(rm)                                                                                          \
    X(mv)                                                                                          \
    X(link)                                                                                        \
    X(meta)                                                                                        \
    X(search)                                                                                      \
    X(watch)                                                                                       \
    X(versions)                                                                                    \
    X(restore)                                                                                     \
    X(expire)                                                                                      \
    X(seal)                                                                                        \
    X(copy)                                                                                        \
    X(archive)                                                                                     \
    X(prune)                                                                                       \
    X(sweep)
#define X(name) extern const ash_cmd_verb ash__cmd_object_##name;
ASH_CMD_OBJECT_VERBS(X)
#undef X

/* ---- one run of a verb (room.c) ---- */

typedef struct ash_cmd_object_run {
    ash_cmd *cmd;
    const ash_cmd_args *args;
    ash_cmd_objects here;
    ash_object_manager *manager; /* of these */
    ash_object_store *objects;   /* the one that the first word names; NULL: the verb binds none */
    ash_object_store *archive;   /* --archive, or NULL */
    ash_op op;                   /* can be interrupted; changes are durable one by one */
} ash_cmd_object_run;

/* Opens the manager, and the store that the first word names (unless `unbound`), does the work,
 * reports what went wrong, closes.  work returns a negative ASH_E… with err filled, or an exit
 * code. */
typedef int (*ash_cmd_object_work)(ash_cmd_object_run *r, ash_error *err);
int ash__cmd_object_run(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                        ash_cmd_object_work work);
int ash__cmd_object_run_unbound(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                                ash_cmd_object_work work);
/* Who one is on a NATS server. */
void ash__cmd_object_identity(const ash_cmd_object_run *r, ash_object_manager_options *out);
/* Word n, or NULL. */
const char *ash__cmd_object_word(const ash_cmd_object_run *r, int n);
/* The value of an option, by its place in the verb's table, or NULL. */
const char *ash__cmd_object_value(const ash_cmd_object_run *r, int option);
/* A time in ms, from one with its unit; 0 where it was not given. */
int ash__cmd_object_time(const ash_cmd_object_run *r, int option, int64_t *ms);
int ash__cmd_object_bytes(const ash_cmd_object_run *r, int option, int64_t *bytes);
int ash__cmd_object_number(const ash_cmd_object_run *r, int option, int64_t min, int64_t max,
                           int64_t *out);

/* ---- what is said of objects (meta.c) ---- */

/* --description, --header, --metadata, --tag, --type as they were given; views of the maps. */
typedef struct ash_cmd_object_said {
    ash_object_meta meta;
    bson_t headers, metadata, tags;
} ash_cmd_object_said;
int ash__cmd_object_read_said(const ash_cmd_object_run *r, ash_cmd_object_said *out);
void ash__cmd_object_said_release(ash_cmd_object_said *s);
/* Puts "K=V" into the map, whose K it takes the place of; false: there is no K and '='. */
bool ash__cmd_object_pair(const char *text, bson_t *map);
/* Behind what the array has. */
void ash__cmd_object_add_text(bson_t *array, const char *value);

/* ---- showing (show.c) ---- */

/* Appends the object's fields, as --json shows them. */
void ash__cmd_object_json(const ash_object *o, bson_t *out);
/* With --json the object, and true. */
bool ash__cmd_object_emit(const ash_cmd_object_run *r, const ash_object *o);
void ash__cmd_object_line(const ash_cmd_object_run *r, const ash_object *o); /* of a listing */
void ash__cmd_object_show(const ash_cmd_object_run *r, const ash_object *o); /* all of it */
int ash__cmd_object_tell_status(ash_cmd_object_run *r, ash_object_store *s, ash_error *err);
void ash__cmd_object_show_status(const ash_cmd_object_run *r, const ash_object_status *st);
void ash__cmd_object_status_line(const ash_cmd_object_run *r, const ash_object_status *st);
/* The listing to its end, by lines; frees it.  shown: how many there were, or NULL. */
int ash__cmd_object_print(const ash_cmd_object_run *r, ash_object_listing *l, bool names,
                          int64_t *shown, ash_error *err);
/* An ash_object_fn that tells of each; ctx: {run, "copied"}. */
typedef struct ash_cmd_object_teller {
    const ash_cmd_object_run *run;
    const char *did;
    ash_progress *progress; /* or NULL */
} ash_cmd_object_teller;
bool ash__cmd_object_tell(void *ctx, const ash_object *o);

#endif
