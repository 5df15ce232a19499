/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of three generations of v7files and of our own.  Numbers come in any type, and what is
 * missing has a meaning; but a field of a type that it cannot have is damage, and is told. */
#include "tree/entry.h"

#include "base/hash.h"
#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/path.h"

#include <string.h>

static const char DELETED[] = "deleted:";

bool ash__entry_field(const ash_tree_entry *e, const char *name, bson_iter_t *it)
{
    return bson_iter_init_find(it, e->doc, name);
}

static int bad_field(const ash_tree_entry *e, const char *field, ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "the document of %s has a %s that cannot be",
                     e->name != NULL && e->name[0] != '\0' ? e->name : "an entry without a name",
                     field);
}

/* ---- reading: one pass over the document, whose fields come in any order ---- */

typedef enum field {
    F_ID,
    F_FILENAME,
    F_PARENT,
    F_VERSION,
    F_IN,
    F_SHA,
    F_LENGTH,
    F_CREATED_AT,
    F_UPDATED_AT,
    F_DELETED_AT,
    F_UNTIL,
    F_MODIFIED_AT,
    F_CONTENT_TYPE,
    FIELDS
} field;

static const char *const field_names[FIELDS] = {
    [F_ID] = "_id",
    [F_FILENAME] = "filename",
    [F_PARENT] = "parent",
    [F_VERSION] = "_version",
    [F_IN] = "in",
    [F_SHA] = "sha",
    [F_LENGTH] = "length",
    [F_CREATED_AT] = "created_at",
    [F_UPDATED_AT] = "updated_at",
    [F_DELETED_AT] = "deleted_at",
    [F_UNTIL] = "until",
    [F_MODIFIED_AT] = "modified_at",
    [F_CONTENT_TYPE] = "contentType",
};

typedef struct fields {
    uint32_t there; /* a bit of each */
    /* An iterator's alignment is larger than its size, so that there are no arrays of them. */
    struct {
        bson_iter_t it;
    } at[FIELDS];
} fields;

static bool has(const fields *f, field which)
{
    return (f->there >> which & 1) != 0;
}

/* Of two fields of one name the first counts, as everywhere. */
static void find_fields(const ash_tree_entry *e, fields *f)
{
    bson_iter_t it;
    f->there = 0;
    if (!bson_iter_init(&it, e->doc))
        return;
    while (bson_iter_next(&it)) {
        const char *key = bson_iter_key(&it);
        for (int i = 0; i < FIELDS; i++) {
            if (key[0] != field_names[i][0] || strcmp(key, field_names[i]) != 0)
                continue;
            if (!has(f, (field)i))
                f->at[i].it = it;
            f->there |= UINT32_C(1) << i;
            break;
        }
    }
}

static int64_t get_date(const fields *f, field which)
{
    return has(f, which) && BSON_ITER_HOLDS_DATE_TIME(&f->at[which].it)
               ? bson_iter_date_time(&f->at[which].it)
               : 0;
}

/* In the history the entry's own id stands in a document with the version. */
static bool read_id(ash_tree_entry *e, fields *f)
{
    bson_iter_t child, *it = &f->at[F_ID].it;
    if (!has(f, F_ID))
        return false;
    bool past = BSON_ITER_HOLDS_DOCUMENT(it) && bson_iter_recurse(it, &child) &&
                bson_iter_find(&child, "_version");
    if (past && (!bson_iter_recurse(it, &child) || !bson_iter_find(&child, "_id")))
        return false;
    bson_value_copy(bson_iter_value(past ? &child : it), &e->id);
    return true;
}

static int read_version(ash_tree_entry *e, const fields *f, ash_error *err)
{
    const bson_iter_t *it = &f->at[F_VERSION].it;
    size_t prefix = sizeof DELETED - 1;
    if (!has(f, F_VERSION))
        return 0; /* v7files always writes one; a root that somebody made by hand may have none */
    if (BSON_ITER_HOLDS_UTF8(it) && strncmp(bson_iter_utf8(it, NULL), DELETED, prefix) == 0) {
        e->is_deleted = true;
        e->version = (int32_t)strtol(bson_iter_utf8(it, NULL) + prefix, NULL, 10);
        return 0;
    }
    if (!BSON_ITER_HOLDS_NUMBER(it))
        return bad_field(e, "_version", err);
    e->version = (int32_t)bson_iter_as_int64(it);
    return 0;
}

