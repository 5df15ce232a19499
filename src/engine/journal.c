/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's file: made whole before it is used, written record by record, and read as bytes
 * when a store is opened. */
#define _GNU_SOURCE /* SEEK_HOLE, where the system has it */
#include "engine/journal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_SUM_AT = ASH_JOURNAL_FIRST - 8, RECORD_SUM_AT = ASH_JOURNAL_HEAD - 8 };

enum {
    READY_BYTES = 64 << 10,            /* the first step ahead */
    KEPT_BYTES = ASH_JOURNAL_FIRST * 2 /* the header, and what each record begins with */
};

static size_t aligned(size_t len)
{
    return (len + ASH_JOURNAL_ALIGN - 1) / ASH_JOURNAL_ALIGN * ASH_JOURNAL_ALIGN;
}

/* ---- making ---- */

static void make_header(const ash_engine *e, uint8_t block[ASH_JOURNAL_FIRST])
{
    memset(block, 0, ASH_JOURNAL_FIRST);
    memcpy(block, ASH_JOURNAL_MAGIC, 8);
    ash__put_le64(block + 8, ASH_JOURNAL_BYTES);
    memcpy(block + 16, e->store_id, 16);
    ash__put_le64(block + 32, e->journal.generation);
    ash__put_le64(block + HEADER_SUM_AT, ash__checksum(block, HEADER_SUM_AT));
}

static void make_head(uint8_t head[ASH_JOURNAL_HEAD], const ash_journal *j, uint64_t base,
                      const uint8_t *changes, size_t len)
{
    memset(head, 0, ASH_JOURNAL_HEAD);
    memcpy(head, ASH_REDO_MAGIC, 8);
    ash__put_le64(head + 8, j->generation);
    ash__put_le64(head + 16, base);
    ash__put_le64(head + 24, j->ordinal);
    ash__put_le32(head + 32, (uint32_t)len);
    ash__put_le64(head + 40, ash__checksum(changes, len));
    ash__put_le64(head + RECORD_SUM_AT, ash__checksum(head, RECORD_SUM_AT));
}

/* Written, not just reserved: blocks that were never written to cost a change of the file system's
 * metadata with their first sync.  Not durable yet. */
static int write_zeros(int fd, uint64_t from, uint64_t to, ash_error *err)
{
    enum { PIECE = 64 << 10 };
    static const uint8_t zeros[PIECE];
    int rc = 0;
    for (uint64_t at = from; rc == 0 && at < to; at += PIECE)
        rc = ash__file_write(fd, zeros, to - at < PIECE ? to - at : PIECE, (off_t)at, err);
    return rc;
}

static int fill(const ash_engine *e, int fd, ash_error *err)
{
    uint8_t header[ASH_JOURNAL_FIRST + ASH_JOURNAL_HEAD];
    ash_journal none = {.generation = e->journal.generation};
    int rc = write_zeros(fd, 0, READY_BYTES, err);
    if (rc == 0 && ash__io()->ftruncate(fd, ASH_JOURNAL_BYTES) != 0)
        rc = ash__fail_errno(err, errno, "cannot make the journal as long as it has to be");
    make_header(e, header);
    make_head(header + ASH_JOURNAL_FIRST, &none, 0, header, 0);
    if (rc == 0)
        rc = ash__file_write(fd, header, sizeof header, 0, err);
    /* With all its metadata: its size has to last. */
    if (rc == 0 && ash__io()->fsync(fd) != 0)
        rc = ash__fail_errno(err, errno, "cannot sync the journal");
    return rc;
}

int ash__journal_make(ash_engine *e, ash_error *err)
{
    int fd = -1;
    char *path = ash__path_join(e->folder, "journal");
    char *temp = ash__path_join(e->folder, "journal.new");
    int rc = ash__folder_require(e, err);
    if (rc == 0)
        rc = ash__file_open(temp, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, &fd, err);
    if (rc == 0)
        rc = fill(e, fd, err);
    if (rc == 0)
        rc = ash__folder_require(e, err);
    if (rc == 0 && ash__io()->rename(temp, path) != 0)
        rc = ash__fail_errno(err, errno, "cannot rename %s", temp);
    if (rc == 0)
        /* The superblock promises a journal only after this. */
        rc = ash__dir_sync(e->folder, err);
    if (rc != 0) {
        ash__error_prefix(err, "cannot make the journal");
        ash__file_close(fd);
        ash__io()->unlink(temp);
    } else {
        ash__journal_close(&e->journal);
        e->journal.fd = fd;
        e->journal.ready = READY_BYTES;
    }
    ash__free(temp);
    ash__free(path);
    return rc;
}

