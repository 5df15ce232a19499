/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/source.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

/* What a content is opened again for, when it is deleted and stored anew meanwhile. */
enum { ATTEMPTS = 5 };

struct ash_content_reader {
    ash_fetch fetch;
    ash_content_id id;
    int64_t length;
    uint8_t *in; /* own copy of bytes that stand in the file's document */
    ash_source *source;
    ash_digest *digest; /* of all so far; NULL: it is not compared */
    int failed;         /* what a call failed with, which all later ones do as well */
};

static int open_inner(ash_content_reader *r, const ash_content_ref *ref, ash_error *err)
{
    if (ref->in_len == 0 && ref->length > 0)
        return ash__fail(err, ASH_ECORRUPT, "a file's bytes are neither in it nor elsewhere");
    if (ref->length > ref->in_len && ref->length > ASH_REPEATED_MAX)
        return ash__fail(err, ASH_ECORRUPT,
                         "a file's bytes are repeated to be longer than anything that is repeated");
    r->in = ash__alloc(ref->in_len + 1);
    if (ref->in_len > 0)
        memcpy(r->in, ref->in, ref->in_len);
    r->source = ash__source_memory(&r->fetch, r->in, ref->in_len, ref->length);
    return 0;
}

static int open_content(ash_content_reader *r, ash_error *err)
{
    int rc = ASH_ECONFLICT;
    for (int i = 0; rc == ASH_ECONFLICT && i < ATTEMPTS; i++) {
        ash__fetch_forgive(&r->fetch);
        rc = ash__source_open(&r->fetch, &r->id, &r->source, err);
    }
    return rc;
}

/* The content that was asked for, in front of an error of one that it is made of. */
static int name_it(const ash_content_reader *r, int rc, ash_error *err)
{
    if (rc == ASH_ECORRUPT && r->id.len != 0)
        ash__content_blame(&r->id, err);
    return rc;
}

static int say_wrong_length(const ash_content_reader *r, ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "has not the %lld bytes that its file says",
                     (long long)r->length);
}

int ash__content_open(ash_contents *c, const ash_content_ref *ref, bool verify, const ash_op *op,
                      ash_content_reader **out, ash_error *err)
{
    ash_content_reader *r = ash__new(ash_content_reader);
    *out = NULL;
    r->id = ref->id;
    r->length = ref->length;
    int rc = ash__fetch_init(&r->fetch, c, op, err);
    if (rc == 0)
        rc = ref->id.len == 0 ? open_inner(r, ref, err) : open_content(r, err);
    if (rc == 0 && r->source->length >= 0 && r->source->length != r->length)
        rc = say_wrong_length(r, err);
    if (rc == 0 && verify && r->id.len != 0)
        r->digest = ash__content_digest_new(&r->id);
    if (rc == 0) {
        *out = r;
        return 0;
    }
    rc = name_it(r, rc, err);
    ash__content_reader_free(r);
    return rc;
}

int64_t ash__content_reader_length(const ash_content_reader *r)
{
    return r->length;
}

static int compare_digest(ash_content_reader *r, ash_error *err)
{
    ash_digest *digest = r->digest;
    r->digest = NULL;
    if (digest == NULL || ash__content_digest_gives(digest, &r->id))
        return 0;
    return ash__fail(err, ASH_ECORRUPT, "its bytes do not give its digest");
}

/* A packed content that does not say how long it is has to end where its file does. */
static int expect_end(ash_content_reader *r, ash_error *err)
{
    uint8_t byte;
    size_t got = 0;
    if (r->source->length >= 0)
        return 0;
    int rc = ash__source_read(r->source, &byte, 1, &got, err);
    return rc == 0 && got > 0 ? say_wrong_length(r, err) : rc;
}

int ash__content_reader_read(ash_content_reader *r, void *buf, size_t len, size_t *got,
                             ash_error *err)
{
    *got = 0;
    if (r->failed != 0)
        return ash__fail(err, r->failed, "content could not be read before");
    int64_t left = r->length - r->source->position;
    if ((int64_t)len > left)
        len = left > 0 ? (size_t)left : 0;
    if (len == 0)
        return 0;
    int rc = ash__source_read(r->source, buf, len, got, err);
    if (rc == 0 && *got == 0)
        rc = say_wrong_length(r, err);
    if (rc == 0 && r->digest != NULL)
        ash__digest_add(r->digest, buf, *got);
    if (rc == 0 && r->source->position == r->length) {
        rc = expect_end(r, err);
        if (rc == 0)
            rc = compare_digest(r, err);
    }
    r->failed = rc;
    return name_it(r, rc, err);
}

int ash__content_reader_seek(ash_content_reader *r, int64_t position, ash_error *err)
{
    if (position < 0 || position > r->length)
        return ash__fail(err, ASH_EINVAL, "position %lld is not within the content",
                         (long long)position);
    if (position == r->source->position)
        return 0;
    ash__digest_free(r->digest); /* what is read from here on is a part of it */
    r->digest = NULL;
    r->fetch.unpacked = r->fetch.given = 0;
    int rc = ash__source_seek(r->source, position, err);
    r->failed = rc;
    return name_it(r, rc, err);
}

void ash__content_reader_free(ash_content_reader *r)
{
    if (r == NULL)
        return;
    ash__source_free(r->source);
    ash__digest_free(r->digest);
    ash__fetch_release(&r->fetch);
    ash__free(r->in);
    ash__free(r);
}