static int read_inline(ash_tree_entry *e, const fields *f, ash_error *err)
{
    bson_subtype_t subtype;
    ash_digest *digest = ash__digest_new(ASH_DIGEST_SHA256);
    uint8_t out[ASH_DIGEST_MAX_BYTES];
    if (!BSON_ITER_HOLDS_BINARY(&f->at[F_IN].it) || digest == NULL) {
        ash__digest_free(digest);
        return bad_field(e, "in", err);
    }
    bson_iter_binary(&f->at[F_IN].it, &subtype, &e->content.in_len, &e->content.in);
    e->content.length = e->content.in_len;
    if (has(f, F_LENGTH) && BSON_ITER_HOLDS_NUMBER(&f->at[F_LENGTH].it))
        e->content.length = bson_iter_as_int64(&f->at[F_LENGTH].it);
    /* A length other than that of the bytes: they are a pattern (v7files' InlineContent). */
    if (e->content.length < 0 || (e->content.in_len == 0 && e->content.length > 0)) {
        ash__digest_free(digest);
        return bad_field(e, "length", err);
    }
    if (e->content.length <= e->content.in_len) {
        ash__digest_add(digest, e->content.in, (size_t)e->content.length);
        ash__hex(out, ash__digest_finish(digest, out), e->digest);
    }
    ash__digest_free(digest);
    return 0;
}

static int read_content(ash_tree_entry *e, fields *f, ash_error *err)
{
    const bson_iter_t *length = &f->at[F_LENGTH].it;
    if (has(f, F_IN))
        return read_inline(e, f, err);
    if (!has(f, F_SHA)) {
        e->is_folder = !e->is_deleted;
        return 0;
    }
    if (!ash__content_id_read(&f->at[F_SHA].it, &e->content.id))
        return bad_field(e, "sha", err);
    ash__content_id_hex(&e->content.id, e->digest);
    if (!has(f, F_LENGTH) || !BSON_ITER_HOLDS_NUMBER(length) || bson_iter_as_int64(length) < 0)
        return bad_field(e, "length", err);
    e->content.length = bson_iter_as_int64(length);
    return 0;
}

static void read_dates(ash_tree_entry *e, const fields *f)
{
    e->created_ms = get_date(f, F_CREATED_AT);
    e->changed_ms = get_date(f, e->is_deleted ? F_DELETED_AT : F_UPDATED_AT);
    if (e->changed_ms == 0)
        e->changed_ms = e->created_ms;
    e->ended_ms = get_date(f, F_UNTIL);
    e->modified_ms = get_date(f, F_MODIFIED_AT);
    if (e->modified_ms == 0)
        e->modified_ms = e->changed_ms;
}

static int read_all(ash_tree_entry *e, ash_error *err)
{
    fields f;
    find_fields(e, &f);
    e->name = "";
    if (!read_id(e, &f))
        return bad_field(e, "_id", err);
    if (has(&f, F_FILENAME)) {
        if (!BSON_ITER_HOLDS_UTF8(&f.at[F_FILENAME].it))
            return bad_field(e, "filename", err);
        e->name = bson_iter_utf8(&f.at[F_FILENAME].it, NULL);
    }
    if (has(&f, F_PARENT))
        bson_value_copy(bson_iter_value(&f.at[F_PARENT].it), &e->parent);
    if (has(&f, F_CONTENT_TYPE) && BSON_ITER_HOLDS_UTF8(&f.at[F_CONTENT_TYPE].it))
        e->content_type = bson_iter_utf8(&f.at[F_CONTENT_TYPE].it, NULL);
    int rc = read_version(e, &f, err);
    if (rc == 0)
        rc = read_content(e, &f, err);
    if (rc == 0)
        read_dates(e, &f);
    return rc;
}

