/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

bool ash__cmd_tree_field(const ash_tree_entry *e, const char *name, bson_iter_t *it, bson_t *doc)
{
    ash_doc bytes = ash_tree_entry_document(e);
    return bson_init_static(doc, bytes.data, bytes.len) && bson_iter_init_find(it, doc, name);
}

bool ash__cmd_tree_field_differs(const ash_tree_entry *a, const ash_tree_entry *b, const char *name)
{
    bson_iter_t left, right;
    bson_t doc_a, doc_b;
    bool has_left = ash__cmd_tree_field(a, name, &left, &doc_a);
    bool has_right = ash__cmd_tree_field(b, name, &right, &doc_b);
    if (has_left != has_right || !has_left)
        return has_left != has_right;
    bson_t one = BSON_INITIALIZER, two = BSON_INITIALIZER;
    BSON_APPEND_VALUE(&one, "v", bson_iter_value(&left));
    BSON_APPEND_VALUE(&two, "v", bson_iter_value(&right));
    bool differ = !bson_equal(&one, &two);
    bson_destroy(&one);
    bson_destroy(&two);
    return differ;
}

bool ash__cmd_tree_says_same(const ash_tree_entry *a, const ash_tree_entry *b)
{
    static const char *const fields[] = {"contentType", "modified_at", "props"};
    bool same = strcmp(ash_tree_entry_digest(a), ash_tree_entry_digest(b)) == 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(fields); i++)
        same = same && !ash__cmd_tree_field_differs(a, b, fields[i]);
    return same;
}

static void append_field(const ash_tree_entry *e, const char *name, bson_type_t type, bson_t *out)
{
    bson_iter_t it;
    bson_t doc;
    if (ash__cmd_tree_field(e, name, &it, &doc) && bson_iter_type(&it) == type)
        BSON_APPEND_VALUE(out, name, bson_iter_value(&it));
}

/* A root on which nothing was set has no dates, and what is current has not ended. */
static void append_date(bson_t *out, const char *name, int64_t ms)
{
    if (ms != 0)
        BSON_APPEND_DATE_TIME(out, name, ms);
}

const char *ash__cmd_tree_author(const ash_tree_entry *e)
{
    const char *by = ash_tree_entry_changed_by(e), *author = ash_tree_entry_written_by(e);
    bool same = by != NULL && author != NULL && strcmp(by, author) == 0;
    return same || ash_tree_entry_is_folder(e) ? NULL : author;
}

void ash__cmd_tree_object(const ash_tree_entry *e, bson_t *out)
{
    bool folder = ash_tree_entry_is_folder(e);
    const char *by = ash_tree_entry_changed_by(e), *type = ash_tree_entry_content_type(e);
    BSON_APPEND_UTF8(out, "path", ash_tree_entry_path(e));
    BSON_APPEND_VALUE(out, "id", ash_tree_entry_id(e));
    BSON_APPEND_INT32(out, "version", ash_tree_entry_version(e));
    BSON_APPEND_BOOL(out, "folder", folder);
    if (!folder) {
        BSON_APPEND_INT64(out, "length", ash_tree_entry_length(e));
        BSON_APPEND_UTF8(out, "digest", ash_tree_entry_digest(e));
    }
    append_date(out, "created", ash_tree_entry_created_ms(e));
    append_date(out, "changed", ash_tree_entry_changed_ms(e));
    append_date(out, "modified", ash_tree_entry_modified_ms(e));
    append_date(out, "ended", ash_tree_entry_ended_ms(e));
    if (type != NULL)
        BSON_APPEND_UTF8(out, "contentType", type);
    if (by != NULL)
        BSON_APPEND_UTF8(out, "by", by);
    if (ash__cmd_tree_author(e) != NULL)
        BSON_APPEND_UTF8(out, "author", ash__cmd_tree_author(e));
    append_field(e, "tags", BSON_TYPE_ARRAY, out);
    append_field(e, "tagged", BSON_TYPE_ARRAY, out);
    append_field(e, "props", BSON_TYPE_DOCUMENT, out);
    BSON_APPEND_BOOL(out, "deleted", ash_tree_entry_is_deleted(e));
}

bool ash__cmd_tree_emit(const ash_cmd_tree_run *r, const ash_tree_entry *e, const char *key,
                        const char *value)
{
    bson_t object = BSON_INITIALIZER;
    if (!r->cmd->json)
        return false;
    if (e != NULL)
        ash__cmd_tree_object(e, &object);
    if (key != NULL)
        BSON_APPEND_UTF8(&object, key, value);
    if (r->cmd->dry_run)
        BSON_APPEND_BOOL(&object, "dryRun", true);
    ash__cmd_emit(&object);
    bson_destroy(&object);
    return true;
}

char *ash__cmd_tree_quoted(const char *text)
{
    ash_buffer out = ASH_BUFFER_INIT;
    bool plain = text[0] != 0;
    for (const char *at = text; *at != 0; at++)
        plain = plain && ((unsigned char)*at >= 0x80 || isalnum((unsigned char)*at) ||
                          strchr("/._-+,:@%=", *at) != NULL);
    if (plain)
        return ash__strdup(text);
    ash__buffer_append_text(&out, "'");
    for (const char *at = text; *at != 0; at++)
        if (*at == '\'')
            ash__buffer_append_text(&out, "'\\''");
        else
            ash__buffer_append_byte(&out, (uint8_t)*at);
    ash__buffer_append_text(&out, "'");
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

char *ash__cmd_tree_tags(const ash_tree_entry *e)
{
    ash_buffer out = ASH_BUFFER_INIT;
    bson_iter_t it, tag;
    bson_t doc;
    if (ash__cmd_tree_field(e, "tags", &it, &doc) && bson_iter_recurse(&it, &tag)) {
        while (bson_iter_next(&tag)) {
            if (BSON_ITER_HOLDS_UTF8(&tag))
                ash__buffer_printf(&out, "%s%s", out.len > 0 ? ", " : "",
                                   bson_iter_utf8(&tag, NULL));
        }
    }
    if (out.len == 0)
        return NULL;
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

const char *ash__cmd_tree_number(char buf[ASH_CMD_TREE_NUMBER_BYTES], int64_t number)
{
    char digits[24];
    size_t out = 0;
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRId64, number);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
            buf[out++] = ',';
        buf[out++] = digits[i];
    }
    buf[out] = 0;
    return buf;
}

void ash__cmd_tree_print_time(char *buf, size_t size, int64_t ms)
{
    char date[64] = "-";
    if (ms != 0)
        ash__clock_print(date, sizeof date, ms);
    size_t len = strlen(date);
    if (len == 0 || date[len - 1] != 'Z') {
        snprintf(buf, size, "%s", date);
        return;
    }
    int64_t rest = ms % 1000;
    snprintf(buf, size, "%.*s.%03" PRId64 "Z", (int)len - 1, date, rest < 0 ? rest + 1000 : rest);
}
