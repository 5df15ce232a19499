/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes out: a download, decoded where the chunks are encoded. */
#include "object/docs/docs.h"

#include "base/mem.h"
#include "object/docs/encoding.h"

#include <string.h>

typedef struct docs_source {
    ash_object_source source;
    ash_docs *store;
    ash_op op;
    const ash_object *object;
    ash_download *download;
    ash_decoder *decoder;
} docs_source;

/* A file without its chunks is damage, or was replaced: the object tells. */
static int explain(docs_source *u, int rc, ash_error *err)
{
    ash_object *now = NULL;
    if (rc != ASH_ENOTFOUND && rc != ASH_ECHUNKMISSING && rc != ASH_ECONFLICT)
        return rc;
    if (u->object->ended_ms != 0
            ? ash__docs_find_version(u->store, u->object->name, u->object->revision, &u->op, &now,
                                     NULL) != 0
            : ash__docs_find_name(u->store, u->object->name, &u->op, &now, NULL) != 0)
        return rc;
    bool same =
        now != NULL && strcmp(now->nuid, u->object->nuid) == 0 && now->archive_store == NULL;
    ash_object_free(now);
    if (!same)
        return ash__fail(err, ASH_ECONFLICT, "%.300s was changed or deleted meanwhile",
                         u->object->name);
    if (rc == ASH_ENOTFOUND)
        return ash__fail(err, ASH_ECORRUPT, "%.300s has no bytes: its file %s is not there",
                         u->object->name, u->object->nuid);
    return rc;
}

int ash__docs_open_source(ash_object_store *base, const ash_object *object, const ash_op *op,
                          ash_object_source **out, ash_error *err)
{
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    bson_value_t id = {.value_type = BSON_TYPE_UTF8};
    docs_source *u = ash__new(docs_source);
    u->store = ash__docs(base);
    u->op = *op;
    u->object = object;
    id.value.v_utf8.str = (char *)(uintptr_t)object->nuid;
    id.value.v_utf8.len = (uint32_t)strlen(object->nuid);
    int rc = ash_bucket_open_download_stream(u->store->bucket, &id, &o, &u->download, err);
    if (rc == 0 && object->encoding != NULL)
        rc = ash__decoder_open(u->download, object->size, ash_object_chunk_size(object),
                               &u->decoder, err);
    if (rc == 0 && object->encoding == NULL &&
        ash_file_length(ash_download_file(u->download)) != object->size)
        rc = ash__fail(err, ASH_ECORRUPT, "the file of %.300s has another length", object->name);
    rc = explain(u, rc, err);
    if (rc != 0)
        ash__docs_source_free(&u->source);
    else
        *out = &u->source;
    return rc;
}

int ash__docs_source_read(ash_object_source *base, void *buf, size_t len, size_t *got,
                          ash_error *err)
{
    docs_source *u = (docs_source *)base;
    int rc = u->decoder != NULL ? ash__decoder_read(u->decoder, buf, len, got, err)
                                : ash_download_read(u->download, buf, len, got, err);
    return explain(u, rc, err);
}

int ash__docs_source_seek(ash_object_source *base, int64_t position, ash_error *err)
{
    docs_source *u = (docs_source *)base;
    int rc = u->decoder != NULL ? ash__decoder_seek(u->decoder, position, err)
                                : ash_download_seek(u->download, position, err);
    return explain(u, rc, err);
}

void ash__docs_source_free(ash_object_source *base)
{
    docs_source *u = (docs_source *)base;
    ash__decoder_free(u->decoder);
    ash_download_free(u->download);
    ash__free(u);
}