int ash__entry_new(bson_t *doc, ash_tree_entry **out, ash_error *err)
{
    ash_tree_entry *e = ash__new(ash_tree_entry);
    e->doc = doc;
    int rc = read_all(e, err);
    if (rc != 0)
        ash_tree_entry_free(e);
    *out = rc == 0 ? e : NULL;
    return rc;
}

int ash__entry_next(ash_cursor *cursor, ash_tree_entry **out, ash_error *err)
{
    ash_doc doc;
    bson_t view;
    *out = NULL;
    int rc = ash_cursor_next(cursor, &doc, err);
    if (rc != 0 || doc.data == NULL)
        return rc;
    ash__doc_to_bson(doc, &view);
    return ash__entry_new(bson_copy(&view), out, err);
}

ash_tree_entry *ash__entry_new_root(const char *root)
{
    ash_tree_entry *e = NULL;
    int rc = ash__entry_new(BCON_NEW("_id", BCON_UTF8(root)), &e, NULL);
    ash_assert(rc == 0);
    e->path = ash__strdup("/");
    return e;
}

char *ash__entry_join(const char *folder_path, const char *name)
{
    size_t folder_len = strcmp(folder_path, "/") == 0 ? 0 : strlen(folder_path);
    size_t name_len = strlen(name);
    char *path = ash__alloc(folder_len + name_len + 2);
    memcpy(path, folder_path, folder_len);
    path[folder_len] = '/';
    memcpy(path + folder_len + 1, name, name_len + 1);
    return path;
}

void ash__entry_set_path(ash_tree_entry *e, const char *folder_path)
{
    bool fits = strlen(folder_path) + 1 + strlen(e->name) <= ASH_TREE_PATH_MAX;
    char *path = ash__entry_join(fits ? folder_path : ASH_TREE_NOWHERE, e->name);
    ash__free(e->path);
    e->path = path;
}

ash_tree_entry *ash_tree_entry_copy(const ash_tree_entry *e)
{
    ash_tree_entry *copy = NULL;
    int rc = ash__entry_new(bson_copy(e->doc), &copy, NULL);
    ash_assert(rc == 0);
    copy->path = e->path != NULL ? ash__strdup(e->path) : NULL;
    /* What the document does not say, others have found out. */
    copy->created_ms = e->created_ms;
    copy->ended_ms = e->ended_ms;
    copy->is_deleted = e->is_deleted;
    return copy;
}

bool ash__same_id(const bson_value_t *a, const bson_value_t *b)
{
    if (a->value_type == BSON_TYPE_OID && b->value_type == BSON_TYPE_OID)
        return bson_oid_equal(&a->value.v_oid, &b->value.v_oid);
    return ash__id_equal(a, b);
}

uint64_t ash__hash_id(const bson_value_t *id)
{
    bson_t doc = BSON_INITIALIZER;
    bson_append_value(&doc, "", 0, id);
    uint64_t sum = ash__checksum(bson_get_data(&doc), doc.len);
    bson_destroy(&doc);
    return sum;
}

void ash__filter_entries(bson_t *filter, const char *name, ash_tree_entry *const *entries,
                         size_t count)
{
    bson_t in, ids;
    bson_append_document_begin(filter, name, -1, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = 0; i < count; i++) {
        char buf[12];
        const char *key;
        size_t len = bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        bson_append_value(&ids, key, (int)len, &entries[i]->id);
    }
    bson_append_array_end(&in, &ids);
    bson_append_document_end(filter, &in);
}

void ash__tree_give(int rc, ash_tree_entry *e, ash_tree_entry **out)
{
    if (out != NULL)
        *out = rc == 0 ? e : NULL;
    if (out == NULL || rc != 0)
        ash_tree_entry_free(e);
}

void ash_tree_entry_free(ash_tree_entry *e)
{
    if (e == NULL)
        return;
    bson_value_destroy(&e->id);
    bson_value_destroy(&e->parent);
    bson_destroy(e->doc);
    ash__free(e->path);
    ash__free(e);
}

