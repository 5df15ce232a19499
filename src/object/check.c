/* SPDX-License-Identifier: Apache-2.0 */
/* What callers say of objects: names, maps, tags, and how much of it. */
#include "object/check.h"

#include "base/mem.h"
#include "object/document.h"

#include <string.h>
#include <strings.h>

int ash__object_text_check(const char *text, const char *what, ash_error *err)
{
    if (bson_utf8_validate(text, strlen(text), false))
        return 0;
    return ash__fail(err, ASH_EINVAL, "%s is not valid UTF-8, as BSON and JSON need it", what);
}

int ash__object_name_check(const char *name, ash_error *err)
{
    size_t len = strlen(name);
    if (len == 0)
        return ash__fail(err, ASH_EINVAL, "an object's name is not empty");
    if (len > ASH_OBJECT_NAME_MAX)
        return ash__fail(err, ASH_ETOOBIG, "an object's name of %zu bytes is over %d", len,
                         ASH_OBJECT_NAME_MAX);
    return ash__object_text_check(name, "an object's name", err);
}

int ash__object_store_name_check(const char *name, ash_error *err)
{
    size_t len = name != NULL ? strlen(name) : 0;
    bool good = len > 0 && len <= ASH_OBJECT_STORE_NAME_MAX;
    for (size_t i = 0; good && i < len; i++)
        good = (name[i] >= 'A' && name[i] <= 'Z') || (name[i] >= 'a' && name[i] <= 'z') ||
               (name[i] >= '0' && name[i] <= '9') || name[i] == '-' || name[i] == '_';
    if (good)
        return 0;
    return ash__fail(err, ASH_EINVAL,
                     "\"%.200s\" is not the name of an object store: those have 1 to %d of A-Z a-z "
                     "0-9 - _",
                     name != NULL ? name : "", ASH_OBJECT_STORE_NAME_MAX);
}

/* ---- maps ---- */

int ash__object_strings_check(const bson_t *map, const char *what, ash_error *err)
{
    bson_iter_t it;
    int rc = 0;
    if (map == NULL)
        return 0;
    if (!bson_validate(map, BSON_VALIDATE_UTF8 | BSON_VALIDATE_EMPTY_KEYS, NULL) ||
        !bson_iter_init(&it, map))
        return ash__fail(err, ASH_EINVAL, "%s have an empty name, or are not valid UTF-8", what);
    while (rc == 0 && bson_iter_next(&it))
        if (!BSON_ITER_HOLDS_UTF8(&it))
            rc = ash__fail(err, ASH_EINVAL, "%s: \"%.100s\" is not a string", what,
                           bson_iter_key(&it));
    return rc;
}

static int check_header(const bson_iter_t *it, ash_error *err)
{
    bson_iter_t in;
    bool good = BSON_ITER_HOLDS_UTF8(it);
    if (BSON_ITER_HOLDS_ARRAY(it) && bson_iter_recurse(it, &in)) {
        good = true;
        while (bson_iter_next(&in))
            good = good && BSON_ITER_HOLDS_UTF8(&in);
    }
    return good ? 0
                : ash__fail(err, ASH_EINVAL, "header \"%.100s\" is not an array of strings",
                            bson_iter_key(it));
}

static int check_headers(const bson_t *headers, ash_error *err)
{
    bson_iter_t it;
    int rc = 0;
    if (headers == NULL)
        return 0;
    if (!bson_validate(headers, BSON_VALIDATE_UTF8 | BSON_VALIDATE_EMPTY_KEYS, NULL) ||
        !bson_iter_init(&it, headers))
        return ash__fail(err, ASH_EINVAL, "headers have an empty name, or are not valid UTF-8");
    while (rc == 0 && bson_iter_next(&it)) {
        rc = check_header(&it, err);
        if (rc == 0 && strcasecmp(bson_iter_key(&it), ASH_HEADER_TAGS) == 0)
            rc = ash__fail(err, ASH_EINVAL, "header %s is what tags are called in JSON: give tags",
                           ASH_HEADER_TAGS);
    }
    return rc;
}

static int check_tags(const bson_t *tags, ash_error *err)
{
    bson_iter_t it;
    int rc = ash__object_strings_check(tags, "tags", err);
    if (rc != 0 || tags == NULL || !bson_iter_init(&it, tags))
        return rc;
    while (rc == 0 && bson_iter_next(&it)) {
        uint32_t len;
        bson_iter_utf8(&it, &len);
        if (len == 0 || len > ASH_OBJECT_TAG_MAX)
            rc = ash__fail(err, ASH_EINVAL, "a tag has 1 to %d bytes", ASH_OBJECT_TAG_MAX);
    }
    return rc;
}

static size_t size_of(const ash_object_meta *m)
{
    return (m->name != NULL ? strlen(m->name) : 0) +
           (m->description != NULL ? strlen(m->description) : 0) +
           (m->headers != NULL ? m->headers->len : 0) +
           (m->metadata != NULL ? m->metadata->len : 0) + (m->tags != NULL ? m->tags->len : 0) +
           (m->content_type != NULL ? strlen(m->content_type) : 0);
}

/* ---- all of it ---- */

int ash__object_digest_check(ash_digest_kind kind, ash_error *err)
{
    if (kind == 0 || kind == ASH_DIGEST_SHA256 || kind == ASH_DIGEST_SHA1 || kind == ASH_DIGEST_MD5)
        return 0;
    return ash__fail(err, ASH_EINVAL, "there is no digest %d", (int)kind);
}

int ash__object_chunk_size_check(int32_t size, ash_error *err)
{
    if (size >= 0 && size <= ASH_CHUNK_SIZE_MAX)
        return 0;
    return ash__fail(err, ASH_EINVAL, "chunks of %d bytes: there are 1 to %d", size,
                     ASH_CHUNK_SIZE_MAX);
}

static int check_put(const ash_object_meta *m, ash_error *err)
{
    int rc = ash__object_chunk_size_check(m->chunk_size, err);
    if (rc == 0)
        rc = ash__object_digest_check(m->digest, err);
    if (rc == 0 && m->encoding != NULL && strcmp(m->encoding, "zstd") != 0 &&
        strcmp(m->encoding, "none") != 0)
        rc = ash__fail(err, ASH_EINVAL, "there is no encoding \"%.100s\", but zstd and none",
                       m->encoding);
    return rc;
}

int ash__object_meta_check(const ash_object_meta *m, bool put, ash_error *err)
{
    int rc = 0;
    if (m->name != NULL || put)
        rc = ash__object_name_check(m->name != NULL ? m->name : "", err);
    if (rc == 0 && m->description != NULL)
        rc = ash__object_text_check(m->description, "an object's description", err);
    if (rc == 0 && m->content_type != NULL)
        rc = ash__object_text_check(m->content_type, "a content type", err);
    if (rc == 0)
        rc = check_headers(m->headers, err);
    if (rc == 0)
        rc = ash__object_strings_check(m->metadata, "metadata", err);
    if (rc == 0)
        rc = check_tags(m->tags, err);
    if (rc == 0 && size_of(m) > ASH_OBJECT_META_MAX)
        rc = ash__fail(err, ASH_ETOOBIG, "what is said of the object takes %zu bytes, over %d",
                       size_of(m), ASH_OBJECT_META_MAX);
    if (rc == 0 && put)
        rc = check_put(m, err);
    else if (rc == 0 && (m->chunk_size != 0 || m->digest != 0 || m->encoding != NULL))
        rc = ash__fail(err, ASH_EINVAL,
                       "chunk size, digest and encoding are chosen when an object is put");
    return rc;
}
