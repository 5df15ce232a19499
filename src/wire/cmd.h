/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_CMD_H
#define ASH_WIRE_CMD_H

/* The handlers that commands.c puts into its table, by file; and what several of them share.
 * Contract of a handler: wire/command.h. */

#include "wire/command.h"

/* The server whose behaviour this one keeps to. */
#define ASH_SERVER_VERSION "7.0.0"

/* cmd_hello.c: connections */
int ash__run_hello(ash_command *c, ash_error *err);
int ash__run_ismaster(ash_command *c, ash_error *err);
int ash__run_ping(ash_command *c, ash_error *err);
int ash__run_whatsmyuri(ash_command *c, ash_error *err);
int ash__run_getnonce(ash_command *c, ash_error *err);

/* cmd_sasl.c: signing in */
int ash__run_connection_status(ash_command *c, ash_error *err);
int ash__run_logout(ash_command *c, ash_error *err);
int ash__run_sasl_start(ash_command *c, ash_error *err);
int ash__run_sasl_continue(ash_command *c, ash_error *err);
/* Of a hello: saslSupportedMechs and speculativeAuthenticate, as far as it asks. */
int ash__reply_mechanisms(ash_command *c, ash_error *err);
/* Whoever has failed often waits here.  ASH_EINTERRUPTED: it went meanwhile, and the attempt is over. */
int ash__sign_in_await(ash_command *c, const ash_attempt_name *who, ash_attempt *attempt,
                       ash_error *err);
/* Ends the attempt: the log says why, and the client is told what all are told (18). */
int ash__sign_in_refuse(ash_command *c, const ash_attempt_name *who, const ash_attempt *attempt,
                        const ash_error *why, ash_error *err);

/* cmd_x509.c: signing in by a certificate */
int ash__run_authenticate(ash_command *c, ash_error *err);
/* As part of a hello; a guess that does not fit is passed over. */
void ash__speculate_x509(ash_command *c, ash_doc args);

/* cmd_users.c */
int ash__run_create_user(ash_command *c, ash_error *err);
int ash__run_update_user(ash_command *c, ash_error *err);
int ash__run_drop_user(ash_command *c, ash_error *err);
int ash__run_drop_all_users(ash_command *c, ash_error *err);
int ash__run_grant_roles_to_user(ash_command *c, ash_error *err);
int ash__run_revoke_roles_from_user(ash_command *c, ash_error *err);

/* cmd_roles.c */
int ash__run_create_role(ash_command *c, ash_error *err);
int ash__run_update_role(ash_command *c, ash_error *err);
int ash__run_drop_role(ash_command *c, ash_error *err);
int ash__run_drop_all_roles(ash_command *c, ash_error *err);
int ash__run_grant_roles_to_role(ash_command *c, ash_error *err);
int ash__run_revoke_roles_from_role(ash_command *c, ash_error *err);
int ash__run_grant_privileges(ash_command *c, ash_error *err);
int ash__run_revoke_privileges(ash_command *c, ash_error *err);

/* cmd_users_info.c */
int ash__run_users_info(ash_command *c, ash_error *err);
int ash__run_roles_info(ash_command *c, ash_error *err);

/* cmd_session.c */
int ash__run_start_session(ash_command *c, ash_error *err);
int ash__run_refresh_sessions(ash_command *c, ash_error *err);
int ash__run_end_sessions(ash_command *c, ash_error *err);
int ash__run_kill_all_sessions(ash_command *c, ash_error *err);
int ash__run_refuse_transaction(ash_command *c, ash_error *err);

/* cmd_transact.c */
int ash__run_ashlar_transact(ash_command *c, ash_error *err);

/* cmd_write.c */
int ash__run_insert(ash_command *c, ash_error *err);
int ash__run_update(ash_command *c, ash_error *err);
int ash__run_delete(ash_command *c, ash_error *err);
int ash__run_get_last_error(ash_command *c, ash_error *err);

/* cmd_modify.c */
int ash__run_find_and_modify(ash_command *c, ash_error *err);

/* cmd_read.c */
int ash__run_find(ash_command *c, ash_error *err);
int ash__run_count(ash_command *c, ash_error *err);
int ash__run_distinct(ash_command *c, ash_error *err);
int ash__run_explain(ash_command *c, ash_error *err);
/* Explain a command on a collection of c's database, into the answer. */
int ash__explain_command(ash_command *c, const char *coll_name, ash_doc command,
                         const char *verbosity, ash_error *err);

/* cmd_aggregate.c */
int ash__run_aggregate(ash_command *c, ash_error *err);

/* cmd_cursor.c */
int ash__run_get_more(ash_command *c, ash_error *err);
int ash__run_kill_cursors(ash_command *c, ash_error *err);

/* cmd_index.c */
int ash__run_create_indexes(ash_command *c, ash_error *err);
int ash__run_list_indexes(ash_command *c, ash_error *err);
int ash__run_drop_indexes(ash_command *c, ash_error *err);

