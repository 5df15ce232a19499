/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_GRIDFS_GRIDFS_H
#define ASH_CMD_GRIDFS_GRIDFS_H

#include "cmd/kit/cmd.h"

/* What the parts of `ashlar gridfs`, which speaks as mongofiles does, share. */

enum ash_gridfs_option {
    ASH_GRIDFS_URI,
    ASH_GRIDFS_HOST,
    ASH_GRIDFS_PORT,
    ASH_GRIDFS_USERNAME,
    ASH_GRIDFS_PASSWORD,
    ASH_GRIDFS_AUTH_DB,
    ASH_GRIDFS_AUTH_MECHANISM,
    ASH_GRIDFS_TLS,
    ASH_GRIDFS_CA_FILE,
    ASH_GRIDFS_KEY_FILE,
    ASH_GRIDFS_ANY_CERTIFICATE,
    ASH_GRIDFS_ANY_HOSTNAME,
    ASH_GRIDFS_LOCAL,
    ASH_GRIDFS_TYPE,
    ASH_GRIDFS_REPLACE,
    ASH_GRIDFS_PREFIX,
    ASH_GRIDFS_REGEX_OPTIONS,
    ASH_GRIDFS_WRITE_CONCERN,
    ASH_GRIDFS_READ_PREFERENCE,
    ASH_GRIDFS_COLLECTION,
    ASH_GRIDFS_VERSION
};

typedef struct ash_gridfs {
    ash_cmd *cmd;
    const char *const *options; /* by ash_gridfs_option */
    const char **words;         /* the command and what follows, without a connection string */
    int count;
    ash_bucket *bucket;
} ash_gridfs;

/* A line as mongofiles writes them: time, tab, text; on standard error, not with --quiet. */
void ash__gridfs_log(const ash_gridfs *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The connection string that --uri, or --host and its companions, or the word `given` make; the
 * caller frees.  *out NULL: none of them is there, so the store is the command's usual one. */
int ash__gridfs_uri(const char *const *options, const char *given, const char *db, char **out,
                    ash_error *err);

/* files.c: the commands.  A negative ASH_E… with err filled, or 0. */
int ash__gridfs_show(ash_gridfs *g, ash_error *err);      /* list, search */
int ash__gridfs_put(ash_gridfs *g, ash_error *err);       /* put, put_id */
int ash__gridfs_get(ash_gridfs *g, ash_error *err);       /* get */
int ash__gridfs_get_id(ash_gridfs *g, ash_error *err);    /* get_id */
int ash__gridfs_get_regex(ash_gridfs *g, ash_error *err); /* get_regex */
int ash__gridfs_delete(ash_gridfs *g, ash_error *err);    /* delete */
int ash__gridfs_delete_id(ash_gridfs *g, ash_error *err); /* delete_id */

#endif
