/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads, each to the same segment and block as in the store, so that the copied pointers hold
 * and what was copied earlier can stay where it is. */
#include "engine/backup/internal.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { SEGMENTS_MAX = 1 << 24, PROGRESS_BYTES = 4 << 20 };

static const size_t record_max = ASH_BLOCK_BYTES + (16 << 20) + (16 << 10);

static int progress(const ash_backup *b, ash_error *err)
{
    return ash__backup_progress(b, "bytes", b->done_bytes, b->total_bytes, err);
}

/* ---- segment files of the target ---- */

static char *segment_path(const char *folder, uint32_t id)
{
    return ash__sprintf("%s/%08x.seg", folder, (unsigned)id);
}

static void touch(ash_backup *b, uint32_t id)
{
    ash__backup_segment(b, id)->touched = true;
}

static int open_segment(ash_backup *b, uint32_t id, ash_error *err)
{
    bool fresh = false;
    if (b->segment == id)
        return 0;
    ash__file_close(b->fd);
    b->fd = -1;
    b->segment = 0;
    char *path = segment_path(b->segments, id);
    int rc = ash__backup_open_file(path, &b->fd, &fresh, err);
    ash__free(path);
    if (rc == 0)
        b->segment = id;
    /* Nothing of it is what the notes tell of. */
    if (fresh)
        ash__backup_segment(b, id)->old = NULL;
    return rc;
}

static int load_header(const ash_backup *b, uint32_t id, uint8_t out[ASH_BLOCK_BYTES],
                       ash_error *err)
{
    int fd = -1;
    char *folder = ash__path_join(b->engine->folder, "segments");
    char *path = segment_path(folder, id);
    int rc = ash__segments_check_file(b->engine->segments, id, err);
    if (rc == 0)
        rc = ash__file_open(path, O_RDONLY | O_NOFOLLOW, &fd, err);
    if (rc == 0)
        rc = ash__file_read(fd, out, ASH_BLOCK_BYTES, 0, err);
    ash__file_close(fd);
    ash__free(path);
    ash__free(folder);
    return rc;
}

/* Cut off, or another one: its notes are of a file that is no more. */
static bool is_as_left(ash_backup *b, uint32_t id, const uint8_t *header, off_t size)
{
    uint8_t there[ASH_BLOCK_BYTES];
    return size >= (off_t)ash__backup_segment(b, id)->old_blocks * ASH_BLOCK_BYTES &&
           ash__file_read(b->fd, there, sizeof there, 0, NULL) == 0 &&
           memcmp(there, header, sizeof there) == 0;
}

/* The file is there, as long as it should be, and has its header.  Free blocks stay holes. */
static int make_segment(ash_backup *b, uint32_t id, uint32_t blocks, ash_error *err)
{
    uint8_t header[ASH_BLOCK_BYTES];
    struct stat st;
    off_t size = (off_t)blocks * ASH_BLOCK_BYTES;
    int rc = load_header(b, id, header, err);
    if (rc == 0)
        rc = open_segment(b, id, err);
    if (rc != 0)
        return rc;
    if (fstat(b->fd, &st) != 0)
        return ash__fail_errno(err, errno, "cannot stat segment %08x", (unsigned)id);
    b->report->segments++;
    ash__backup_start_segment(b, id, blocks);
    bool as_left = is_as_left(b, id, header, st.st_size);
    if (!as_left)
        ash__backup_segment(b, id)->old = NULL;
    /* Nothing to write, and so nothing to sync. */
    if (as_left && st.st_size == size && b->trusts)
        return 0;
    touch(b, id);
    if (ash__io()->ftruncate(b->fd, size) != 0)
        return ash__fail_errno(err, errno, "cannot make segment %08x of the copy", (unsigned)id);
    return ash__file_write(b->fd, header, sizeof header, 0, err);
}

static int visit_space(ash_backup *b, MDB_val key, MDB_val value, ash_error *err)
{
    if (key.mv_size != 4)
        return 0; /* a slice of a block map */
    uint32_t id = ash__get_be32(key.mv_data);
    if (value.mv_size != 8 || id == 0 || id > SEGMENTS_MAX)
        return ash__fail(err, ASH_ECORRUPT, "the list of segments is damaged");
    b->total_bytes += (uint64_t)ash__get_le32((const uint8_t *)value.mv_data + 4) * ASH_BLOCK_BYTES;
    return make_segment(b, id, ash__get_le32(value.mv_data), err);
}

/* ---- records ---- */

/* Is the record in the target, as the source has it? */
static bool is_there(ash_backup *b, const ash_payload *p)
{
    off_t at = (off_t)p->block * ASH_BLOCK_BYTES;
    size_t from = 0, to = p->len;
    ash_payload there = *p;
    if (ash__file_read(b->fd, b->buf, p->layout.offset, at, NULL) != 0 ||
        memcmp(b->buf, p->record, p->layout.offset) != 0)
        return false;
    /* Noted, and its header is the same: it was written or found whole by a backup that ended well.
     */
    if (ash__backup_had(b, p->segment, p->block))
        return true;
    /* Even when it turns out to be whole: it may be in memory only, left by a backup that was
     * killed. */
    touch(b, p->segment);
    there.record = b->buf;
    return ash__file_read(b->fd, b->buf + p->layout.offset, p->len, at + p->layout.offset, NULL) ==
               0 &&
           ash__payload_holds(&there, &from, &to);
}

