/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

entity *spec_entity_find(runner *r, const char *id)
{
    for (entity *e = r->entities; e != NULL && id != NULL; e = e->next)
        if (strcmp(e->id, id) == 0)
            return e;
    return NULL;
}

static entity *add(runner *r, const char *id, enum entity_kind kind)
{
    entity *e = ash__new(entity);
    e->id = ash__strdup(id);
    e->kind = kind;
    e->value = bson_new();
    e->next = r->entities;
    r->entities = e;
    return e;
}

void spec_entities_free(runner *r)
{
    while (r->entities != NULL) {
        entity *e = r->entities;
        r->entities = e->next;
        ash_collection_free(e->collection);
        ash_bucket_free(e->bucket);
        bson_destroy(e->value);
        ash__free(e->db);
        ash__free(e->id);
        ash__free(e);
    }
}

bool spec_entity_save(runner *r, const char *id, ash_value v)
{
    outcome out;
    if (spec_entity_find(r, id) != NULL)
        return spec_fail(r, "there is an entity %s already", id);
    entity *e = add(r, id, ENTITY_VALUE);
    bson_init(&out.value);
    spec_return_value(&out, v);
    bson_destroy(e->value);
    e->value = bson_copy(&out.value);
    bson_destroy(&out.value);
    return true;
}

static entity *database_of(runner *r, ash_doc spec)
{
    entity *db = spec_entity_find(r, spec_text(spec, "database"));
    if (db == NULL || db->kind != ENTITY_DATABASE) {
        spec_fail(r, "entity names no database");
        return NULL;
    }
    return db;
}

static bool create_database(runner *r, const char *id, ash_doc spec)
{
    const char *name = spec_text(spec, "databaseName");
    if (name == NULL)
        return spec_fail(r, "database entity without databaseName");
    add(r, id, ENTITY_DATABASE)->db = ash__strdup(name);
    return true;
}

static bool create_collection(runner *r, const char *id, ash_doc spec)
{
    ash_error err = ASH_ERROR_INIT;
    const char *name = spec_text(spec, "collectionName");
    entity *db = database_of(r, spec);
    if (db == NULL || name == NULL)
        return spec_fail(r, "collection entity without database or collectionName");
    entity *e = add(r, id, ENTITY_COLLECTION);
    e->db = ash__strdup(db->db);
    if (ash_collection_new(r->store, db->db, name, &e->collection, &err) != 0)
        return spec_fail(r, "collection entity: %s", err.text);
    return true;
}

static const bson_t *concern(ash_doc options, const char *name, bson_t *holder)
{
    if (ash__doc_get(options, name).type != BSON_TYPE_DOCUMENT)
        return NULL;
    spec_doc(options, name, holder);
    return holder;
}

static bool create_bucket(runner *r, const char *id, ash_doc spec)
{
    ash_error err = ASH_ERROR_INIT;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    bson_t read;
    bson_t preference;
    bson_t write;
    int64_t number;
    entity *db = database_of(r, spec);
    ash_value given = ash__doc_get(spec, "bucketOptions");
    ash_doc options = given.type == BSON_TYPE_DOCUMENT ? ash__value_doc(given) : ash__doc_empty;
    if (db == NULL)
        return false;
    o.db = db->db;
    o.bucket_name = spec_text(options, "bucketName");
    if (ash__value_as_int64(ash__doc_get(options, "chunkSizeBytes"), &number))
        o.chunk_size_bytes = (int32_t)number;
    if (ash__value_as_int64(ash__doc_get(options, "timeoutMS"), &number))
        o.timeout_ms = number;
    o.disable_md5 = ash__value_truthy(ash__doc_get(options, "disableMD5"));
    o.read_concern = concern(options, "readConcern", &read);
    o.read_preference = concern(options, "readPreference", &preference);
    o.write_concern = concern(options, "writeConcern", &write);
    entity *e = add(r, id, ENTITY_BUCKET);
    e->db = ash__strdup(db->db);
    if (ash_bucket_new(r->store, &o, &e->bucket, &err) != 0)
        return spec_fail(r, "bucket entity: %s", err.text);
    return true;
}

/* Sessions have an id to be matched; the store's interface has none to pass. */
static bool create_session(runner *r, const char *id)
{
    uint8_t uuid[16];
    bson_t lsid;
    entity *e = add(r, id, ENTITY_SESSION);
    ash__random(uuid, sizeof uuid);
    bson_append_document_begin(e->value, "v", 1, &lsid);
    bson_append_binary(&lsid, "id", 2, BSON_SUBTYPE_UUID, uuid, sizeof uuid);
    bson_append_document_end(e->value, &lsid);
    return true;
}

bool spec_entity_create(runner *r, ash_doc doc)
{
    ash_doc_iter it = ash__doc_iter(doc);
    if (!ash__doc_iter_next(&it) || it.value.type != BSON_TYPE_DOCUMENT)
        return spec_fail(r, "entity without a description");
    ash_doc spec = ash__value_doc(it.value);
    const char *id = spec_text(spec, "id");
    if (id == NULL)
        return spec_fail(r, "entity without an id");
    if (spec_entity_find(r, id) != NULL)
        return spec_fail(r, "there is an entity %s already", id);
    if (strcmp(it.name, "client") == 0)
        return add(r, id, ENTITY_CLIENT) != NULL;
    if (strcmp(it.name, "database") == 0)
        return create_database(r, id, spec);
    if (strcmp(it.name, "collection") == 0)
        return create_collection(r, id, spec);
    if (strcmp(it.name, "bucket") == 0)
        return create_bucket(r, id, spec);
    if (strcmp(it.name, "session") == 0)
        return create_session(r, id);
    return spec_fail(r, "entities of kind %s are not known", it.name);
}
