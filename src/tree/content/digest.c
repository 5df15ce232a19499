/* SPDX-License-Identifier: Apache-2.0 */
/* A content by its digest alone, or by the beginning of one. */
#include "tree/content/form.h"

#include "base/hash.h"
#include "bucket/bucket.h"

#include <string.h>

enum { DIGITS_MIN = 4 };

/* A digest of len bytes that begins as the digits say, and goes on with `rest`. */
static bool fill(const char *digits, uint8_t len, uint8_t rest, ash_content_id *out)
{
    memset(out->bytes, rest, sizeof out->bytes);
    out->len = len;
    for (size_t i = 0; digits[i] != 0; i++) {
        int digit = ash__hex_digit(digits[i]), shift = i % 2 == 0 ? 4 : 0;
        if (digit < 0 || i >= (size_t)2 * len)
            return false;
        out->bytes[i / 2] &= (uint8_t) ~(0x0f << shift);
        out->bytes[i / 2] |= (uint8_t)(digit << shift);
    }
    return true;
}

static void append_range(bson_t *filter, const ash_content_id *from, const ash_content_id *to)
{
    bson_t range;
    bson_append_document_begin(filter, "_id", 3, &range);
    ash__append_id(&range, "$gte", from);
    ash__append_id(&range, "$lte", to);
    bson_append_document_end(filter, &range);
}

typedef struct finds {
    bson_t *first;
    int count;
} finds;

/* Adds the contents of that length of digest. */
static int look(ash_contents *c, const char *digits, uint8_t len, const ash_op *op, finds *all,
                ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_doc found = {NULL, 0};
    ash_content_id from, to;
    if (!fill(digits, len, 0x00, &from) || !fill(digits, len, 0xff, &to))
        return 0; /* more digits than it has */
    append_range(&filter, &from, &to);
    o.op = *op;
    o.limit = 2;
    int rc = ash_collection_find(c->files, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &found, err)) == 0 && found.data != NULL) {
        if (all->first == NULL)
            all->first = bson_new_from_data(found.data, found.len);
        all->count++;
    }
    ash_cursor_free(cursor);
    bson_destroy(&filter);
    return rc;
}

/* v7files left the length of what it deflated to the documents that name it. */
static int ask_holders(ash_contents *c, const ash_op *op, ash_content_ref *out, ash_error *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && out->length < 0 && i < 2; i++) {
        bson_t filter = BSON_INITIALIZER, doc;
        ash_find_options o = ASH_FIND_OPTIONS_INIT;
        bool found = false;
        o.op = *op;
        ash__append_id(&filter, "sha", &out->id);
        if (c->holders[i] != NULL)
            rc = ash__collection_find_if_any(c->holders[i], &filter, &o, &doc, &found, err);
        if (rc == 0 && found) {
            (void)ash__value_as_int64(ash__doc_get(ash__doc_from_bson(&doc), "length"),
                                      &out->length);
            bson_destroy(&doc);
        }
        bson_destroy(&filter);
    }
    if (rc == 0 && out->length < 0)
        rc = ash__fail(err, ASH_ENOTFOUND,
                       "no version names this content, and nobody else says how long it is");
    return rc;
}

static int describe(ash_contents *c, const bson_t *doc, const ash_op *op, ash_content_ref *out,
                    ash_error *err)
{
    ash_form form;
    int rc = ash__form_read(doc, &form, err);
    if (rc != 0)
        return rc;
    *out = (ash_content_ref){.id = form.id, .length = form.size};
    ash__form_release(&form);
    return out->length < 0 ? ask_holders(c, op, out, err) : 0;
}

int ash__contents_by_digest(ash_contents *c, const char *digits, const ash_op *op,
                            ash_content_ref *out, ash_error *err)
{
    finds all = {NULL, 0};
    ash_content_id any;
    if (strlen(digits) < DIGITS_MIN || !fill(digits, 32, 0, &any))
        return ash__fail(err, ASH_EINVAL,
                         "%s is no digest, nor the first %d or more hexadecimal digits of one",
                         digits, DIGITS_MIN);
    int rc = look(c, digits, 20, op, &all, err);
    if (rc == 0)
        rc = look(c, digits, 32, op, &all, err);
    if (rc == 0 && all.count == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no content whose digest begins with %s",
                       digits);
    else if (rc == 0 && all.count > 1)
        rc = ash__fail(err, ASH_EINVAL, "more than one content's digest begins with %s", digits);
    if (rc == 0)
        rc = describe(c, all.first, op, out, err);
    bson_destroy(all.first);
    return rc;
}
