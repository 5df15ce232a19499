/* SPDX-License-Identifier: Apache-2.0 */
#include "http/stores/state.h"

#include "audit/audit.h"
#include "base/mem.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A whole store is structure, what lies in it is not. */
static unsigned kind_of_objects(const char *rest)
{
    const char *below = strchr(rest + (rest[0] == '/'), '/');
    return below == NULL || below[1] == '\0' ? ASH_AUDIT_STRUCTURE : ASH_AUDIT_WRITES;
}

int ash__http_stores_new(ash_store *store, ash_http_stores **out, ash_error *err)
{
    ash_http_stores *s = ash__new(ash_http_stores);
    s->store = store;
    s->annexes[0] = (ash_site_annex){"buckets", ash__buckets_begin, s, NULL};
    s->annexes[1] = (ash_site_annex){"objects", ash__objects_begin, s, kind_of_objects};
    int rc = ash_object_manager_new(store, NULL, &s->objects, err);
    if (rc != 0) {
        ash__http_stores_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ash__http_stores_free(ash_http_stores *s)
{
    if (s == NULL)
        return;
    ash_object_manager_close(s->objects);
    ash__free(s);
}

const ash_site_annex *ash__http_stores_annexes(ash_http_stores *s)
{
    return s->annexes;
}

char *ash__stores_next_name(const char **rest)
{
    *rest += **rest == '/';
    size_t len = strcspn(*rest, "/");
    if (len == 0)
        return NULL;
    char *name = ash__strndup(*rest, len);
    *rest += len;
    return name;
}

bool ash__stores_number(ash_exchange *x, const char *name, int64_t min, int64_t max, int64_t *value)
{
    char *text = NULL, *end = NULL;
    if (!ash__http_target_query(&x->target, name, &text))
        return true;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    bool good = end != text && *end == '\0' && errno == 0 && n >= min && n <= max;
    ash__free(text);
    if (good)
        *value = n;
    else
        ash__answer_text(x, 400, "`%s` is a number from %lld to %lld", name, (long long)min,
                         (long long)max);
    return good;
}

int ash__stores_flag(ash_exchange *x, const char *name)
{
    static const char *const no[] = {"0", "false", "no"};
    char *text = NULL;
    int flag = ash__http_target_flag(&x->target, name);
    if (flag || !ash__http_target_query(&x->target, name, &text))
        return flag;
    flag = -1;
    for (size_t i = 0; i < ASH_ARRAY_LEN(no); i++)
        if (strcmp(text, no[i]) == 0)
            flag = 0;
    ash__free(text);
    if (flag < 0)
        ash__answer_text(x, 400, "`%s` is true or false", name);
    return flag;
}

enum { MAX_UPLOADS = 32 };

bool ash__stores_count_in(ash_http_stores *s, ash_exchange *x)
{
    if (atomic_fetch_add(&s->uploads, 1) < MAX_UPLOADS)
        return true;
    atomic_fetch_sub(&s->uploads, 1);
    ash__answer_field(x, "Retry-After", "2");
    ash__answer_text(x, 503, "there are %d uploads at once already", (int)MAX_UPLOADS);
    return false;
}

void ash__stores_count_out(ash_http_stores *s)
{
    atomic_fetch_sub(&s->uploads, 1);
}

void ash__stores_refuse_method(ash_exchange *x, const char *allowed)
{
    ash__answer_field(x, "Allow", "%s", allowed);
    ash__answer_text(x, 405, "%s is nothing that can be done here", x->method);
}

void ash__stores_add_json(ash_buffer *out, const bson_t *doc)
{
    size_t len;
    char *text = bson_as_relaxed_extended_json(doc, &len);
    if (text != NULL)
        ash__buffer_append(out, text, len);
    ash__buffer_append_byte(out, '\n');
    bson_free(text);
}

void ash__stores_answer_json(ash_exchange *x, int status, const bson_t *doc)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__stores_add_json(&out, doc);
    ash__answer_body(x, status, "application/json", out.data, out.len);
    ash__buffer_release(&out);
}
