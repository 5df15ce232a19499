/* SPDX-License-Identifier: Apache-2.0 */
#include "segment/layout.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum {
    LINE = 64, /* payloads in pieces begin on a cache line: checksums run a fifth faster */
    PIECE_MAX = 16 * 1024 * 1024,
    BRING_IN_MAX = 512 * 1024,
    ASK_FOR_MAX = 16 * 1024
};

const ash_layout ash__layout_plain = {0, 0, ASH_RECORD_HEADER_BYTES};

bool ash__layout_of_pieces(uint32_t len, uint32_t piece, ash_layout *out)
{
    if (len <= ASH_FIRST_PIECE_BYTES || piece < ASH_PIECE_MIN_BYTES || piece > PIECE_MAX ||
        (piece & (piece - 1)) != 0)
        return false;
    /* Behind header and payload in the blocks that a plain record takes: the table must not cost
     * one. */
    size_t room = (size_t)ash__segment_blocks_for(len) * ASH_BLOCK_BYTES - len;
    size_t sums = 1 + ((size_t)len - ASH_FIRST_PIECE_BYTES + piece - 1) / piece;
    size_t offset = (ASH_RECORD_HEADER_BYTES + 8 * sums + LINE - 1) / LINE * LINE;
    *out = (ash_layout){piece, (uint32_t)sums, (uint32_t)offset};
    /* The head is made in a buffer of one block. */
    return offset <= room && offset <= ASH_BLOCK_BYTES;
}

ash_layout ash__layout_for(uint32_t len)
{
    ash_layout layout;
    /* Smaller pieces mean less to verify for a part of the payload, so the smallest that fits is
     * taken. */
    for (uint32_t piece = ASH_PIECE_MIN_BYTES; len > ASH_PLAIN_MAX_BYTES && piece < len; piece *= 2)
        if (ash__layout_of_pieces(len, piece, &layout))
            return layout;
    return ash__layout_plain;
}

/* ---- making ---- */

/* The next len bytes of the parts; *part and *at move behind them. */
static uint64_t sum_parts(const struct iovec **part, size_t *at, size_t len)
{
    const uint8_t *base = (*part)->iov_base;
    /* Mostly a piece lies in one part, and no stream has to be made for it. */
    if ((*part)->iov_len - *at >= len) {
        *at += len;
        return ash__checksum(base + *at - len, len);
    }
    ash_checksum *c = ash__checksum_new();
    while (len > 0) {
        base = (*part)->iov_base;
        size_t rest = (*part)->iov_len - *at, take = rest < len ? rest : len;
        ash__checksum_add(c, base + *at, take);
        *at += take;
        len -= take;
        if (len > 0) {
            (*part)++;
            *at = 0;
        }
    }
    uint64_t sum = ash__checksum_value(c);
    ash__checksum_free(c);
    return sum;
}

static size_t piece_bytes(const ash_layout *layout, uint32_t i, size_t left)
{
    size_t bytes = i == 0 ? ASH_FIRST_PIECE_BYTES : layout->piece;
    return bytes < left ? bytes : left;
}

static uint64_t make_sums(uint8_t *out, const ash_layout *layout, const struct iovec *parts,
                          uint32_t len)
{
    size_t at = 0, left = len;
    for (uint32_t i = 0; i < layout->sums; i++) {
        size_t bytes = piece_bytes(layout, i, left);
        ash__put_le64(out + (size_t)8 * i, sum_parts(&parts, &at, bytes));
        left -= bytes;
    }
    return ash__checksum(out, (size_t)8 * layout->sums);
}

void ash__record_head_make(uint8_t *out, const ash_layout *layout, const ash_record_draft *draft,
                           uint32_t len)
{
    const struct iovec *parts = draft->parts;
    size_t at = 0;
    ash_assert(draft->count > 0);
    /* The padding in front of the payload is covered by no checksum, but what lies there must not
     * be bytes of the process. */
    memset(out, 0, layout->offset);
    memcpy(out, layout->piece != 0 ? ASH_RECORD_PIECES_MAGIC : ASH_RECORD_MAGIC, 4);
    ash__put_le32(out + 4, len);
    ash__put_le64(out + 8, draft->sequence);
    ash__put_le64(out + 16, draft->coll_id);
    ash__put_le32(out + 24, layout->piece);
    ash__put_le64(out + 32, layout->piece != 0
                                ? make_sums(out + ASH_RECORD_HEADER_BYTES, layout, parts, len)
                                : sum_parts(&parts, &at, len));
    ash__put_le64(out + 40, ash__checksum(out, 40));
}