int ash__journal_use(ash_engine *e, ash_error *err)
{
    ash_journal *j = &e->journal;
    char *path = ash__path_join(e->folder, "journal");
    int rc = ash__file_open(path, O_RDWR | O_NOFOLLOW, &j->fd, err);
    ash__free(path);
    if (rc != 0)
        return rc;
    /* Where nobody can tell, records are written into holes, too: it takes a little longer. */
    off_t hole = -1;
#ifdef SEEK_HOLE
    hole = lseek(j->fd, ASH_JOURNAL_FIRST, SEEK_HOLE);
#endif
    j->ready = hole < 0 ? ASH_JOURNAL_BYTES : (uint64_t)hole;
    return 0;
}

void ash__journal_give_back(ash_journal *j)
{
    if (ash__journal_is_usable(j) && j->ready > KEPT_BYTES &&
        ash__io()->punch(j->fd, KEPT_BYTES, ASH_JOURNAL_BYTES - KEPT_BYTES) == 0)
        j->ready = KEPT_BYTES;
}

void ash__journal_close(ash_journal *j)
{
    ash__file_close(j->fd);
    j->fd = -1;
}

bool ash__journal_is_usable(const ash_journal *j)
{
    return j->fd >= 0 && !j->failed;
}

/* ---- writing ---- */

/* Write ahead of a record that is about to be written, and ends there; one sync is for both. */
static int get_ready(ash_journal *j, uint64_t end, ash_error *err)
{
    uint64_t to = j->ready > READY_BYTES ? j->ready : READY_BYTES;
    if (end <= j->ready)
        return 0;
    while (to < end)
        to *= 2;
    to = to < ASH_JOURNAL_BYTES ? to : ASH_JOURNAL_BYTES;
    int rc = write_zeros(j->fd, end, to, err);
    if (rc == 0)
        j->ready = to;
    return rc;
}

int ash__journal_append(ash_journal *j, uint64_t base, const uint8_t *changes, size_t len,
                        ash_error *err)
{
    static const uint8_t zeros[ASH_JOURNAL_ALIGN];
    uint8_t head[ASH_JOURNAL_HEAD];
    size_t whole = aligned(sizeof head + len);
    /* LMDB has committed what was there: records begin at the front again. */
    if (base != j->base) {
        j->base = base;
        j->ordinal = 0;
        j->at = ASH_JOURNAL_FIRST;
    }
    ash_assert(ash__journal_is_usable(j) && j->at >= ASH_JOURNAL_FIRST);
    if (whole > ASH_JOURNAL_BYTES - j->at)
        return ash__fail(err, ASH_ENOSPC, "the journal is full");
    int rc = get_ready(j, j->at + whole, err);
    if (rc == ASH_ENOSPC)
        return rc;
    make_head(head, j, base, changes, len);
    struct iovec iov[3] = {{head, sizeof head},
                           {(void *)(uintptr_t)changes, len},
                           {(void *)(uintptr_t)zeros, whole - sizeof head - len}};
    if (rc == 0)
        rc = ash__file_writev(j->fd, iov, 3, (off_t)j->at, err);
    if (rc == 0)
        rc = ash__file_sync(j->fd, err);
    /* Nothing is written behind a record of unknown fate: it would be read as if that one held. */
    j->failed = rc != 0;
    if (rc == 0) {
        j->at += whole;
        j->ordinal++;
    }
    return rc;
}

/* ---- reading ---- */

static void look_at(ash_journal_image *image, const uint8_t store_id[16])
{
    const uint8_t *b = image->bytes;
    image->is_short = image->len != ASH_JOURNAL_BYTES;
    image->state = ASH_JOURNAL_BROKEN;
    if (image->len < ASH_JOURNAL_FIRST || memcmp(b, ASH_JOURNAL_MAGIC, 8) != 0 ||
        ash__get_le64(b + HEADER_SUM_AT) != ash__checksum(b, HEADER_SUM_AT))
        return;
    image->generation = ash__get_le64(b + 32);
    image->state = store_id == NULL || memcmp(b + 16, store_id, 16) == 0 ? ASH_JOURNAL_GOOD
                                                                         : ASH_JOURNAL_FOREIGN;
}

int ash__journal_load(const char *folder, const uint8_t store_id[16], ash_journal_image *out,
                      ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    char *path = ash__path_join(folder, "journal");
    *out = (ash_journal_image){.state = ASH_JOURNAL_MISSING};
    /* A file of another size is damaged, which is said later; only an absurd one is not loaded. */
    int rc = ash__file_load(path, 4 * (size_t)ASH_JOURNAL_BYTES, &out->bytes, &out->len, &own);
    if (rc == 0)
        look_at(out, store_id);
    else if (rc == ASH_ENOTFOUND)
        rc = 0;
    else
        rc = ash__fail(err, own.code, "cannot read the journal: %s", own.text);
    ash__free(path);
    return rc;
}

