/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that takes BSON apart with suspicion: each length is held against the end of the
 * document around it before it is used, and readers rely on that.  The walk has a stack of its own,
 * so that hostile nesting costs no thread's stack. */
#include "bson/validate.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

/* The deepest nesting any caller allows; the walk keeps its own stack. */
#define MAX_OPEN 256

typedef struct walk {
    const uint8_t *data;
    size_t at;
    size_t ends[MAX_OPEN]; /* offsets of the open documents' final NULs */
    int depth;
    int max_depth;
    const char *problem;
    bool too_deep;
} walk;

static bool refuse(walk *w, const char *problem)
{
    w->problem = problem;
    return false;
}

/* limit: the first offset that the document may not reach; exact: it has to end just there. */
static bool enter(walk *w, size_t limit, bool exact)
{
    if (limit - w->at < 5)
        return refuse(w, "document is cut short");
    uint32_t len = ash__get_le32(w->data + w->at);
    if (len < 5 || len > limit - w->at || (exact && len != limit - w->at))
        return refuse(w, "document has a wrong length");
    if (w->data[w->at + len - 1] != 0)
        return refuse(w, "document does not end in a zero byte");
    /* Before it is entered: ends has room for max_depth of them. */
    if (w->depth == w->max_depth) {
        w->too_deep = true;
        return refuse(w, "document is nested too deep");
    }
    w->ends[w->depth] = w->at + len - 1;
    w->depth++;
    w->at += 4;
    return true;
}

static bool skip(walk *w, size_t len, size_t end)
{
    if (len > end - w->at)
        return refuse(w, "value is cut short");
    w->at += len;
    return true;
}

static bool skip_cstring(walk *w, size_t end)
{
    /* The document's final NUL, which is at end, cannot end a text that was cut short. */
    const uint8_t *nul = memchr(w->data + w->at, 0, end - w->at);
    if (nul == NULL)
        return refuse(w, "text has no end");
    w->at = (size_t)(nul - w->data) + 1;
    return true;
}

static bool skip_string(walk *w, size_t end)
{
    if (end - w->at < 5)
        return refuse(w, "string is cut short");
    uint32_t len = ash__get_le32(w->data + w->at);
    /* The length counts the NUL: an empty string has 1. */
    if (len < 1 || len > end - w->at - 4)
        return refuse(w, "string has a wrong length");
    if (w->data[w->at + 4 + len - 1] != 0)
        return refuse(w, "string does not end in a zero byte");
    w->at += 4 + (size_t)len;
    return true;
}

static bool skip_binary(walk *w, size_t end)
{
    if (end - w->at < 5)
        return refuse(w, "binary is cut short");
    uint32_t len = ash__get_le32(w->data + w->at);
    if (len > end - w->at - 5)
        return refuse(w, "binary has a wrong length");
    if (w->data[w->at + 4] == BSON_SUBTYPE_BINARY_DEPRECATED &&
        (len < 4 || ash__get_le32(w->data + w->at + 5) != len - 4))
        return refuse(w, "binary of the old subtype has a wrong inner length");
    w->at += 5 + (size_t)len;
    return true;
}

static bool skip_bool(walk *w, size_t end)
{
    /* Other bytes would be trues that are not identical to one another. */
    if (w->at < end && w->data[w->at] > 1)
        return refuse(w, "boolean is neither true nor false");
    return skip(w, 1, end);
}

static bool enter_code_with_scope(walk *w, size_t end)
{
    /* Its own length, an empty string and an empty document. */
    if (end - w->at < 14)
        return refuse(w, "code with scope is cut short");
    uint32_t len = ash__get_le32(w->data + w->at);
    if (len < 14 || len > end - w->at)
        return refuse(w, "code with scope has a wrong length");
    size_t own_end = w->at + len;
    w->at += 4;
    return skip_string(w, own_end) && enter(w, own_end, true);
}

static bool check_value(walk *w, uint8_t type, size_t end)
{
    switch (type) {
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_DATE_TIME:
    case BSON_TYPE_TIMESTAMP:
    case BSON_TYPE_INT64:
        return skip(w, 8, end);
    case BSON_TYPE_UTF8:
    case BSON_TYPE_CODE:
    case BSON_TYPE_SYMBOL:
        return skip_string(w, end);
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY:
        return enter(w, end, false);
    case BSON_TYPE_BINARY:
        return skip_binary(w, end);
    case BSON_TYPE_UNDEFINED:
    case BSON_TYPE_NULL:
    case BSON_TYPE_MINKEY:
    case BSON_TYPE_MAXKEY:
        return true;
    case BSON_TYPE_OID:
        return skip(w, 12, end);
    case BSON_TYPE_BOOL:
        return skip_bool(w, end);
    case BSON_TYPE_REGEX:
        return skip_cstring(w, end) && skip_cstring(w, end);
    case BSON_TYPE_DBPOINTER:
        return skip_string(w, end) && skip(w, 12, end);
    case BSON_TYPE_CODEWSCOPE:
        return enter_code_with_scope(w, end);
    case BSON_TYPE_INT32:
        return skip(w, 4, end);
    case BSON_TYPE_DECIMAL128:
        return skip(w, 16, end);
    default:
        return refuse(w, "unknown type");
    }
}

static bool walk_elements(walk *w)
{
    while (w->depth > 0) {
        size_t end = w->ends[w->depth - 1];
        if (w->at == end) {
            /* Its final NUL, which enter() has seen. */
            w->at++;
            w->depth--;
            continue;
        }
        uint8_t type = w->data[w->at++];
        if (!skip_cstring(w, end) || !check_value(w, type, end))
            return false;
    }
    return true;
}

int ash__bson_validate(const uint8_t *data, size_t len, int max_depth, ash_error *err)
{
    return ash__bson_validate_within(data, len, ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES, max_depth,
                                     err);
}

int ash__bson_validate_within(const uint8_t *data, size_t len, size_t max_bytes, int max_depth,
                              ash_error *err)
{
    ash_assert(max_depth > 0 && max_depth <= MAX_OPEN);
    if (len > max_bytes)
        return ash__fail(err, ASH_ETOOBIG, "document of %zu bytes is over the limit", len);
    /* Not zeroed as a whole: the stack is 2 KiB, and most documents are small. */
    walk w;
    w.data = data;
    w.at = 0;
    w.depth = 0;
    w.max_depth = max_depth;
    w.problem = NULL;
    w.too_deep = false;
    if (enter(&w, len, true) && walk_elements(&w))
        return 0;
    if (w.too_deep)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_OVERFLOW,
                                "document is nested deeper than %d levels at byte %zu", max_depth,
                                w.at);
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_BSON, "invalid BSON: %s at byte %zu",
                            w.problem, w.at);
}
