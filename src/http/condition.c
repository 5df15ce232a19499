/* SPDX-License-Identifier: Apache-2.0 */
#include "http/condition.h"

#include "base/mem.h"
#include "http/date.h"
#include "http/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- entity tags ---- */

/* The tag that text begins with: its length, 0 for none.  weak: it was marked W/. */
static size_t tag_length(const char *text, bool *weak)
{
    *weak = strncmp(text, "W/", 2) == 0;
    size_t start = *weak ? 2 : 0;
    if (text[start] != '"')
        return 0;
    const char *end = strchr(text + start + 1, '"');
    return end != NULL ? (size_t)(end + 1 - text) : 0;
}

/* Is etag in the list?  Some clients leave out the quotes; for them each member is compared as it
 * is, too. */
static bool list_has(const char *list, const char *etag, bool strong)
{
    size_t len = strlen(etag);
    while (*list != '\0') {
        bool weak;
        list += strspn(list, " \t,");
        size_t n = tag_length(list, &weak);
        const char *tag = list + (weak ? 2 : 0);
        size_t tag_len = n - (n > 0 && weak ? 2 : 0);
        if (n == 0) {
            n = strcspn(list, " \t,");
            if (n + 2 == len && strncmp(list, etag + 1, n) == 0)
                return true;
        } else if (tag_len == len && strncmp(tag, etag, len) == 0 && !(weak && strong)) {
            return true;
        }
        list += n;
    }
    return false;
}

/* Also beside others, or twice, as a proxy may put it: who says "none at all" or "any" means it. */
static bool has_star(const char *list)
{
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, " \t,");
        if (at[0] == '*' && (at[1] == '\0' || strchr(" \t,", at[1]) != NULL))
            return true;
        /* A tag may have commas in it. */
        const char *quote = at[0] == '"' ? at : strncmp(at, "W/\"", 3) == 0 ? at + 2 : NULL;
        const char *end = quote != NULL ? strchr(quote + 1, '"') : NULL;
        at = end != NULL ? end + 1 : at + strcspn(at, " \t,");
    }
    return false;
}

static bool matches(const ash_head *head, const char *name, const ash_validators *now, bool strong)
{
    char *list = ash__head_join(head, name);
    bool found = now->etag != NULL && (has_star(list) || list_has(list, now->etag, strong));
    ash__free(list);
    return found;
}

/* ---- conditions, in the order of RFC 9110 §13.2.2 ---- */

static bool changed_since(const ash_head *head, const char *name, const ash_validators *now,
                          bool otherwise)
{
    int64_t ms;
    const char *text = ash__head_field(head, name);
    if (text == NULL || now->etag == NULL || now->modified_ms == 0 ||
        !ash__http_date_parse(text, &ms))
        return otherwise;
    return now->modified_ms / 1000 > ms / 1000;
}

int ash__http_condition_check(const ash_head *head, const char *method, const ash_validators *now)
{
    bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (ash__head_field(head, "If-Match") != NULL) {
        if (!matches(head, "If-Match", now, true))
            return 412;
    } else if (changed_since(head, "If-Unmodified-Since", now, false)) {
        return 412;
    }
    if (ash__head_field(head, "If-None-Match") != NULL) {
        if (matches(head, "If-None-Match", now, false))
            return is_get ? 304 : 412;
    } else if (is_get && !changed_since(head, "If-Modified-Since", now, true)) {
        return 304;
    }
    return 0;
}

bool ash__condition_is_there(const ash_head *head)
{
    return ash__head_field(head, "If-Match") != NULL ||
           ash__head_field(head, "If-None-Match") != NULL ||
           ash__head_field(head, "If-Unmodified-Since") != NULL;
}

/* ---- ranges ---- */

static bool parse_number(const char **at, int64_t *out)
{
    int64_t n = 0;
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 18)
        return false;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + ((*at)[i] - '0');
    *at += digits;
    *out = n;
    return true;
}

/* One of "0-499", "500-" and "-500".  false: no range; start == end: none of the body is in it. */
static bool parse_range(const char **at, int64_t length, ash_range *out)
{
    int64_t first, last;
    if (**at == '-') {
        (*at)++;
        if (!parse_number(at, &last))
            return false;
        *out = (ash_range){last < length ? length - last : 0, length};
        return true;
    }
    if (!parse_number(at, &first) || *(*at)++ != '-')
        return false;
    if (**at >= '0' && **at <= '9') {
        if (!parse_number(at, &last) || last < first)
            return false;
    } else {
        last = length - 1;
    }
    *out = (ash_range){first, last < length ? last + 1 : length};
    if (first >= length)
        out->start = out->end = 0;
    return true;
}

static int by_start(const void *a, const void *b)
{
    const ash_range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Asking for the same bytes again and again would make a small request a large answer. */
static bool overlap(const ash_range *ranges, int count)
{
    ash_range sorted[ASH_MAX_RANGES];
    memcpy(sorted, ranges, (size_t)count * sizeof *ranges);
    qsort(sorted, (size_t)count, sizeof *sorted, by_start);
    for (int i = 1; i < count; i++)
        if (sorted[i].start < sorted[i - 1].end)
            return true;
    return false;
}

static bool if_range_holds(const ash_head *head, const ash_validators *now)
{
    int64_t ms;
    const char *text = ash__head_field(head, "If-Range");
    if (text == NULL)
        return true;
    if (ash__http_date_parse(text, &ms))
        return now->modified_ms != 0 && now->modified_ms / 1000 == ms / 1000;
    return now->etag != NULL && list_has(text, now->etag, true);
}

int ash__ranges(const ash_head *head, int64_t length, const ash_validators *now,
                ash_range out[ASH_MAX_RANGES])
{
    const char *at = ash__head_field(head, "Range");
    int count = 0, asked = 0;
    if (at == NULL || strncasecmp(at, "bytes=", 6) != 0 || !if_range_holds(head, now))
        return 0;
    for (at += 6;; at++) {
        ash_range range;
        at += strspn(at, " \t");
        if (asked++ == ASH_MAX_RANGES || !parse_range(&at, length, &range))
            return 0;
        if (range.start < range.end)
            out[count++] = range;
        at += strspn(at, " \t");
        if (*at == '\0')
            break;
        if (*at != ',')
            return 0;
    }
    if (count == 0)
        return -1;
    return overlap(out, count) ? 0 : count;
}