/* ---- reading ---- */

bool ash__record_head_is_whole(const uint8_t *head)
{
    return (memcmp(head, ASH_RECORD_PIECES_MAGIC, 4) == 0 ||
            memcmp(head, ASH_RECORD_MAGIC, 4) == 0) &&
           ash__get_le64(head + 40) == ash__checksum(head, 40);
}

const char *ash__record_open(const uint8_t *record, uint32_t len, ash_payload *out)
{
    ash_payload p = {.record = record, .len = len, .layout = ash__layout_plain};
    bool pieces = memcmp(record, ASH_RECORD_PIECES_MAGIC, 4) == 0;
    if (!pieces && memcmp(record, ASH_RECORD_MAGIC, 4) != 0)
        return "no record";
    if (ash__get_le64(record + 40) != ash__checksum(record, 40))
        return "a damaged record header";
    if (ash__get_le32(record + 4) != len)
        return "another record";
    if (pieces && (!ash__layout_of_pieces(len, ash__get_le32(record + 24), &p.layout) ||
                   ash__get_le64(record + 32) !=
                       ash__checksum(record + ASH_RECORD_HEADER_BYTES, (size_t)8 * p.layout.sums)))
        return "a record with damaged checksums";
    *out = p;
    return NULL;
}

void ash__record_open_again(const uint8_t *record, uint32_t len, uint32_t piece, ash_payload *out)
{
    *out = (ash_payload){.record = record, .len = len, .layout = ash__layout_plain};
    ash_assert(piece == 0 || ash__layout_of_pieces(len, piece, &out->layout));
}

/* Plain payloads begin 48 bytes into a block, so that a checksum's wide loads straddle cache lines,
 * and each that misses waits for two.  Bringing the lines in first, one aligned load each, made it
 * a third faster; as much at a time as stays in the processor's own cache. */
static uint64_t plain_sum(const uint8_t *data, size_t len)
{
    const volatile uint8_t *at = data;
    for (size_t i = 0; len <= BRING_IN_MAX && i < len; i += LINE)
        (void)at[i];
    return ash__checksum(data, len);
}

/* A checksum alone asks for lines too late to hide what the first of each page cost. */
static void ask_for(const uint8_t *data, size_t len)
{
    for (size_t i = 0; len <= ASK_FOR_MAX && i < len; i += LINE)
        __builtin_prefetch(data + i);
}

static uint32_t piece_of(const ash_payload *p, size_t at)
{
    return at < ASH_FIRST_PIECE_BYTES
               ? 0
               : 1 + (uint32_t)((at - ASH_FIRST_PIECE_BYTES) / p->layout.piece);
}

static size_t piece_start(const ash_payload *p, uint32_t i)
{
    size_t at = i == 0 ? 0 : ASH_FIRST_PIECE_BYTES + (size_t)(i - 1) * p->layout.piece;
    return at < p->len ? at : p->len;
}

bool ash__payload_holds(const ash_payload *p, size_t *from, size_t *to)
{
    const uint8_t *data = ash__payload_data(p);
    ash_assert(*from < *to && *to <= p->len);
    if (p->layout.piece == 0) {
        *from = 0;
        *to = p->len;
        return ash__get_le64(p->record + 32) == plain_sum(data, p->len);
    }
    uint32_t first = piece_of(p, *from), last = piece_of(p, *to - 1);
    *from = piece_start(p, first);
    *to = piece_start(p, last + 1);
    __builtin_prefetch(p->record + ASH_RECORD_HEADER_BYTES + (size_t)8 * first);
    ask_for(data + *from, *to - *from);
    for (uint32_t i = first; i <= last; i++) {
        size_t at = piece_start(p, i);
        if (ash__get_le64(p->record + ASH_RECORD_HEADER_BYTES + (size_t)8 * i) !=
            ash__checksum(data + at, piece_start(p, i + 1) - at))
            return false;
    }
    return true;
}

uint64_t ash__payload_root(const uint8_t *record, uint32_t len, const ash_layout *layout,
                           bool *table)
{
    uint8_t sums[ASH_BLOCK_BYTES];
    struct iovec part = {(void *)(uintptr_t)(record + layout->offset), len};
    *table = false;
    if (layout->piece == 0)
        return ash__checksum(part.iov_base, len);
    uint64_t root = make_sums(sums, layout, &part, len);
    /* Then only the header can be what was damaged. */
    *table = memcmp(sums, record + ASH_RECORD_HEADER_BYTES, (size_t)8 * layout->sums) == 0;
    return root;
}