/* cmd_collection.c */
int ash__run_create(ash_command *c, ash_error *err);
int ash__run_drop(ash_command *c, ash_error *err);
int ash__run_drop_database(ash_command *c, ash_error *err);
int ash__run_rename_collection(ash_command *c, ash_error *err);
int ash__run_coll_mod(ash_command *c, ash_error *err);
int ash__run_list_collections(ash_command *c, ash_error *err);
int ash__run_list_databases(ash_command *c, ash_error *err);
int ash__run_coll_stats(ash_command *c, ash_error *err);
int ash__run_db_stats(ash_command *c, ash_error *err);
int ash__run_validate(ash_command *c, ash_error *err);
int ash__run_compact(ash_command *c, ash_error *err);

/* cmd_admin.c */
int ash__run_current_op(ash_command *c, ash_error *err);
/* currentOp's documents, those that who asks may see, into an open array. */
void ash__describe_operations(ash_command *c, ash_builder *b);
int ash__run_kill_op(ash_command *c, ash_error *err);
int ash__run_fsync(ash_command *c, ash_error *err);
int ash__run_configure_fail_point(ash_command *c, ash_error *err);
int ash__run_ashlar_maintain(ash_command *c, ash_error *err);
int ash__run_profile(ash_command *c, ash_error *err);
int ash__run_repl_set_get_config(ash_command *c, ash_error *err);
int ash__run_repl_set_get_status(ash_command *c, ash_error *err);

/* cmd_server.c */
int ash__run_build_info(ash_command *c, ash_error *err);
int ash__run_server_status(ash_command *c, ash_error *err);
int ash__run_host_info(ash_command *c, ash_error *err);
int ash__run_get_parameter(ash_command *c, ash_error *err);
int ash__run_get_log(ash_command *c, ash_error *err);
int ash__run_get_cmd_line_opts(ash_command *c, ash_error *err);
int ash__run_list_commands(ash_command *c, ash_error *err);

/* cmd_gridfs.c */
int ash__run_filemd5(ash_command *c, ash_error *err);

/* The version of ashlarTransact that hello tells. */
enum { ASH_TRANSACT_VERSION = 1 };

/* ASH_EUNSUPPORTED (115) on a server without users. */
int ash__check_users(const ash_command *c, ash_error *err);
/* The user or role that the command names, of its database: ASH_EINVAL (2). */
int ash__command_user(const ash_command *c, const ash_user_kind *kind, ash_user_id *out,
                      ash_error *err);

/* ASH_EUNSUPPORTED (263). */
int ash__refuse_in_transaction(const char *what, ash_error *err);

/* ---- shared: cursors as answers (batch.c) ---- */

/* A new cursor's first batch into the answer, and the cursor into the table if more may follow; in
 * a transaction everything that it finds, at most 16 MiB (ASH_ETOOBIG), and no cursor.
 * Takes over cursor, on failure too. */
typedef struct ash_first_batch {
    const char *ns;
    int64_t batch_size; /* < 0: the default, 101 */
    int64_t limit;      /* documents in all; 0 = no limit */
    bool single;        /* close the cursor after this batch */
    bool tailable;
    bool awaits;
    bool changes;
    bool past_damage;
    bool no_timeout;
    bool name_only; /* of listCollections */
    int64_t await_ms;
} ash_first_batch;
int ash__reply_first_batch(ash_command *c, ash_cursor *cursor, const ash_first_batch *how,
                           ash_error *err);

/* The next batch of a cursor that the command took: at most batch_size documents (0 = no limit). */
int ash__reply_next_batch(ash_command *c, ash_wire_cursor *w, int64_t batch_size, ash_error *err);

/* The first batch of a listing: all of it, unless the command's cursor option says how many. */
int64_t ash__listing_batch_size(const ash_command *c);

/* A collection was dropped.  If it was the last of a bucket, the bucket's attributes go with it:
 * drivers do not know that collection. */
void ash__gridfs_dropped(ash_command *c);

/* The name that the client gives itself in a hello, for fail points and logs. */
void ash__note_app(ash_command *c);

/* Append all fields of a document that the store gave. */
void ash__reply_fields(ash_command *c, const bson_t *doc);
/* If the command fails, its error answer has these fields, too. */
void ash__reply_details(ash_command *c, const bson_t *details);

/* ash_store_maintain() that stops when the command is killed. */
int ash__command_maintain(ash_command *c, const bson_t *action, bson_t *out, ash_error *err);

/* {<name>: {ts: time, t: 1}} */
void ash__reply_op_time(ash_command *c, const char *name, uint64_t time);

/* A fail point's word before a retryable write (not 0 when it must not be done) and after one that
 * was done for the first time. */
int ash__command_fail_write(ash_command *c, ash_error *err);
void ash__command_wrote(ash_command *c);

/* Is the failure one of the whole command, not of the one write that met it? */
bool ash__error_ends_command(const ash_error *err);

#endif
