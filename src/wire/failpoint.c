/* SPDX-License-Identifier: Apache-2.0 */
/* A fail point is a document and two counters; what in it matters is read anew at each hit, as that
 * is only for tests. */
#include "wire/failpoint.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DATA_BYTES = 64 * 1024 };

void ash__failpoint_init(ash_failpoint *f)
{
    memset(f, 0, sizeof *f);
    ash__mutex_init(&f->lock, ASH_RANK_CONNECTION);
}

void ash__failpoint_release(ash_failpoint *f)
{
    ash__buffer_release(&f->data);
    ash__mutex_release(&f->lock);
}

static bool is_text(ash_value v, const char *text)
{
    uint32_t len;
    return v.type == BSON_TYPE_UTF8 && strcmp(ash__value_string(v, &len), text) == 0;
}

/* How many commands pass and how many fail then: left 0 = off. */
static int read_mode(ash_value mode, int64_t *skip, int64_t *left, ash_error *err)
{
    *skip = 0;
    *left = -1;
    if (is_text(mode, "alwaysOn"))
        return 0;
    if (is_text(mode, "off")) {
        *left = 0;
        return 0;
    }
    if (mode.type == BSON_TYPE_DOCUMENT) {
        ash_value times = ash__doc_get(ash__value_doc(mode), "times");
        ash_value pass = ash__doc_get(ash__value_doc(mode), "skip");
        if (ash__value_as_int64(times, left) && *left >= 0)
            return 0;
        *left = -1;
        if (ash__value_as_int64(pass, skip) && *skip >= 0)
            return 0;
    }
    return ash__fail(err, ASH_EINVAL, "unknown fail point mode");
}

static int check_data(ash_value data, bool names_commands, ash_error *err)
{
    bool is_doc = data.type == BSON_TYPE_DOCUMENT;
    if (is_doc && data.len > MAX_DATA_BYTES)
        return ash__fail(err, ASH_EINVAL, "the fail point's data is too long");
    if (names_commands &&
        (!is_doc || ash__doc_get(ash__value_doc(data), "failCommands").type != BSON_TYPE_ARRAY))
        return ash__fail(err, ASH_EINVAL, "the fail point needs data.failCommands, an array");
    return 0;
}

int ash__failpoint_set(ash_failpoint *f, ash_value mode, ash_value data, bool names_commands,
                       ash_error *err)
{
    int64_t skip, left;
    int rc = read_mode(mode, &skip, &left, err);
    /* Who turns it off need not say what it did. */
    if (rc == 0 && left != 0)
        rc = check_data(data, names_commands, err);
    if (rc != 0)
        return rc;
    ash_doc doc = data.type == BSON_TYPE_DOCUMENT ? ash__value_doc(data) : ash__doc_empty;
    ash__mutex_lock(&f->lock);
    ash__buffer_clear(&f->data);
    ash__buffer_append(&f->data, doc.data, doc.len);
    f->skip = skip;
    f->left = left;
    ash__mutex_unlock(&f->lock);
    return 0;
}

/* One more of what the fail point is about came by. */
static bool count_hit(ash_failpoint *f)
{
    ash__mutex_assert_held(&f->lock);
    if (f->skip > 0) {
        f->skip--;
        return false;
    }
    if (f->left > 0)
        f->left--;
    return true;
}

int32_t ash__failpoint_code(ash_failpoint *f, const char *name)
{
    int64_t code = 0;
    ash__mutex_lock(&f->lock);
    if (f->left != 0)
        ash__value_as_int64(ash__doc_get((ash_doc){f->data.data, f->data.len}, name), &code);
    ash__mutex_unlock(&f->lock);
    return (int32_t)code;
}

bool ash__failpoint_hit_plain(ash_failpoint *f, bool close_otherwise, bool *close)
{
    *close = false;
    ash__mutex_lock(&f->lock);
    bool hit = f->left != 0 && count_hit(f);
    if (hit) {
        ash_value closes = ash__doc_get((ash_doc){f->data.data, f->data.len}, "closeConnection");
        *close = closes.type == 0 ? close_otherwise : ash__value_truthy(closes);
    }
    ash__mutex_unlock(&f->lock);
    return hit;
}

static bool is_named(ash_value v, const ash_failpoint_command *c)
{
    char padded[64];
    uint32_t len;
    if (is_text(v, c->command))
        return true;
    if (v.type != BSON_TYPE_UTF8 || c->aliases == NULL)
        return false;
    /* Aliases are listed between spaces. */
    int size = snprintf(padded, sizeof padded, " %s ", ash__value_string(v, &len));
    return size < (int)sizeof padded && strstr(c->aliases, padded) != NULL;
}

static bool matches(ash_doc data, const ash_failpoint_command *c)
{
    ash_value only_app = ash__doc_get(data, "appName");
    ash_value only_ns = ash__doc_get(data, "namespace");
    if ((only_app.type == BSON_TYPE_UTF8 && !is_text(only_app, c->app)) ||
        (only_ns.type == BSON_TYPE_UTF8 && !is_text(only_ns, c->ns)))
        return false;
    ash_doc names = ash__value_doc(ash__doc_get(data, "failCommands"));
    for (ash_doc_iter it = ash__doc_iter(names); ash__doc_iter_next(&it);)
        if (is_named(it.value, c))
            return true;
    return false;
}

static void read_failure(ash_doc data, ash_failure *out)
{
    int64_t code = 0;
    memset(out, 0, sizeof *out);
    out->close_connection = ash__value_truthy(ash__doc_get(data, "closeConnection"));
    if (ash__value_as_int64(ash__doc_get(data, "errorCode"), &code))
        out->error_code = (int32_t)code;
    if (ash__value_truthy(ash__doc_get(data, "blockConnection")))
        ash__value_as_int64(ash__doc_get(data, "blockTimeMS"), &out->block_ms);
    ash_value labels = ash__doc_get(data, "errorLabels");
    out->has_labels = labels.type == BSON_TYPE_ARRAY;
    if (out->has_labels)
        /* Copied: the fail point may be set anew while the command fails. */
        ash__buffer_append(&out->labels, labels.data, labels.len);
    ash_value concern = ash__doc_get(data, "writeConcernError");
    if (concern.type == BSON_TYPE_DOCUMENT)
        ash__buffer_append(&out->write_concern_error, concern.data, concern.len);
}

bool ash__failpoint_hit(ash_failpoint *f, const ash_failpoint_command *command, ash_failure *out)
{
    ash__mutex_lock(&f->lock);
    ash_doc data = {f->data.data, f->data.len};
    /* Only what matches counts. */
    bool hit = f->left != 0 && matches(data, command) && count_hit(f);
    if (hit)
        read_failure(data, out);
    ash__mutex_unlock(&f->lock);
    return hit;
}

void ash__failure_release(ash_failure *failure)
{
    ash__buffer_release(&failure->labels);
    ash__buffer_release(&failure->write_concern_error);
}
