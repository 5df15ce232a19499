/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar user limit`. */
#include "cmd/user/room.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/amount.h"
#include "user/usage.h"

#include <string.h>

enum { CONNECTIONS = ASH_CMD_USER_FIRST_OPTION, OPERATIONS, BYTES };
static const ash_cmd_option limit_options[] = {
    ASH_CMD_USER_OPTIONS,
    [CONNECTIONS] = {0, "connections", "N", "at a time, or none for no limit"},
    [OPERATIONS] = {0, "operations", "N", "a second, or none"},
    [BYTES] = {0, "bytes", "SIZE", "a second, sent and received: 500k, 10M; or none"},
    {0, NULL, NULL, NULL}};

/* One that is not given stays; none is 0. */
static int read_limit(const ash_user_run *r, int option, int64_t *out, ash_error *err)
{
    const char *text = r->args->values[option];
    double bytes;
    if (text == NULL)
        return 0;
    if (strcmp(text, "none") == 0) {
        *out = 0;
        return 0;
    }
    if (option == BYTES && ash__amount_size(text, &bytes) && bytes >= 1 && bytes < 1e15) {
        *out = (int64_t)bytes;
        return 0;
    }
    if (option != BYTES && ash__amount_number(text, 1, 1000000000, out))
        return 0;
    return ash__fail(err, ASH_EINVAL, "--%s takes %s or none, not \"%.60s\"",
                     limit_options[option].name,
                     option == BYTES ? "a size such as 500k" : "a whole number", text);
}

static void print_limit(const ash_user_run *r, const char *what, int64_t limit)
{
    char *name = ash__cmd_printable(r->id.name), *db = ash__cmd_printable(r->id.db);
    if (limit > 0)
        printf("%s@%s: %lld %s\n", name, db, (long long)limit, what);
    else
        printf("%s@%s: any number of %s\n", name, db, what);
    ash__cmd_keep_output_error();
    ash__free(name);
    ash__free(db);
}

static void append_limit(bson_t *out, const char *name, int64_t limit)
{
    if (limit > 0)
        BSON_APPEND_INT64(out, name, limit);
    else
        BSON_APPEND_NULL(out, name);
}

static void show_limits(const ash_user_run *r, const ash_limits *limits)
{
    if (r->cmd->json) {
        bson_t out = BSON_INITIALIZER;
        BSON_APPEND_UTF8(&out, "user", r->id.name);
        BSON_APPEND_UTF8(&out, "db", r->id.db);
        append_limit(&out, "connections", limits->connections);
        append_limit(&out, "operations", limits->operations);
        append_limit(&out, "bytes", limits->bytes);
        ash__cmd_emit(&out);
        bson_destroy(&out);
        return;
    }
    print_limit(r, "connections", limits->connections);
    print_limit(r, "operations a second", limits->operations);
    print_limit(r, "bytes a second", limits->bytes);
}

static int do_limit(ash_user_run *r, ash_error *err)
{
    ash_limits limits;
    bson_t doc;
    int rc = ash__user_find(&r->users, &r->id, &doc, err);
    if (rc != 0)
        return rc;
    ash__limits_read(ash__doc_from_bson(&doc), &limits);
    bson_destroy(&doc);
    rc = read_limit(r, CONNECTIONS, &limits.connections, err);
    if (rc == 0)
        rc = read_limit(r, OPERATIONS, &limits.operations, err);
    if (rc == 0)
        rc = read_limit(r, BYTES, &limits.bytes, err);
    if (rc == 0 && r->args->given_count > 0)
        rc = ash__user_set_limits(&r->users, &r->id, &limits, err);
    if (rc == 0)
        show_limits(r, &limits);
    return rc;
}

ASH_USER_VERB(limit, ASH_CMD_WRITE)

const ash_cmd_verb ash__cmd_user_limit = {
    .name = "user limit",
    .group = "serve",
    .synopsis = "[--db DATABASE] [--connections N] [--operations N] [--bytes SIZE] NAME",
    .summary = "say how much of a server a user may have, or show it",
    .details =
        "A second's worth of operations and bytes may come at once; what goes beyond waits, up to "
        "ten seconds, and is refused\n"
        "then (code 462; by HTTP 429).  One connection too many is refused.  Limits hold for "
        "MongoDB's drivers and HTTP\n"
        "together, at once; by HTTP a request is an operation, and requests at a time are "
        "connections.\n"
        "Example: ashlar user limit ann --connections 20 --operations 500 --bytes 10M",
    .options = limit_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_limit,
};
