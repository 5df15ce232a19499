/* SPDX-License-Identifier: Apache-2.0 */
/* Records of segment files.  Input: a byte of choices, a byte of how many changes, for each change
 * two bytes of place and one of what is put there; the rest is repeated to make the payload.  An
 * untouched record is whole; a touched one is found out or gives its own bytes. */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "segment/layout.h"

#include <string.h>

typedef struct made {
    uint8_t *record;
    uint8_t *payload;
    uint32_t len;
    size_t bytes;
    ash_layout layout;
} made;

static void make(made *m, uint8_t choices, const uint8_t *data, size_t size)
{
    static const uint32_t times[] = {1, 3, 20, 400};
    size_t len = size * times[choices & 3];
    m->len = (uint32_t)(len == 0 ? 1 : len > 300000 ? 300000 : len);
    m->payload = ash__alloc(m->len);
    for (size_t i = 0; i < m->len && size > 0; i++)
        m->payload[i] = data[i % size];
    m->layout = ash__layout_for(m->len);
    if ((choices & 4) != 0)
        m->layout = ash__layout_plain;
    m->bytes = m->layout.offset + m->len;
    m->record = ash__alloc((size_t)ash__segment_blocks_for(m->len) * ASH_BLOCK_BYTES);
    struct iovec part = {m->payload, m->len};
    ash__record_head_make(m->record, &m->layout, &(ash_record_draft){7, 9, &part, 1}, m->len);
    memcpy(m->record + m->layout.offset, m->payload, m->len);
}

/* The header's own checksum is put right, so that what is behind it gets its turn. */
static void repair_head(made *m)
{
    ash__put_le64(m->record + 40, ash__checksum(m->record, 40));
}

static void check_ranges(const made *m, const ash_payload *p, bool touched)
{
    for (uint32_t i = 0; i < 8; i++) {
        size_t from = m->len * i / 8, to = m->len * (i + 1) / 8;
        size_t first = from, last = to;
        if (from == to)
            continue;
        bool holds = ash__payload_holds(p, &first, &last);
        ash_assert(holds || touched);
        ash_assert(first <= from && last >= to && last <= m->len);
        if (holds && p->layout.offset == m->layout.offset)
            ash_assert(memcmp(ash__payload_data(p) + first, m->payload + first, last - first) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    made m;
    ash_payload p;
    bool table;
    if (size < 2 || size < 2 + (size_t)data[1] % 8 * 3)
        return 0;
    uint32_t changes = data[1] % 8;
    make(&m, data[0], data + 2 + changes * 3, size - 2 - changes * 3);
    for (uint32_t i = 0; i < changes; i++) {
        const uint8_t *change = data + 2 + i * 3;
        m.record[(change[0] | (size_t)change[1] << 8) % m.bytes] ^= change[2];
    }
    if ((data[0] & 8) != 0)
        repair_head(&m);
    bool whole = ash__record_head_is_whole(m.record);
    const char *wrong = ash__record_open(m.record, m.len, &p);
    ash_assert(wrong == NULL || changes > 0);
    ash_assert(wrong != NULL || whole);
    if (wrong == NULL)
        check_ranges(&m, &p, changes > 0);
    ash__payload_root(m.record, m.len, &m.layout, &table);
    ash__free(m.record);
    ash__free(m.payload);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}
