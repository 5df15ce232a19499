/* SPDX-License-Identifier: Apache-2.0 */
/* A room counts bytes and allocates none; blocks do.  Whoever waits for room first has somebody
 * pressed who holds some, then sleeps until some is given back. */
#include "net/room.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>
#include <sys/mman.h>

enum { PRESS_MS = 100 }; /* between two looks for one who holds room and does not move */

void ash__room_init(ash_room *room, size_t total_bytes, void (*press)(void *arg, ash_room *room),
                    void *press_arg)
{
    ash__mutex_init(&room->lock, ASH_RANK_CONNECTION);
    ash__cond_init(&room->freed);
    room->total = total_bytes;
    room->used = 0;
    room->press = press;
    room->press_arg = press_arg;
}

void ash__room_release(ash_room *room)
{
    ash_assert(room->used == 0);
    ash__cond_release(&room->freed);
    ash__mutex_release(&room->lock);
}

size_t ash__room_used(ash_room *room)
{
    ash__mutex_lock(&room->lock);
    size_t used = room->used;
    ash__mutex_unlock(&room->lock);
    return used;
}

/* Somebody gave room back, or some time passed; false once the deadline did.  Gives up the lock
 * meanwhile. */
static bool wait_a_little(ash_room *room, int64_t deadline_ms, int64_t *press_at)
{
    int64_t now = ash__clock_ms();
    ash__mutex_assert_held(&room->lock);
    if (now >= deadline_ms)
        return false;
    if (now < *press_at) {
        ash__cond_wait_until(&room->freed, &room->lock,
                             deadline_ms < *press_at ? deadline_ms : *press_at);
        return true;
    }
    *press_at = now + PRESS_MS;
    if (room->press != NULL) {
        /* press() takes the host's lock, which ranks below. */
        ash__mutex_unlock(&room->lock);
        room->press(room->press_arg, room);
        ash__mutex_lock(&room->lock);
    }
    return true;
}

int ash__room_take(ash_room *room, size_t bytes, int64_t deadline_ms, ash_error *err)
{
    /* 0: the first one is pressed at once. */
    int64_t press_at = 0;
    /* Large messages leave a quarter to small ones. */
    size_t limit = bytes > ASH_ROOM_BULK_BYTES ? room->total / 4 * 3 : room->total;
    int rc = 0;
    if (bytes > limit)
        return ash__fail(err, ASH_ETOOBIG, "a message of %zu bytes is over the server's limit",
                         bytes);
    ash__mutex_lock(&room->lock);
    while (rc == 0 && room->used + bytes > limit)
        if (!wait_a_little(room, deadline_ms, &press_at))
            rc = ash__fail(err, ASH_ETIMEOUT, "no memory for a message of %zu bytes", bytes);
    if (rc == 0)
        room->used += bytes;
    ash__mutex_unlock(&room->lock);
    return rc;
}

void ash__room_give(ash_room *room, size_t bytes)
{
    ash__mutex_lock(&room->lock);
    ash_assert(room->used >= bytes);
    room->used -= bytes;
    /* To all: what is too little for the first may do for the next. */
    ash__cond_broadcast(&room->freed);
    ash__mutex_unlock(&room->lock);
}

void ash__block_init(ash_block *block, ash_room *room)
{
    block->room = room;
    block->data = ash__alloc(ASH_BLOCK_SMALL_BYTES);
    block->capacity = ASH_BLOCK_SMALL_BYTES;
}

static void drop_data(ash_block *block)
{
    if (block->capacity <= ASH_BLOCK_SMALL_BYTES) {
        ash__free(block->data);
    } else {
        munmap(block->data, block->capacity);
        ash__room_give(block->room, block->capacity);
    }
    block->data = NULL;
    block->capacity = 0;
}

void ash__block_release(ash_block *block)
{
    if (block->data != NULL)
        drop_data(block);
}

int ash__block_reserve(ash_block *block, size_t keep_bytes, size_t capacity, int64_t deadline_ms,
                       ash_error *err)
{
    ash_assert(keep_bytes <= block->capacity);
    if (capacity <= block->capacity)
        return 0;
    /* Who waits for room holds none: else those who wait could wait for each other. */
    ash__block_shrink(block, keep_bytes);
    /* Not from the heap: freed memory must leave the process at once. */
    int rc = ash__room_take(block->room, capacity, deadline_ms, err);
    if (rc != 0)
        return rc;
    void *data = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
        ash__room_give(block->room, capacity);
        return ash__fail(err, ASH_ENOMEM, "no memory for a message of %zu bytes", capacity);
    }
    /* The old one until now, so that a failure above loses nothing. */
    memcpy(data, block->data, keep_bytes);
    drop_data(block);
    block->data = data;
    block->capacity = capacity;
    return 0;
}

void ash__block_shrink(ash_block *block, size_t keep_bytes)
{
    if (block->capacity <= ASH_BLOCK_SMALL_BYTES || keep_bytes > ASH_BLOCK_SMALL_BYTES)
        return;
    uint8_t *data = ash__alloc(ASH_BLOCK_SMALL_BYTES);
    memcpy(data, block->data, keep_bytes);
    drop_data(block);
    block->data = data;
    block->capacity = ASH_BLOCK_SMALL_BYTES;
}
