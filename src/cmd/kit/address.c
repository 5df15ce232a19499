/* SPDX-License-Identifier: Apache-2.0 */
/* What people type to name a file (NAME, NAME@REV, id:VALUE), and JSON, numbers and names as they
 * type them. */
#include "cmd/kit/cmd.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/kit/amount.h"
#include "cmd/kit/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What MongoDB's shell takes and JSON does not is the common mistake. */
static void explain_json(bson_error_t *reason)
{
    static const char quotes[] = " (names and strings stand in double quotes)";
    /* What its parser calls its own states says nothing to others. */
    char *state = strstr(reason->message, ": \"SPECIAL_EXPECTED\"");
    if (state != NULL)
        *state = 0;
    size_t len = strlen(reason->message);
    if (strstr(reason->message, "parse error") != NULL &&
        len + sizeof quotes <= sizeof reason->message)
        memcpy(reason->message + len, quotes, sizeof quotes);
}

/* libbson takes arrays for documents, and what follows a document for nothing. */
bool ash__cmd_json(const char *text, bson_t *out, bson_error_t *reason)
{
    bson_t more;
    bson_init(out);
    bson_json_reader_t *reader = bson_json_data_reader_new(false, 0);
    bson_json_data_reader_ingest(reader, (const uint8_t *)text, strlen(text));
    bson_set_error(reason, BSON_ERROR_JSON, 0, "it must be { … }");
    bool good =
        text[strspn(text, " \t\r\n")] == '{' && bson_json_reader_read(reader, out, reason) == 1;
    if (good) {
        bson_init(&more);
        bson_set_error(reason, BSON_ERROR_JSON, 0, "something follows the document");
        good = bson_json_reader_read(reader, &more, reason) == 0;
        bson_destroy(&more);
    }
    bson_json_reader_destroy(reader);
    if (!good)
        explain_json(reason);
    return good;
}

/* VALUE of id:VALUE: 24 hexadecimal digits, else Extended JSON of any type; a bare word is neither.
 */
static int parse_id(const char *text, bson_value_t *out, ash_error *err)
{
    bson_iter_t iter;
    bson_error_t ignored;
    bson_t wrapped;
    /* Without quotes, as `ashlar ls -l` shows them. */
    if (bson_oid_is_valid(text, strlen(text))) {
        out->value_type = BSON_TYPE_OID;
        bson_oid_init_from_string(&out->value.v_oid, text);
        return 0;
    }
    char *json = ash__sprintf("{\"v\": %s}", text);
    bool good = ash__cmd_json(json, &wrapped, &ignored) && bson_count_keys(&wrapped) == 1;
    ash__free(json);
    if (good && bson_iter_init_find(&iter, &wrapped, "v"))
        bson_value_copy(bson_iter_value(&iter), out);
    bson_destroy(&wrapped);
    return good ? 0
                : ash__fail(err, ASH_EINVAL,
                            "id:%s is neither an ObjectId nor Extended JSON (strings need quotes)",
                            text);
}

int ash__cmd_number(const ash_cmd *cmd, const char *option, const char *text, int64_t min,
                    int64_t max, int64_t *out)
{
    if (!ash__amount_number(text, min, max, out))
        return ash__cmd_usage(cmd, "--%s takes a whole number from %lld to %lld, not \"%s\"",
                              option, (long long)min, (long long)max, text);
    return 0;
}

int ash__cmd_check_name(const char *name, ash_error *err)
{
    size_t len = strlen(name), good = ash__text_good(name, len);
    if (good == len)
        return 0;
    return ash__fail(err, ASH_EINVAL,
                     "the name is not UTF-8 (byte %zu is 0x%02x); names in a bucket must be", good,
                     (unsigned char)name[good]);
}

const char *ash__cmd_last_part(const char *name)
{
    const char *part = name;
    for (const char *at = name; *at != 0; at++) {
        if (at[0] == '/' && at[1] != 0)
            part = at + 1;
    }
    return part;
}

