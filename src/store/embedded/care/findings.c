/* SPDX-License-Identifier: Apache-2.0 */
/* What a check found, in words: damaged chunks are named by their files, which children look up,
 * since what they read is damaged. */

#include "store/embedded/care/findings.h"

#include "base/log.h"
#include "base/mem.h"
#include "query/kit/value_text.h"

#include <string.h>

enum { FINDINGS_MAX = 1000, TRIES = 8 };

static const char *text_in(const bson_t *doc, const char *name)
{
    ash_value v = ash__doc_get(ash__doc_from_bson(doc), name);
    return ash__value_utf8(v, NULL);
}

static bool is_unreadable(const bson_t *facts)
{
    const char *kind = text_in(facts, "kind");
    return kind != NULL && (strcmp(kind, "payload") == 0 || strcmp(kind, "record") == 0);
}

void ash__findings_add(ash_findings *f, const char *text, const bson_t *facts)
{
    f->count++;
    f->invalid += is_unreadable(facts);
    /* A thousand of them fit a report; the rest is only counted. */
    if (f->kept == FINDINGS_MAX)
        return;
    if (f->items == NULL)
        f->items = ash__alloc_array(FINDINGS_MAX, sizeof *f->items);
    f->items[f->kept++] = (ash_finding){ash__strdup(text), bson_copy(facts), NULL};
}

/* ---- whose they are ---- */

typedef struct naming {
    ash_findings *f;
    uint32_t learned;
    bool by_index;
} naming;

static void look(ash_probe *p, ash_snapshot *snap, void *ctx)
{
    const naming *n = ctx;
    ash__findings_look(n->f, n->by_index, p, snap);
}

static bool take(void *ctx, const bson_t *doc)
{
    naming *n = ctx;
    int64_t i;
    if (!ash__value_as_int64(ash__doc_get(ash__doc_from_bson(doc), "i"), &i) || i < 0 ||
        i >= n->f->kept)
        return true;
    /* A later word is the better one (findings.h). */
    bson_destroy(n->f->items[i].file);
    n->f->items[i].file = bson_copy(doc);
    n->learned++;
    return true;
}

static bool any_chunk(const ash_findings *f)
{
    for (uint32_t i = 0; i < f->kept; i++) {
        if (ash__finding_is_chunk(&f->items[i]))
            return true;
    }
    return false;
}

/* Each try begins behind what ended the one before. */
void ash__findings_name(ash_findings *f, ash_engine *e)
{
    naming n = {.f = f, .by_index = true};
    const ash_probe_fns fns = {look, take, &n};
    ash_error why = ASH_ERROR_INIT;
    bool through = !any_chunk(f);
    int rc = 0;
    for (int i = 0; rc == 0 && !through && i < TRIES; i++) {
        n.learned = 0;
        rc = ash__engine_probe(e, &fns, &through, &why);
        if (n.learned == 0 && !n.by_index)
            break;
        /* A try that died without a word has met damage in the index; the next one asks the
         * documents. */
        n.by_index = n.by_index && n.learned > 0;
    }
    if (rc != 0)
        ash__log(ASH_LOG_WARN, "cannot tell which files the damaged chunks belong to: %s",
                 why.text);
}

/* ---- saying it ---- */

/* Behind "db.coll, record 12: ", which is said better here. */
static const char *behind_record(const ash_finding *f, const char *db, const char *coll)
{
    int64_t rid = 0;
    ash__value_as_int64(ash__doc_get(ash__doc_from_bson(f->facts), "rid"), &rid);
    char *head = ash__sprintf("%s.%s, record %lld: ", db, coll, (long long)rid);
    size_t len = strlen(head);
    const char *text = strncmp(f->text, head, len) == 0 ? f->text + len : f->text;
    ash__free(head);
    return text;
}

static char *chunk_text(const ash_finding *f, const char *bucket, const char *what)
{
    char id[96], chunk[40] = "a chunk";
    int64_t n;
    ash_doc file = ash__doc_from_bson(f->file);
    const char *name = text_in(f->file, "filename"), *why = text_in(f->file, "why");
    ash_value files_id = ash__doc_get(file, "files_id");
    if (ash__value_as_int64(ash__doc_get(file, "n"), &n))
        snprintf(chunk, sizeof chunk, "chunk %lld", (long long)n);
    if (name != NULL)
        return ash__sprintf("%s: file \"%s\", %s: %s", bucket, name, chunk, what);
    if (why == NULL)
        why = "which has no name";
    if (ash__value_is_missing(files_id))
        return ash__sprintf("%s: %s of a file %s: %s", bucket, chunk, why, what);
    ash__value_text(files_id, id, sizeof id);
    return ash__sprintf("%s: %s of file %s, %s: %s", bucket, chunk, id, why, what);
}

/* What a document of a file that is damaged still says. */
static const char *own_name(const ash_finding *f)
{
    ash_value doc = ash__doc_get(ash__doc_from_bson(f->facts), "document");
    if (!is_unreadable(f->facts) || doc.type != BSON_TYPE_DOCUMENT)
        return NULL;
    ash_value name = ash__doc_get(ash__value_doc(doc), "filename");
    return ash__value_utf8(name, NULL);
}

static void append(const ash_finding *f, ash_builder *b)
{
    const char *db = text_in(f->facts, "db"), *coll = text_in(f->facts, "collection");
    const char *name = NULL;
    char *text = NULL;
    if (db != NULL && coll != NULL && f->file != NULL) {
        char *bucket = ash__sprintf("%s.%.*s", db, (int)(strlen(coll) - strlen(".chunks")), coll);
        text = chunk_text(f, bucket, behind_record(f, db, coll));
        ash__free(bucket);
    } else if (db != NULL && coll != NULL && ash__name_ends_with(coll, ".files") &&
               (name = own_name(f)) != NULL) {
        text = ash__sprintf("%s.%.*s: file \"%s\", its document: %s", db,
                            (int)(strlen(coll) - strlen(".files")), coll, name,
                            behind_record(f, db, coll));
    }
    ash__builder_text(b, "text", text != NULL ? text : f->text);
    ash__builder_elements(b, ash__doc_from_bson(f->facts));
    if (name != NULL)
        ash__builder_text(b, "filename", name);
    if (f->file != NULL) {
        ash_doc file = ash__doc_from_bson(f->file);
        ash__builder_value(b, "filename", ash__doc_get(file, "filename"));
        ash__builder_value(b, "files_id", ash__doc_get(file, "files_id"));
        ash__builder_value(b, "n", ash__doc_get(file, "n"));
    }
    ash__free(text);
}

void ash__findings_list(const ash_findings *f, ash_builder *b, const char *name)
{
    char at[12];
    ash__builder_begin_array(b, name);
    for (uint32_t i = 0; i < f->kept; i++) {
        ash__builder_begin_doc(b, ash__index_name(i, at));
        append(&f->items[i], b);
        ash__builder_end(b);
    }
    ash__builder_end(b);
}

void ash__findings_release(ash_findings *f)
{
    for (uint32_t i = 0; i < f->kept; i++) {
        ash__free(f->items[i].text);
        bson_destroy(f->items[i].facts);
        bson_destroy(f->items[i].file);
    }
    ash__free(f->items);
}
