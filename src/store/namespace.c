/* SPDX-License-Identifier: Apache-2.0 */
/* MongoDB's rules for names.  They hold for every backend, so that a program can move from one to
 * another. */

#include "store/ops.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

/* MongoDB's numbers. */
#define DB_MAX_BYTES        63
#define NAMESPACE_MAX_BYTES 255

static int check_db(const char *db, ash_error *err)
{
    if (db[0] == '\0' || strlen(db) > DB_MAX_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "invalid database name: it needs 1 to %d bytes", DB_MAX_BYTES);
    if (strpbrk(db, "/\\. \"$") != NULL)
        return ash__fail_server(
            err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
            "invalid database name '%s': none of / \\ . space \" $ may be in it", db);
    return 0;
}

int ash__namespace_check(const char *db, const char *coll, ash_error *err)
{
    int rc = check_db(db, err);
    if (rc != 0 || coll == NULL)
        return rc;
    if (coll[0] == '\0')
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "invalid collection name: it is empty");
    /* Names with a $ are the protocol's own, as in db.$cmd. */
    if (coll[0] == '.' || strchr(coll, '$') != NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "invalid collection name '%.300s': it may neither start with . "
                                "nor hold $",
                                coll);
    if (strlen(db) + 1 + strlen(coll) > NAMESPACE_MAX_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "invalid collection name: with its database it is longer than %d "
                                "bytes",
                                NAMESPACE_MAX_BYTES);
    return 0;
}

static int check_utf8(const char *what, const char *name, ash_error *err)
{
    size_t len = strlen(name), good = ash__text_good(name, len);
    if (good == len)
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                            "invalid %s name: it is not UTF-8 (byte %zu is 0x%02x)", what, good,
                            (unsigned char)name[good]);
}

int ash__namespace_check_new(const char *db, const char *coll, ash_error *err)
{
    int rc = check_utf8("database", db, err);
    return rc == 0 ? check_utf8("collection", coll, err) : rc;
}
