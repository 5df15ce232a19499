/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_NEEDS_H
#define ASH_WIRE_NEEDS_H

/* What commands need that depends on their arguments: the checks of rows of commands.c.  Each gives
 * 0 or ASH_EACCES (13), and is asked only where somebody looks (wire/access.h). */

#include "wire/command.h"

int ash__need_aggregate(ash_command *c, ash_error *err);
int ash__need_coll_mod(ash_command *c, ash_error *err);
int ash__need_create(ash_command *c, ash_error *err);
int ash__need_current_op(ash_command *c, ash_error *err);
int ash__need_drop_database(ash_command *c, ash_error *err);
int ash__need_explain(ash_command *c, ash_error *err);
int ash__need_filemd5(ash_command *c, ash_error *err);
int ash__need_get_more(ash_command *c, ash_error *err);
int ash__need_list_collections(ash_command *c, ash_error *err);
int ash__need_modify(ash_command *c, ash_error *err);
int ash__need_rename(ash_command *c, ash_error *err);
int ash__need_update(ash_command *c, ash_error *err);

/* needs_users.c: commands on users and roles */
int ash__need_create_user(ash_command *c, ash_error *err);
int ash__need_update_user(ash_command *c, ash_error *err);
int ash__need_drop_user(ash_command *c, ash_error *err);
int ash__need_grant_to_user(ash_command *c, ash_error *err);
int ash__need_view_users(ash_command *c, ash_error *err);
int ash__need_create_role(ash_command *c, ash_error *err);
int ash__need_drop_role(ash_command *c, ash_error *err);
int ash__need_grant_to_role(ash_command *c, ash_error *err);
int ash__need_view_roles(ash_command *c, ash_error *err);

/* A pipeline on a collection (NULL: on none) of the command's database, and all that its stages
 * read and write. */
int ash__need_pipeline(ash_command *c, const char *coll, ash_doc stages, ash_error *err);

/* What its stages read besides their own collection, as "db\0coll\0…": appended to out.  Of a
 * pipeline that may run. */
void ash__pipeline_joins(ash_command *c, const char *coll, ash_doc stages, ash_buffer *out);
/* May all of these still be read? */
int ash__need_joined(const ash_command *c, const ash_buffer *joined, ash_error *err);

bool ash__need_knows_stage(const char *name);

#endif
