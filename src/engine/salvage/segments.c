/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads by their headers.  First those that rows point at; then, on request, every block of
 * every segment is looked at for records that no row names. */
#include "engine/salvage/internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PAYLOAD_MAX = ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES };

static int open_segment(ash_salvage *s, uint32_t segment, ash_error *err)
{
    if (s->segment_fd >= 0 && s->segment == segment)
        return 0;
    if (s->segment_fd >= 0)
        ash__file_close(s->segment_fd);
    s->segment_fd = -1;
    char *path = ash__sprintf("%s/segments/%08x.seg", s->folder, (unsigned)segment);
    int rc = ash__file_open(path, O_RDONLY | O_NOFOLLOW, &s->segment_fd, err);
    if (rc != 0)
        s->segment_fd = -1;
    s->segment = segment;
    ash__free(path);
    return rc;
}

static bool header_is_whole(const uint8_t *h)
{
    return ash__record_head_is_whole(h) && ash__get_le32(h + 4) > 0 &&
           ash__get_le32(h + 4) <= PAYLOAD_MAX;
}

static int wrong(const ash_pointer *place, const char *what, ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "%s in segment %08x at offset %llu", what,
                     (unsigned)place->segment, (unsigned long long)place->block * ASH_BLOCK_BYTES);
}

/* A payload is whole when its checksums say so, or when the header's does with the payload's true
 * checksum in it: then only that field was hit.  A whole header tells which record it is; a
 * damaged one cannot be of a later record, since that would have been written whole.
 * *decided: nothing is left to be tried. */
static int verify_as(const uint8_t *record, const ash_pointer *place, uint32_t coll_id,
                     const ash_layout *layout, bool *decided, ash_error *err)
{
    uint8_t as_was[ASH_RECORD_HEADER_BYTES];
    bool table;
    uint64_t root = ash__payload_root(record, place->len, layout, &table);
    memcpy(as_was, record, sizeof as_was);
    ash__put_le64(as_was + 32, root);
    if (header_is_whole(as_was)) {
        *decided = true;
        return ash__get_le32(as_was + 4) == place->len &&
                       ash__get_le64(as_was + 8) == place->sequence &&
                       ash__get_le64(as_was + 16) == coll_id
                   ? 0
                   : wrong(place, "another record", err);
    }
    *decided = table || root == ash__get_le64(record + 32);
    if (*decided)
        return 0;
    return wrong(place,
                 header_is_whole(record) ? "a payload with a wrong checksum" : "a damaged record",
                 err);
}

/* As the record says that it is; what a writer makes of the length, when it does not say. */
static ash_layout layout_of(const uint8_t *record, uint32_t len)
{
    ash_layout layout;
    if (memcmp(record, ASH_RECORD_MAGIC, 4) == 0)
        return ash__layout_plain;
    if (header_is_whole(record) && ash__layout_of_pieces(len, ash__get_le32(record + 24), &layout))
        return layout;
    return ash__layout_for(len);
}

static int verify(const uint8_t *record, const ash_pointer *place, uint32_t coll_id,
                  ash_layout *layout, ash_error *err)
{
    bool decided = false;
    *layout = layout_of(record, place->len);
    int rc = verify_as(record, place, coll_id, layout, &decided, err);
    if (decided)
        return rc;
    /* Its magic may be what was hit. */
    ash_layout other = layout->piece != 0 ? ash__layout_plain : ash__layout_for(place->len);
    if (other.piece != layout->piece &&
        verify_as(record, place, coll_id, &other, &decided, NULL) == 0) {
        *layout = other;
        return 0;
    }
    return rc;
}

/* All that a record of either form could take, as far as the file goes. */
static int read_record(ash_salvage *s, const ash_pointer *place, ash_buffer *buf)
{
    size_t least = ASH_RECORD_HEADER_BYTES + (size_t)place->len;
    size_t most = (size_t)ash__segment_blocks_for(place->len) * ASH_BLOCK_BYTES;
    off_t at = (off_t)place->block * ASH_BLOCK_BYTES;
    ash__buffer_clear(buf);
    ash__buffer_reserve(buf, most);
    memset(buf->data + least, 0, most - least);
    buf->len = most;
    /* A file that was cut off may end within the last block, behind the payload. */
    if (ash__file_read(s->segment_fd, buf->data, most, at, NULL) == 0)
        return 0;
    return ash__file_read(s->segment_fd, buf->data, least, at, NULL);
}