char *ash__cmd_target_name(const char *name, const char *was, ash_error *err)
{
    size_t len = strlen(name);
    const char *part = was != NULL ? ash__cmd_last_part(was) : "";
    if (len == 0) {
        ash__fail(err, ASH_EINVAL, "a name cannot be empty");
        return NULL;
    }
    if (name[len - 1] != '/')
        return ash__strdup(name);
    if (part[0] != 0 && strcmp(part, "/") != 0)
        return ash__sprintf("%s%s", name, part);
    ash__fail(err, ASH_EINVAL, "%s is a folder; say what the file is called in it", name);
    return NULL;
}

int ash__cmd_address_parse(const char *text, ash_cmd_address *out, ash_error *err)
{
    memset(out, 0, sizeof *out);
    if (strncmp(text, "id:", 3) == 0)
        return parse_id(text + 3, &out->id, err);
    int rc = ash__cmd_check_name(text, err);
    if (rc != 0)
        return rc;
    const char *at = strrchr(text, '@');
    /* An @ that no whole number follows is a part of the name. */
    if (at != NULL && at[1] != 0) {
        char *end;
        errno = 0;
        long revision = strtol(at + 1, &end, 10);
        /* strtol takes blanks and a plus, which nobody means. */
        if (*end == 0 && at[1] != ' ' && at[1] != '+') {
            if (errno != 0 || revision < INT32_MIN || revision > INT32_MAX)
                return ash__fail(err, ASH_EINVAL, "revision %s is out of range", at + 1);
            out->has_revision = true;
            out->revision = (int32_t)revision;
        }
    }
    out->name = out->has_revision ? ash__strndup(text, (size_t)(at - text)) : ash__strdup(text);
    return 0;
}

int ash__cmd_address_find(ash_bucket *b, const char *text, ash_cmd_address *out, ash_error *err)
{
    ash_file *file = NULL;
    ash_error own = ASH_ERROR_INIT;
    int parsed = ash__cmd_address_parse(text, out, err);
    if (parsed == 0 && out->name != NULL && !out->has_revision)
        return 0;
    int rc = ash_bucket_get_file_by_name(b, text, -1, false, &file, &own);
    ash_file_free(file);
    /* No file has the whole text as its name: it is what it looks like, or no good. */
    if (rc == ASH_ENOTFOUND)
        return parsed;
    ash__cmd_address_release(out);
    if (rc != 0)
        *err = own;
    else
        out->name = ash__strdup(text);
    return rc;
}

void ash__cmd_address_release(ash_cmd_address *a)
{
    ash__free(a->name);
    if (a->id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&a->id);
    memset(a, 0, sizeof *a);
}

int ash__cmd_address_file(ash_bucket *b, const ash_cmd_address *a, ash_file **out, ash_error *err)
{
    if (a->name == NULL)
        return ash_bucket_get_file(b, &a->id, true, out, err);
    return ash_bucket_get_file_by_name(b, a->name, a->has_revision ? a->revision : -1, true, out,
                                       err);
}

int ash__cmd_address_download(ash_bucket *b, const ash_cmd_address *a, ash_download_options *opts,
                              ash_download **out, ash_error *err)
{
    if (a->name == NULL)
        return ash_bucket_open_download_stream(b, &a->id, opts, out, err);
    opts->has_revision = a->has_revision;
    opts->revision = a->revision;
    return ash_bucket_open_download_stream_by_name(b, a->name, opts, out, err);
}

char *ash__cmd_id_text(const bson_value_t *id)
{
    char hex[25];
    if (id->value_type == BSON_TYPE_OID) {
        bson_oid_to_string(&id->value.v_oid, hex);
        return ash__strdup(hex);
    }
    bson_t wrapped = BSON_INITIALIZER;
    /* What libbson puts around a single field. */
    static const char before[] = "{ \"v\" : ", after[] = " }";
    BSON_APPEND_VALUE(&wrapped, "v", id);
    char *json = ash__cmd_json_text(&wrapped);
    size_t len = strlen(json), around = strlen(before) + strlen(after);
    char *text =
        len > around ? ash__strndup(json + strlen(before), len - around) : ash__strdup("?");
    ash__free(json);
    bson_destroy(&wrapped);
    return text;
}
