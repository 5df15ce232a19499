/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/subject.h"

#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <string.h>

typedef struct token {
    const char *text;
    size_t len;
} token;

/* The next token; false at the end. */
static bool next(const char **at, token *out)
{
    if (*at == NULL)
        return false;
    const char *dot = strchr(*at, '.');
    *out = (token){*at, dot != NULL ? (size_t)(dot - *at) : strlen(*at)};
    *at = dot != NULL ? dot + 1 : NULL;
    return true;
}

static bool is(const token *t, char wildcard)
{
    return t->len == 1 && t->text[0] == wildcard;
}

static bool equal(const token *a, const token *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

bool ash__jsd_subjects_meet(const char *a, const char *b)
{
    token x, y;
    for (;;) {
        bool more_a = next(&a, &x), more_b = next(&b, &y);
        if (!more_a || !more_b)
            return more_a == more_b;
        if (is(&x, '>') || is(&y, '>'))
            return true;
        if (!is(&x, '*') && !is(&y, '*') && !equal(&x, &y))
            return false;
    }
}

ash_jsd_kind ash__jsd_filter_read(const char *store, const char *filter, char **name)
{
    size_t len = strlen(store);
    *name = NULL;
    if (strncmp(filter, "$O.", 3) != 0 || strncmp(filter + 3, store, len) != 0 ||
        filter[3 + len] != '.')
        return ASH_JSD_NONE;
    const char *rest = filter + len + 4;
    if (strcmp(rest, "M.>") == 0 || strcmp(rest, "M.*") == 0)
        return ASH_JSD_METAS;
    if (strpbrk(rest, "*>") != NULL)
        return ASH_JSD_NONE;
    if (strncmp(rest, "C.", 2) == 0 && rest[2] != '\0' && strchr(rest + 2, '.') == NULL) {
        *name = ash__strdup(rest + 2);
        return ASH_JSD_CHUNKS;
    }
    *name = ash__name_of_subject(store, filter);
    return *name != NULL ? ASH_JSD_META : ASH_JSD_NONE;
}
