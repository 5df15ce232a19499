/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what is left of a store, and handing it out.  Nothing is required but that there is
 * something: a file that is missing or damaged only makes the answers poorer. */
#include "engine/salvage/internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Only a whole superblock can say that the store is of a later version. */
static int check_version(const ash_salvage *s, ash_error *err)
{
    uint8_t *block = NULL;
    size_t len = 0;
    int rc = 0;
    char *path = ash__path_join(s->folder, "ashlar.store");
    if (ash__file_load(path, 1 << 20, &block, &len, NULL) == 0 && len == ASH_SUPERBLOCK_BYTES &&
        memcmp(block, ASH_SUPERBLOCK_MAGIC, 8) == 0 &&
        ash__get_le64(block + len - 8) == ash__checksum(block, len - 8) &&
        ash__get_le32(block + 8) > ASH_FORMAT_VERSION)
        rc = ash__fail(err, ASH_EVERSION, "%s has format version %u", s->folder,
                       (unsigned)ash__get_le32(block + 8));
    ash__free(block);
    ash__free(path);
    return rc;
}

static bool has(const ash_salvage *s, const char *name)
{
    struct stat st;
    char *path = ash__path_join(s->folder, name);
    bool there = stat(path, &st) == 0;
    ash__free(path);
    return there;
}

/* Only a whole superblock can say that the journal is another store's. */
static void load_journal(ash_salvage *s)
{
    uint8_t *block = NULL;
    size_t len = 0;
    char *path = ash__path_join(s->folder, "ashlar.store");
    bool known = ash__file_load(path, 1 << 20, &block, &len, NULL) == 0 &&
                 len == ASH_SUPERBLOCK_BYTES &&
                 ash__get_le64(block + len - 8) == ash__checksum(block, len - 8);
    /* An unknown superblock may have promised one, so the file is looked for. */
    s->journal_promised = !known || ash__get_le32(block + 8) >= ASH_FORMAT_JOURNAL;
    if (s->journal_promised)
        ash__journal_load(s->folder, known ? block + 16 : NULL, &s->journal, NULL);
    ash__free(block);
    ash__free(path);
}