void ash__journal_image_release(ash_journal_image *image)
{
    ash__free(image->bytes);
    image->bytes = NULL;
}

/* The changes of a whole record of the cursor's generation at this place. */
static bool record_at(const ash_journal_image *image, size_t at, uint64_t generation,
                      uint64_t *base, uint64_t *ordinal, ash_doc *changes)
{
    if (image->bytes == NULL || at > image->len || image->len - at < ASH_JOURNAL_HEAD)
        return false;
    const uint8_t *head = image->bytes + at;
    if (memcmp(head, ASH_REDO_MAGIC, 8) != 0 || ash__get_le64(head + 8) != generation ||
        ash__get_le64(head + RECORD_SUM_AT) != ash__checksum(head, RECORD_SUM_AT))
        return false;
    *changes = (ash_doc){head + ASH_JOURNAL_HEAD, ash__get_le32(head + 32)};
    *base = ash__get_le64(head + 16);
    *ordinal = ash__get_le64(head + 24);
    /* The length is only believed when the head's checksum was right, and still compared: the file
     * may have been cut off. */
    return changes->len <= image->len - at - ASH_JOURNAL_HEAD &&
           ash__get_le64(head + 40) == ash__checksum(changes->data, changes->len);
}

bool ash__journal_next(const ash_journal_image *image, ash_journal_cursor *c, ash_doc *changes)
{
    uint64_t base, ordinal;
    size_t at = c->at == 0 ? ASH_JOURNAL_FIRST : c->at;
    if (!record_at(image, at, c->generation, &base, &ordinal, changes) || base != c->base ||
        ordinal != c->ordinal)
        return false;
    c->at = at + aligned(ASH_JOURNAL_HEAD + changes->len);
    c->ordinal++;
    return true;
}

bool ash__journal_skip(const ash_journal_image *image, ash_journal_cursor *c)
{
    size_t at = c->at == 0 ? ASH_JOURNAL_FIRST : c->at;
    for (; at < image->len; at += ASH_JOURNAL_ALIGN) {
        ash_doc changes;
        uint64_t base, ordinal;
        if (record_at(image, at, c->generation, &base, &ordinal, &changes) && base == c->base &&
            ordinal > c->ordinal) {
            c->at = at;
            c->ordinal = ordinal;
            return true;
        }
    }
    return false;
}

uint64_t ash__journal_newest(const ash_journal_image *image, uint64_t generation)
{
    uint64_t newest = 0;
    for (size_t at = ASH_JOURNAL_FIRST; at < image->len; at += ASH_JOURNAL_ALIGN) {
        ash_doc changes;
        uint64_t base, ordinal;
        if (record_at(image, at, generation, &base, &ordinal, &changes) && base > newest)
            newest = base;
    }
    return newest;
}

/* A write that was torn leaves these bytes as they were: all records begin with them. */
static bool has_first(const ash_journal_image *image)
{
    const uint8_t *first = image->bytes + ASH_JOURNAL_FIRST;
    return memcmp(first, ASH_REDO_MAGIC, 8) == 0 && ash__get_le64(first + 8) == image->generation;
}

int ash__journal_judge(const ash_journal_image *image, uint64_t generation, uint64_t base,
                       ash_error *err)
{
    ash_journal_cursor c = {.generation = generation, .base = base};
    ash_doc changes;
    if (image->state == ASH_JOURNAL_MISSING)
        return ash__fail(err, ASH_ECORRUPT, "its journal is missing");
    if (image->is_short)
        return ash__fail(err, ASH_ECORRUPT, "its journal has %zu bytes instead of %d", image->len,
                         ASH_JOURNAL_BYTES);
    if (image->state == ASH_JOURNAL_BROKEN)
        return ash__fail(err, ASH_ECORRUPT, "its journal has a damaged header");
    if (image->state == ASH_JOURNAL_FOREIGN || image->generation != generation)
        return ash__fail(err, ASH_ECORRUPT, "its journal is of another store");
    /* A new file has a first record, too, so there is always one. */
    if (!has_first(image))
        return ash__fail(err, ASH_ECORRUPT, "its journal has lost its first record");
    /* Records of the commits before may lie behind the newest ones, and prove nothing. */
    if (ash__journal_newest(image, generation) > base)
        return ash__fail(err, ASH_ECORRUPT, "its journal is newer than meta.mdb");
    while (ash__journal_next(image, &c, &changes))
        ;
    /* A torn last record is no damage; but a whole one behind it was written after it was synced.
     */
    uint64_t whole = c.ordinal;
    if (ash__journal_skip(image, &c))
        return ash__fail(err, ASH_ECORRUPT,
                         "its journal is damaged behind the first %llu of at least %llu records",
                         (unsigned long long)whole, (unsigned long long)c.ordinal + 1);
    return 0;
}
