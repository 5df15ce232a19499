/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/objects.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

bool ash__cmd_is_store(const ash_cmd *cmd)
{
    char *uri = ash__cmd_store_uri(cmd);
    bool is_store = uri == NULL || ash_object_uri_is_store(uri);
    ash__free(uri);
    return is_store;
}

int ash__cmd_open_objects(const ash_cmd *cmd, enum ash_cmd_open how,
                          const ash_object_manager_options *opts, ash_cmd_objects *out,
                          ash_error *err)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    int rc = 0;
    if (opts != NULL)
        o = *opts;
    o.db = cmd->db;
    *out = (ash_cmd_objects){NULL, NULL};
    if (ash__cmd_is_store(cmd)) {
        rc = ash__cmd_open_store(cmd, how, NULL, &out->store, err);
        return rc == 0 ? ash_object_manager_new(out->store, &o, &out->manager, err) : rc;
    }
    char *uri = ash__cmd_store_uri(cmd);
    rc = ash_object_manager_open(uri, &o, &out->manager, err);
    ash__free(uri);
    return rc;
}

void ash__cmd_close_objects(ash_cmd_objects *o)
{
    ash_object_manager_close(o->manager);
    ash__cmd_close_store(o->store);
    *o = (ash_cmd_objects){NULL, NULL};
}

/* ---- what the library calls otherwise than the command does ---- */

static const char *option_of(const char *field, size_t len)
{
    static const struct {
        const char *field, *option;
    } rows[] = {
        {"ttl_ms", "--ttl"},
        {"max_bytes", "--max-bucket-size"},
        {"placement_tags", "--tags"},
        {"compression", "--compress"},
        {"keep_last", "--keep"},
        {"keep_within_ms", "--keep-within"},
        {"tombstone_ttl_ms", "--tombstones"},
        {"max_object_bytes", "--max-object-size"},
        {"max_objects", "--max-objects"},
        {"chunk_size", "--chunk-size"},
        {"storage", "--storage"},
        {"replicas", "--replicas"},
        {"cluster", "--cluster"},
        {"metadata", "--metadata"},
        {"description", "--description"},
        {"digest", "--digest"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++)
        if (strlen(rows[i].field) == len && memcmp(rows[i].field, field, len) == 0)
            return rows[i].option;
    return NULL;
}

char *ash__cmd_objects_names(const bson_t *fields)
{
    bson_iter_t it;
    char *out = ash__strdup("");
    if (!bson_iter_init(&it, fields))
        return out;
    while (bson_iter_next(&it)) {
        const char *field = bson_iter_utf8(&it, NULL);
        const char *option = option_of(field, strlen(field));
        char *more =
            ash__sprintf("%s%s%s", out, out[0] != 0 ? ", " : "", option != NULL ? option : field);
        ash__free(out);
        out = more;
    }
    return out;
}

/* Nothing but fields stands there: names of stores and objects are within. */
void ash__cmd_objects_error(ash_error *err)
{
    char text[sizeof err->text];
    const char *at = strrchr(err->text, ' ');
    size_t first = strcspn(err->text, ": ");
    const char *option =
        at != NULL && at > err->text && at[-1] == ':' ? option_of(at + 1, strlen(at + 1)) : NULL;
    if (option != NULL) {
        snprintf(text, sizeof text, "%.*s%s", (int)(at + 1 - err->text), err->text, option);
        memcpy(err->text, text, sizeof text);
    }
    option = option_of(err->text, first);
    const char *rest = err->text + first;
    if (option != NULL && (rest[0] == ':' || strncmp(rest, " of an object:", 14) == 0)) {
        snprintf(text, sizeof text, "%s%s", option, rest);
        memcpy(err->text, text, sizeof text);
    }
}

bool ash__cmd_objects_progress_fn(void *ctx, const char *what, int64_t done, int64_t total)
{
    ash_cmd_objects_progress *p = ctx;
    (void)what;
    ash__progress_add_total(p->progress, total - p->total);
    ash__progress_add(p->progress, done - p->done, 0, NULL);
    p->done = done;
    p->total = total;
    return !ash__cmd_is_interrupted();
}