int ash__salvage_payload(ash_salvage *s, const ash_pointer *place, uint32_t coll_id,
                         ash_buffer *buf, ash_doc *doc, ash_error *err)
{
    ash_layout layout;
    *doc = (ash_doc){NULL, 0};
    if (place->len == 0 || place->len > PAYLOAD_MAX)
        return wrong(place, "a pointer to too much", err);
    int rc = open_segment(s, place->segment, err);
    if (rc == 0 && read_record(s, place, buf) != 0)
        return wrong(place, "nothing that can be read", err);
    if (rc == 0) {
        rc = verify(buf->data, place, coll_id, &layout, err);
        *doc = (ash_doc){buf->data + layout.offset, place->len};
    }
    return rc;
}

/* ---- what no row points at ---- */

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t *claimed_sequences(const ash_salvage *s, size_t *count)
{
    uint64_t *all = ash__alloc_array(s->records.count + 1, sizeof *all);
    *count = 0;
    for (size_t i = 0; i < s->records.count; i++) {
        const ash_salvage_record *r = &s->records.items[i];
        if (!r->damaged && r->place.segment != 0)
            all[(*count)++] = r->place.sequence;
    }
    qsort(all, *count, sizeof *all, by_sequence);
    return all;
}

static void scan_segment(ash_salvage *s, uint32_t segment, const uint64_t *claimed, size_t count)
{
    uint8_t header[ASH_RECORD_HEADER_BYTES];
    ash_buffer buf = ASH_BUFFER_INIT;
    ash_doc doc;
    struct stat st;
    if (open_segment(s, segment, NULL) != 0 || fstat(s->segment_fd, &st) != 0)
        return;
    for (uint64_t block = 1; (off_t)((block + 1) * ASH_BLOCK_BYTES) <= st.st_size; block++) {
        if (ash__file_read(s->segment_fd, header, sizeof header, (off_t)(block * ASH_BLOCK_BYTES),
                           NULL) != 0 ||
            !header_is_whole(header))
            continue;
        ash_pointer place = {segment, (uint32_t)block, ash__get_le32(header + 4),
                             ash__get_le64(header + 8)};
        uint32_t coll_id = (uint32_t)ash__get_le64(header + 16);
        if (ash__salvage_payload(s, &place, coll_id, &buf, &doc, NULL) != 0)
            continue;
        /* By sequence, which is unique in a store, and not by place: an old record may lie where a
         * new one does. */
        if (bsearch(&place.sequence, claimed, count, sizeof *claimed, by_sequence) == NULL) {
            ash_salvage_record *r = ash__salvage_list_add(&s->unclaimed);
            r->coll_id = coll_id;
            r->place = place;
            r->stray = true;
        }
        /* What looks like a header within a whole record is part of its payload. */
        block += ash__pointer_extent(&place).blocks - 1;
    }
    ash__buffer_release(&buf);
}

static int newest_first(const void *a, const void *b)
{
    const ash_salvage_record *x = a, *y = b;
    if (x->coll_id != y->coll_id)
        return x->coll_id < y->coll_id ? -1 : 1;
    return (x->place.sequence < y->place.sequence) - (x->place.sequence > y->place.sequence);
}

static void list_colls(ash_salvage *s)
{
    s->unclaimed_colls = ash__alloc_array(s->unclaimed.count + 1, sizeof *s->unclaimed_colls);
    for (size_t i = 0; i < s->unclaimed.count; i++) {
        uint32_t id = s->unclaimed.items[i].coll_id;
        if (i == 0 || s->unclaimed.items[i - 1].coll_id != id)
            s->unclaimed_colls[s->unclaimed_coll_count++] = id;
    }
}

int ash__salvage_scan(ash_salvage *s, ash_error *err)
{
    size_t count;
    char *path = ash__path_join(s->folder, "segments");
    DIR *dir = opendir(path);
    ash__free(path);
    s->scanned = true;
    if (dir == NULL)
        return errno == ENOENT ? 0 : ash__fail_errno(err, errno, "cannot read the segments");
    uint64_t *claimed = claimed_sequences(s, &count);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *end;
        unsigned long id = strtoul(entry->d_name, &end, 16);
        if (end == entry->d_name + 8 && strcmp(end, ".seg") == 0 && id > 0)
            scan_segment(s, (uint32_t)id, claimed, count);
    }
    closedir(dir);
    if (s->unclaimed.count > 0)
        qsort(s->unclaimed.items, s->unclaimed.count, sizeof *s->unclaimed.items, newest_first);
    list_colls(s);
    ash__free(claimed);
    return 0;
}