/* ---- what an entry says ---- */

bool ash_tree_entry_is_folder(const ash_tree_entry *e)
{
    return e->is_folder;
}

bool ash_tree_entry_is_deleted(const ash_tree_entry *e)
{
    return e->is_deleted;
}

const bson_value_t *ash_tree_entry_id(const ash_tree_entry *e)
{
    return &e->id;
}

const char *ash_tree_entry_name(const ash_tree_entry *e)
{
    return e->name;
}

bool ash_tree_entry_has_path(const ash_tree_entry *e)
{
    return e->path != NULL && e->path[0] == '/';
}

const char *ash_tree_entry_path(const ash_tree_entry *e)
{
    return e->path != NULL ? e->path : e->name;
}

int32_t ash_tree_entry_version(const ash_tree_entry *e)
{
    return e->version;
}

int64_t ash_tree_entry_length(const ash_tree_entry *e)
{
    return e->content.length;
}

const char *ash_tree_entry_digest(const ash_tree_entry *e)
{
    return e->digest;
}

int64_t ash_tree_entry_created_ms(const ash_tree_entry *e)
{
    return e->created_ms;
}

int64_t ash_tree_entry_changed_ms(const ash_tree_entry *e)
{
    return e->changed_ms;
}

int64_t ash_tree_entry_ended_ms(const ash_tree_entry *e)
{
    return e->ended_ms;
}

int64_t ash_tree_entry_modified_ms(const ash_tree_entry *e)
{
    return e->modified_ms;
}

static const char *get_text(const ash_tree_entry *e, const char *name)
{
    bson_iter_t it;
    return ash__entry_field(e, name, &it) && BSON_ITER_HOLDS_UTF8(&it) ? bson_iter_utf8(&it, NULL)
                                                                       : NULL;
}

const char *ash_tree_entry_content_type(const ash_tree_entry *e)
{
    return e->content_type;
}

const char *ash_tree_entry_changed_by(const ash_tree_entry *e)
{
    return get_text(e, "changed_by");
}

const char *ash_tree_entry_written_by(const ash_tree_entry *e)
{
    bson_iter_t it;
    bool said = ash__entry_field(e, "written_by", &it);
    const char *who = get_text(e, said ? "written_by" : "changed_by");
    return who != NULL && who[0] != '\0' ? who : NULL;
}

int64_t ash_tree_entry_tagged_ms(const ash_tree_entry *e, const char *tag, const char **by)
{
    bson_iter_t it, mark, name, at, who;
    if (by != NULL)
        *by = NULL;
    if (!ash__entry_field(e, "tagged", &it) || !bson_iter_recurse(&it, &mark))
        return 0;
    while (bson_iter_next(&mark)) {
        if (!bson_iter_recurse(&mark, &name) || !bson_iter_find(&name, "tag") ||
            !BSON_ITER_HOLDS_UTF8(&name) || strcmp(bson_iter_utf8(&name, NULL), tag) != 0)
            continue;
        if (by != NULL && bson_iter_recurse(&mark, &who) && bson_iter_find(&who, "by") &&
            BSON_ITER_HOLDS_UTF8(&who))
            *by = bson_iter_utf8(&who, NULL);
        if (bson_iter_recurse(&mark, &at) && bson_iter_find(&at, "at") &&
            BSON_ITER_HOLDS_DATE_TIME(&at))
            return bson_iter_date_time(&at);
    }
    return 0;
}

bool ash_tree_entry_has_tag(const ash_tree_entry *e, const char *tag)
{
    bson_iter_t it, child;
    if (!ash__entry_field(e, "tags", &it) || !bson_iter_recurse(&it, &child))
        return false;
    while (bson_iter_next(&child))
        if (BSON_ITER_HOLDS_UTF8(&child) && strcmp(bson_iter_utf8(&child, NULL), tag) == 0)
            return true;
    return false;
}

ash_doc ash_tree_entry_document(const ash_tree_entry *e)
{
    return ash__doc_from_bson(e->doc);
}
