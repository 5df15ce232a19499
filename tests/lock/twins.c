/* SPDX-License-Identifier: Apache-2.0 */
#include "lock/twins.h"

#include "lock/brief.h"

#include <string.h>

/* A free document as this library leaves it; %s: what comes behind, instead or besides. */
static const char tidied[] =
    "'expires': {'$date': 1000}, 'read_locks': 0, 'write_lock': false, 'write_req': false,"
    "'reads': 3, 'writes': {'$numberLong': '4'}, 'meta': null, 'holders': [], 'waiters': [],"
    "'own_req': false, 'turn': null, 'readers_wait': null, 'req_since': null, 'last': null,"
    "'next': null,"
    "'base': {'$numberLong': '7'}, 'ceil': {'$numberLong': '1000'}, 'mine': 'kept'";

void parse_document(const char *text, bson_t *out)
{
    ash_error err = ASH_ERROR_INIT;
    char json[2048];
    snprintf(json, sizeof json, "{%s}", text);
    assert_ok(ash__lock_parse(json, out, &err), &err);
}

void make_document(const char *id, const start *s, bson_t *out)
{
    bson_t base, more = BSON_INITIALIZER, kept = BSON_INITIALIZER;
    bson_iter_t it;
    bson_init(out);
    BSON_APPEND_UTF8(out, "files_id", id);
    parse_document(s->json[0] == '\0' || s->json[0] == '+' || s->json[0] == '-' ? tidied : s->json,
                   &base);
    if (s->json[0] == '+') {
        bson_destroy(&more);
        parse_document(s->json + 1, &more);
    }
    for (bson_iter_init(&it, &base); bson_iter_next(&it);) {
        const char *key = bson_iter_key(&it);
        bson_iter_t other;
        if (s->json[0] == '-' && strcmp(key, s->json + 1) == 0)
            continue;
        if (bson_iter_init_find(&other, &more, key))
            bson_append_iter(&kept, key, -1, &other);
        else
            bson_append_iter(&kept, key, -1, &it);
    }
    bson_concat(out, &kept);
    bson_destroy(&base);
    bson_destroy(&more);
    bson_destroy(&kept);
}

bson_t *lock_parameters(const fixture *f, const bson_oid_t *h)
{
    bson_t *q = ash__lock_parameters(f->c, h);
    BSON_APPEND_NULL(q, "join");
    BSON_APPEND_BOOL(q, "wait", false);
    BSON_APPEND_INT32(q, "n", 1);
    BSON_APPEND_INT64(q, "life", 60000);
    BSON_APPEND_INT64(q, "ttl", 1000);
    BSON_APPEND_INT64(q, "fresh", 600);
    BSON_APPEND_UTF8(q, "meta", "$not.an.expression");
    return q;
}

/* Without what cannot be the same: identities, and moments, which become 0, or, when they lie a
 * life ahead, 1. */
static void normalise(const bson_t *doc, bson_t *out)
{
    bson_iter_t it, inner;
    int64_t now = now_ms();
    for (bson_iter_init(&it, doc); bson_iter_next(&it);) {
        const char *key = bson_iter_key(&it);
        bson_t child, bare = BSON_INITIALIZER;
        if (strcmp(key, "_id") == 0 || strcmp(key, "files_id") == 0)
            continue;
        if (BSON_ITER_HOLDS_DATE_TIME(&it)) {
            int64_t at = bson_iter_date_time(&it);
            BSON_APPEND_INT32(out, key, at < 2000 ? -1 : at > now + 30000);
        } else if ((BSON_ITER_HOLDS_DOCUMENT(&it) || BSON_ITER_HOLDS_ARRAY(&it)) &&
                   bson_iter_recurse(&it, &inner)) {
            const uint8_t *data;
            uint32_t len;
            if (BSON_ITER_HOLDS_DOCUMENT(&it))
                bson_iter_document(&it, &len, &data);
            else
                bson_iter_array(&it, &len, &data);
            assert_true(bson_init_static(&child, data, len));
            normalise(&child, &bare);
            bson_append_document(out, key, -1, &bare);
        } else {
            bson_append_iter(out, key, -1, &it);
        }
        bson_destroy(&bare);
    }
}

void assert_same(const char *what, const bson_t *a, const bson_t *b)
{
    bson_t one = BSON_INITIALIZER, other = BSON_INITIALIZER;
    normalise(a, &one);
    normalise(b, &other);
    if (!bson_equal(&one, &other)) {
        char *left = bson_as_relaxed_extended_json(&one, NULL);
        char *right = bson_as_relaxed_extended_json(&other, NULL);
        fail_msg("%s:\nin brief %s\nas whole %s", what, left, right);
    }
    bson_destroy(&one);
    bson_destroy(&other);
}

void grant_of(const bson_t *doc, bool write, const bson_oid_t *h, ash_lock_grant *g)
{
    bson_iter_t at;
    memset(g, 0, sizeof *g);
    g->write = write;
    g->writes = ash__lock_int(doc, "writes");
    bson_oid_copy(h, &g->h);
    assert_true(bson_iter_init_find(&at, doc, "_id"));
    bson_value_copy(bson_iter_value(&at), &g->doc_id);
}