int ash__salvage_open(const char *folder, ash_salvage **out, ash_error *err)
{
    ash_salvage *s = ash__new(ash_salvage);
    int rc = 0;
    s->folder = ash__strdup(folder);
    s->lock = (ash_folder_lock)ASH_FOLDER_LOCK_INIT;
    /* 0 is a descriptor, and closing would close it. */
    s->segment_fd = -1;
    /* One of the two is enough to find something. */
    if (!has(s, "meta.mdb") && !has(s, "segments"))
        rc = ash__fail(err, ASH_ENOTFOUND, "there is nothing of a store in %s", folder);
    if (rc == 0)
        rc = check_version(s, err);
    if (rc == 0)
        /* Shared, as a reader: a process that has the store open for writing would change it under
         * this one. */
        rc = ash__folder_lock_take(&s->lock, folder, true, 0, err);
    if (rc == 0 && has(s, "meta.mdb")) {
        char *path = ash__path_join(folder, "meta.mdb");
        rc = ash__pages_open(path, &s->pages, err);
        ash__free(path);
    }
    if (rc == 0)
        load_journal(s);
    /* Everything but payloads is read now, so that collections are known before the first is asked
     * for. */
    if (rc == 0 && s->pages != NULL)
        ash__salvage_gather(s);
    if (rc != 0) {
        ash__salvage_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ash__salvage_close(ash_salvage *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->coll_count; i++) {
        ash__free(s->colls[i].db);
        ash__free(s->colls[i].name);
        bson_destroy(s->colls[i].options);
        bson_destroy(s->colls[i].indexes);
    }
    ash__free(s->colls);
    ash__free(s->dropped);
    ash__free(s->records.items);
    ash__free(s->unclaimed.items);
    ash__free(s->entries.items);
    ash__free(s->unclaimed_colls);
    ash__pages_close(s->pages);
    ash__journal_image_release(&s->journal);
    if (s->segment_fd >= 0)
        ash__file_close(s->segment_fd);
    ash__folder_lock_release(&s->lock);
    ash__free(s->folder);
    ash__free(s);
}

const ash_salvage_coll *ash__salvage_colls(const ash_salvage *s, size_t *count)
{
    *count = s->coll_count;
    return s->colls;
}

static uint64_t coll_of(const void *record)
{
    return ((const ash_salvage_record *)record)->coll_id;
}

static size_t first_of(const ash_salvage_list *list, uint64_t coll_id)
{
    return ash__first_not_below(list->items, list->count, sizeof *list->items, coll_id, coll_of);
}

static const ash_salvage_record *part_of(const ash_salvage_list *list, uint32_t coll_id,
                                         size_t *count)
{
    size_t from = first_of(list, coll_id);
    *count = first_of(list, (uint64_t)coll_id + 1) - from;
    return *count > 0 ? list->items + from : NULL;
}

const ash_salvage_record *ash__salvage_records(const ash_salvage *s, uint32_t coll_id,
                                               size_t *count)
{
    return part_of(&s->records, coll_id, count);
}

int ash__salvage_unclaimed(ash_salvage *s, uint32_t coll_id, const ash_salvage_record **out,
                           size_t *count, ash_error *err)
{
    int rc = s->scanned ? 0 : ash__salvage_scan(s, err);
    *out = NULL;
    *count = 0;
    if (rc == 0)
        *out = part_of(&s->unclaimed, coll_id, count);
    return rc;
}

const uint32_t *ash__salvage_unclaimed_colls(const ash_salvage *s, size_t *count)
{
    *count = s->unclaimed_coll_count;
    return s->unclaimed_colls;
}

static int read_row(ash_salvage *s, const ash_salvage_record *r, ash_buffer *buf, ash_doc *doc,
                    ash_error *err)
{
    uint8_t key[ASH_RECORD_KEY_BYTES];
    ash_pointer place;
    ash__buffer_clear(buf);
    ash__buffer_reserve(buf, r->row_len);
    int rc = 0;
    if (r->change != 0)
        memcpy(buf->data, s->journal.bytes + r->offset, r->row_len);
    else
        rc = ash__pages_read(s->pages, r->offset, buf->data, r->row_len, err);
    if (rc != 0)
        return rc;
    ash__record_key(key, r->coll_id, r->rid);
    rc = ash__record_parse(ash__val(key, sizeof key), ash__val(buf->data, r->row_len), &place, doc,
                           err);
    /* Its checksum is wrong, but what is there may still be a document. */
    if (doc->data == NULL && r->row_len > ASH_RECORD_HEAD_BYTES)
        *doc = (ash_doc){buf->data + ASH_RECORD_HEAD_BYTES, r->row_len - ASH_RECORD_HEAD_BYTES};
    return rc;
}

int ash__salvage_read(ash_salvage *s, const ash_salvage_record *r, ash_buffer *buf, ash_doc *doc,
                      ash_error *err)
{
    int rc;
    *doc = (ash_doc){NULL, 0};
    if (r->damaged || r->place.segment == 0) {
        rc = read_row(s, r, buf, doc, err);
    } else {
        rc = ash__salvage_payload(s, &r->place, r->coll_id, buf, doc, err);
    }
    if (doc->data == NULL ||
        ash__bson_validate(doc->data, doc->len, 2 * ASH_DOC_MAX_DEPTH, rc == 0 ? err : NULL) != 0) {
        *doc = ash__doc_empty;
        /* The checksum was right, and still it is no document: then it was written so. */
        rc = rc != 0 ? rc : ASH_ECORRUPT;
    }
    return rc;
}

uint64_t ash__salvage_broken_pages(const ash_salvage *s)
{
    return s->pages != NULL ? ash__pages_broken(s->pages) : 0;
}

const char *ash__salvage_journal_fault(const ash_salvage *s)
{
    return s->journal_fault.code != 0 ? s->journal_fault.text : NULL;
}

bool ash__salvage_certain(const ash_salvage *s)
{
    return s->pages != NULL && ash__pages_certain(s->pages);
}
