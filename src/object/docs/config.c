/* SPDX-License-Identifier: Apache-2.0 */
/* The document of a store in objects.stores. */
#include "object/docs/docs.h"

#include "base/mem.h"
#include "bson/value.h"
#include "bucket/bucket.h"

#include <string.h>

static int64_t number(const bson_t *doc, const char *path)
{
    bson_iter_t it, at;
    int64_t out = 0;
    if (!bson_iter_init(&it, doc) || !bson_iter_find_descendant(&it, path, &at))
        return 0;
    if (BSON_ITER_HOLDS_DATE_TIME(&at))
        return bson_iter_date_time(&at);
    if (BSON_ITER_HOLDS_BOOL(&at))
        return bson_iter_bool(&at);
    (void)ash__value_as_int64(ash__value_of_iter(&at), &out);
    return out;
}

static const char *text(const bson_t *doc, const char *path)
{
    bson_iter_t it, at;
    return bson_iter_init(&it, doc) && bson_iter_find_descendant(&it, path, &at) &&
                   BSON_ITER_HOLDS_UTF8(&at)
               ? bson_iter_utf8(&at, NULL)
               : NULL;
}

static ash_digest_kind digest_kind(const char *name)
{
    return name == NULL                 ? 0
           : strcmp(name, "SHA-1") == 0 ? ASH_DIGEST_SHA1
           : strcmp(name, "MD5") == 0   ? ASH_DIGEST_MD5
                                        : ASH_DIGEST_SHA256;
}

int ash__docs_config_read(const bson_t *doc, ash_docs_config *out, ash_error *err)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    bson_iter_t it, at;
    bson_t metadata;
    const uint8_t *data;
    uint32_t len;
    memset(out, 0, sizeof *out);
    c.name = text(doc, "_id");
    c.description = text(doc, "config.description");
    if (bson_iter_init(&it, doc) && bson_iter_find_descendant(&it, "config.metadata", &at) &&
        BSON_ITER_HOLDS_DOCUMENT(&at)) {
        bson_iter_document(&at, &len, &data);
        if (bson_init_static(&metadata, data, len))
            c.metadata = &metadata;
    }
    c.ttl_ms = number(doc, "config.ttl");
    c.max_bytes = number(doc, "config.maxBytes");
    c.compression = number(doc, "config.compression") != 0;
    c.keep_last = (int32_t)number(doc, "config.keepLast");
    c.keep_within_ms = number(doc, "config.keepWithin");
    c.tombstone_ttl_ms = number(doc, "config.tombstoneTtl");
    c.max_object_bytes = number(doc, "config.maxObjectBytes");
    c.max_objects = number(doc, "config.maxObjects");
    c.chunk_size = (int32_t)number(doc, "config.chunkSize");
    c.digest = digest_kind(text(doc, "config.digest"));
    out->sealed = number(doc, "sealed") != 0;
    out->deleted = number(doc, "deleted") != 0;
    out->dropped = number(doc, "dropped") != 0;
    out->generation = (int32_t)number(doc, "generation");
    out->revision = number(doc, "revision");
    out->bytes = number(doc, "bytes");
    out->objects = number(doc, "objects");
    out->created_ms = number(doc, "created");
    const char *prefix = text(doc, "bucket");
    int rc = ash__object_config_copy(&c, &out->copy, err);
    if (rc != 0 || prefix == NULL) {
        ash__object_config_release(&out->copy);
        return ash__fail(err, ASH_ECORRUPT, "the document of object store %.128s cannot be",
                         c.name != NULL ? c.name : "(without a name)");
    }
    out->prefix = ash__strdup(prefix);
    return 0;
}

void ash__docs_config_release(ash_docs_config *c)
{
    ash__object_config_release(&c->copy);
    ash__free(c->prefix);
    c->prefix = NULL;
}

/* ---- writing ---- */

static void append_number(bson_t *doc, const char *name, int64_t v)
{
    if (v != 0)
        BSON_APPEND_INT64(doc, name, v);
}

void ash__docs_config_append(const ash_object_config *c, bson_t *doc)
{
    static const struct {
        ash_digest_kind kind;
        const char *name;
    } digests[] = {
        {ASH_DIGEST_SHA256, "SHA-256"}, {ASH_DIGEST_SHA1, "SHA-1"}, {ASH_DIGEST_MD5, "MD5"}};
    bson_t config;
    BSON_APPEND_DOCUMENT_BEGIN(doc, "config", &config);
    if (c->description != NULL)
        BSON_APPEND_UTF8(&config, "description", c->description);
    if (c->metadata != NULL)
        BSON_APPEND_DOCUMENT(&config, "metadata", c->metadata);
    append_number(&config, "ttl", c->ttl_ms);
    append_number(&config, "maxBytes", c->max_bytes);
    if (c->compression)
        BSON_APPEND_BOOL(&config, "compression", true);
    append_number(&config, "keepLast", c->keep_last);
    append_number(&config, "keepWithin", c->keep_within_ms);
    append_number(&config, "tombstoneTtl", c->tombstone_ttl_ms);
    append_number(&config, "maxObjectBytes", c->max_object_bytes);
    append_number(&config, "maxObjects", c->max_objects);
    BSON_APPEND_INT32(&config, "chunkSize", c->chunk_size);
    for (size_t i = 0; i < ASH_ARRAY_LEN(digests); i++)
        if (digests[i].kind == c->digest)
            BSON_APPEND_UTF8(&config, "digest", digests[i].name);
    bson_append_document_end(doc, &config);
}

/* ---- asking ---- */

int ash__docs_config_get(ash_docs_manager *m, const char *name, const ash_op *op,
                         ash_docs_config *out, bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, doc;
    ash_find_options o = ash__docs_find_options(op);
    memset(out, 0, sizeof *out);
    BSON_APPEND_UTF8(&filter, "_id", name);
    int rc = ash__collection_find_if_any(m->stores, &filter, &o, &doc, found, err);
    if (rc == 0 && *found) {
        rc = ash__docs_config_read(&doc, out, err);
        bson_destroy(&doc);
    }
    bson_destroy(&filter);
    return rc;
}

int ash__docs_config_own(ash_docs *s, const ash_op *op, ash_docs_config *out, ash_error *err)
{
    bool found = false;
    int rc = ash__docs_config_get(s->manager, s->base.name, op, out, &found, err);
    if (rc == 0 && (!found || out->deleted || out->generation != s->generation)) {
        ash__docs_config_release(out);
        rc = ash__fail(err, ASH_ENOTFOUND, "object store %s was deleted", s->base.name);
    }
    return rc;
}

int ash__docs_config_status(const ash_docs_config *c, ash_object_status **out, ash_error *err)
{
    int rc = ash__object_status_new(&c->copy.config, out, err);
    if (rc != 0)
        return rc;
    (*out)->sealed = c->sealed;
    (*out)->compressed = c->copy.config.compression;
    (*out)->bytes = c->bytes;
    (*out)->objects = c->objects;
    (*out)->created_ms = c->created_ms;
    (*out)->revision = (uint64_t)c->revision;
    (*out)->backing = "Ashlar";
    return 0;
}
