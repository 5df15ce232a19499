/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/salvage/chunks.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Collections whose names are lost get new ones in the database lost_found.  Files and their chunks
 * are known by their documents, and put together again. */

enum looks { OTHER, FILES, CHUNKS };
enum { TRIES = 16 };

static enum looks look_at(ash_doc doc)
{
    static const char *const file[] = {"_id", "length", "chunkSize", "uploadDate"};
    static const char *const chunk[] = {"_id", "files_id", "n", "data"};
    bool is_file = true, is_chunk = true;
    for (size_t i = 0; i < ASH_ARRAY_LEN(file); i++) {
        is_file = is_file && !ash__value_is_missing(ash__doc_get(doc, file[i]));
        is_chunk = is_chunk && !ash__value_is_missing(ash__doc_get(doc, chunk[i]));
    }
    return is_chunk ? CHUNKS : is_file ? FILES : OTHER;
}

/* By its first document that can be read.  file: of the first chunk. */
static enum looks looks_like(ash_salvaging *w, uint32_t id, uint8_t file[16])
{
    size_t count;
    const ash_salvage_record *r = ash__salvage_records(w->from, id, &count);
    /* Those that cannot be read tell nothing; a collection holds one kind of documents. */
    for (size_t i = 0; i < count && i < TRIES; i++) {
        ash_doc doc;
        if (ash__salvage_read(w->from, &r[i], &w->buf, &doc, NULL) != 0)
            continue;
        enum looks looks = look_at(doc);
        if (looks == CHUNKS)
            ash__salvage_file_hash(ash__doc_get(doc, "files_id"), file);
        return looks;
    }
    return OTHER;
}

static bool has_file(ash_salvaging *w, uint32_t files, const uint8_t file[16])
{
    size_t count;
    const ash_salvage_record *r = ash__salvage_records(w->from, files, &count);
    for (size_t i = 0; i < count; i++) {
        uint8_t hash[16];
        ash_doc doc;
        if (ash__salvage_read(w->from, &r[i], &w->buf, &doc, NULL) != 0)
            continue;
        ash__salvage_file_hash(ash__doc_get(doc, "_id"), hash);
        if (memcmp(hash, file, sizeof hash) == 0)
            return true;
    }
    return false;
}

static void name_as(ash_salvaging *w, const ash_salvage_coll *c, uint32_t number,
                    const char *suffix)
{
    char name[48];
    ash_builder facts;
    snprintf(name, sizeof name, "collection_%u%s", (unsigned)number, suffix);
    ash__salvage_name(w->from, c->id, "lost_found", name);
    ash__finding_begin(&facts, "collection", "lost_found", name);
    ash__builder_int64(&facts, "id", c->id);
    ash__finding_tell(w, &facts, true,
                      "the name of collection %u is lost; what is left of it is in lost_found.%s",
                      (unsigned)c->id, name);
}

/* The nearest id that fits: a bucket's two collections are made together. */
static const ash_salvage_coll *find_chunks(ash_salvaging *w, const ash_salvage_coll *all,
                                           size_t count, const ash_salvage_coll *files)
{
    const ash_salvage_coll *best = NULL;
    uint32_t best_away = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        uint8_t file[16];
        uint32_t away = all[i].id > files->id ? all[i].id - files->id : files->id - all[i].id;
        /* The cheap questions first: the last one reads documents. */
        if (all[i].db != NULL || away >= best_away || away == 0 ||
            looks_like(w, all[i].id, file) != CHUNKS || !has_file(w, files->id, file))
            continue;
        best = &all[i];
        best_away = away;
    }
    return best;
}

void ash__salvaging_name(ash_salvaging *w)
{
    size_t count;
    const ash_salvage_coll *c = ash__salvage_colls(w->from, &count);
    for (size_t i = 0; i < count; i++) {
        uint8_t file[16];
        if (c[i].db != NULL || looks_like(w, c[i].id, file) != FILES)
            continue;
        const ash_salvage_coll *chunks = find_chunks(w, c, count, &c[i]);
        if (chunks != NULL)
            name_as(w, chunks, c[i].id, ".chunks");
        name_as(w, &c[i], c[i].id, ".files");
    }
    for (size_t i = 0; i < count; i++) {
        if (c[i].db == NULL)
            name_as(w, &c[i], c[i].id, "");
    }
}