static int copy_record(ash_backup *b, uint32_t coll_id, const ash_pointer *p, ash_error *err)
{
    ash_place place = {p->segment, p->block, p->len, p->sequence};
    ash_payload payload;
    size_t from = 0, to = p->len;
    int rc = ash__segments_open(b->engine->segments, &place, &coll_id, &payload, err);
    if (rc == 0)
        rc = open_segment(b, p->segment, err);
    if (rc != 0)
        return rc;
    size_t len = payload.layout.offset + (size_t)p->len;
    if (len > record_max)
        return ash__fail(err, ASH_ECORRUPT, "a record is too long");
    if (!is_there(b, &payload)) {
        /* A damaged payload is not copied: the copy would seem to have it. */
        rc = ash__segments_verify(&payload, &from, &to, err);
        touch(b, p->segment);
        if (rc == 0)
            rc =
                ash__file_write(b->fd, payload.record, len, (off_t)p->block * ASH_BLOCK_BYTES, err);
        if (rc != 0)
            return rc;
        b->report->copied_records++;
        b->report->copied_bytes += len;
    }
    ash__backup_note(b, p->segment, p->block);
    return 0;
}

static int visit_record(ash_backup *b, MDB_val key, MDB_val value, ash_error *err)
{
    ash_pointer place;
    ash_doc doc;
    ash_error why = ASH_ERROR_INIT;
    b->report->records++;
    int rc = ash__record_parse(key, value, &place, &doc, &why);
    if (rc == 0 && place.segment != 0) {
        rc = copy_record(b, ash__get_be32(key.mv_data), &place, &why);
        uint64_t before = b->done_bytes / PROGRESS_BYTES;
        /* By blocks, as the total is: both come from the metadata. */
        b->done_bytes += (uint64_t)ash__segment_blocks_for(place.len) * ASH_BLOCK_BYTES;
        if (before != b->done_bytes / PROGRESS_BYTES && progress(b, err) != 0)
            return ASH_EINTERRUPTED;
    }
    /* One damaged record must not cost the others. */
    if (rc == ASH_ECORRUPT) {
        ash__log(ASH_LOG_WARN, "backup: %s", why.text);
        b->report->damaged++;
        return 0;
    }
    return rc == 0 ? 0 : ash__fail(err, why.code, "%s", why.text);
}

static int walk(ash_backup *b, enum ash_database db,
                int (*visit)(ash_backup *b, MDB_val key, MDB_val value, ash_error *err),
                ash_error *err)
{
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    MDB_dbi dbi;
    int result = 0;
    int rc = ash__lmdb_dbi_open(b->txn, ash__database_names[db], 0, &dbi);
    if (rc == 0)
        rc = ash__lmdb_cursor_open(b->txn, dbi, &cursor);
    while (rc == 0 && result == 0) {
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        if (rc == 0)
            result = visit(b, key, value, err);
    }
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    if (result == 0 && rc != 0 && rc != MDB_NOTFOUND)
        result = ash__lmdb_fail(rc, err, "cannot walk the copied metadata");
    return result;
}

/* After a failed sync, pages may be in memory as if they were on disk, and would be taken for
 * whole. */
static int sync_segment(ash_backup *b, uint32_t id, ash_error *err)
{
    int rc = open_segment(b, id, err);
    if (rc != 0)
        return rc;
    rc = ash__file_sync(b->fd, err);
    if (rc != 0 && ash__io()->ftruncate(b->fd, 0) != 0)
        ash__log(ASH_LOG_WARN, "backup: segment %08x of the copy cannot be cut", (unsigned)id);
    return rc;
}

static int sync_segments(ash_backup *b, ash_error *err)
{
    int rc = 0;
    for (uint32_t id = 1; rc == 0 && id < b->segment_count; id++) {
        if (b->list[id].touched)
            rc = sync_segment(b, id, err);
    }
    return rc;
}

static int visit_log(ash_backup *b, MDB_val key, MDB_val value, ash_error *err)
{
    (void)err;
    if (key.mv_size == 8 && value.mv_size > ASH_SUM_BYTES)
        b->log = (ash_backup_log){ash__get_be64(key.mv_data),
                                  ash__checksum((const uint8_t *)value.mv_data + ASH_SUM_BYTES,
                                                value.mv_size - ASH_SUM_BYTES)};
    return 0;
}

int ash__backup_records(ash_backup *b, ash_error *err)
{
    b->buf = ash__alloc(record_max);
    int rc = walk(b, ASH_DB_OPLOG, visit_log, err);
    if (rc == 0)
        rc = walk(b, ASH_DB_SPACE, visit_space, err);
    if (rc == 0)
        rc = progress(b, err);
    if (rc == 0)
        rc = walk(b, ASH_DB_RECORDS, visit_record, err);
    return rc == 0 ? sync_segments(b, err) : rc;
}
