/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/if.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

static void skip_space(const char **at)
{
    *at += strspn(*at, " \t");
}

/* What stands between open and close; NULL: it does not begin or end. */
static char *enclosed(const char **at, char close)
{
    const char *end = strchr(*at + 1, close);
    if (end == NULL || end == *at + 1)
        return NULL;
    char *text = ash__strndup(*at + 1, (size_t)(end - *at - 1));
    *at = end + 1;
    return text;
}

/* "[" entity-tag "]": a tag may have a ']' in it. */
static char *entity_tag(const char **at)
{
    const char *start = *at + 1;
    const char *quote = strncmp(start, "W/", 2) == 0 ? start + 2 : start;
    const char *end = *quote == '"' ? strchr(quote + 1, '"') : NULL;
    if (end == NULL || end[1] != ']')
        return NULL;
    char *text = ash__strndup(start, (size_t)(end + 1 - start));
    *at = end + 2;
    return text;
}

static bool parse_condition(const char **at, ash_dav_if *out, size_t list, const char *resource)
{
    ash_dav_condition c = {.list = list};
    if (strncasecmp(*at, "Not", 3) == 0) {
        c.negated = true;
        *at += 3;
        skip_space(at);
    }
    c.is_etag = **at == '[';
    c.text = c.is_etag ? entity_tag(at) : **at == '<' ? enclosed(at, '>') : NULL;
    if (c.text == NULL || out->count == ASH_IF_MAX_CONDITIONS) {
        ash__free(c.text);
        return false;
    }
    c.resource = resource != NULL ? ash__strdup(resource) : NULL;
    out->items[out->count++] = c;
    return true;
}

static bool parse_list(const char **at, ash_dav_if *out, size_t list, const char *resource)
{
    size_t before = out->count;
    (*at)++;
    for (skip_space(at); **at != ')'; skip_space(at))
        if (!parse_condition(at, out, list, resource))
            return false;
    (*at)++;
    return out->count > before;
}

bool ash__dav_if_parse(const char *text, ash_dav_if *out)
{
    char *resource = NULL;
    bool tagged = false, good = true;
    size_t lists = 0;
    *out = (ash_dav_if){0};
    if (text == NULL)
        return true;
    if (strlen(text) > ASH_IF_MAX_BYTES)
        return false;
    skip_space(&text);
    tagged = *text == '<';
    for (; good && *text != '\0'; skip_space(&text)) {
        if (*text == '(' && (!tagged || resource != NULL)) {
            good = parse_list(&text, out, lists++, resource);
        } else if (*text == '<' && tagged) {
            ash__free(resource);
            resource = enclosed(&text, '>');
            skip_space(&text);
            good = resource != NULL && *text == '(';
        } else {
            good = false;
        }
    }
    ash__free(resource);
    return good && lists > 0;
}

void ash__dav_if_release(ash_dav_if *i)
{
    for (size_t n = 0; n < i->count; n++) {
        ash__free(i->items[n].text);
        ash__free(i->items[n].resource);
    }
    i->count = 0;
}

bool ash__dav_if_holds(const ash_dav_if *i,
                       bool (*holds)(void *ctx, const ash_dav_condition *condition), void *ctx)
{
    size_t n = 0;
    if (i->count == 0)
        return true;
    while (n < i->count) {
        size_t list = i->items[n].list;
        bool all = true;
        for (; n < i->count && i->items[n].list == list; n++)
            all = all && holds(ctx, &i->items[n]) != i->items[n].negated;
        if (all)
            return true;
    }
    return false;
}

bool ash__dav_if_submits(const ash_dav_if *i, const char *token)
{
    for (size_t n = 0; n < i->count; n++)
        if (!i->items[n].is_etag && strcmp(i->items[n].text, token) == 0)
            return true;
    return false;
}
