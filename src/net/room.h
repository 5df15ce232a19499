/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_ROOM_H
#define ASH_NET_ROOM_H

/* Memory for messages in flight, in one direction.
 *
 * A block holds a connection's bytes.  A small one (ASH_BLOCK_SMALL_BYTES) is the connection's own;
 * anything larger is taken out of a room that all connections of a server share, so that their sum
 * is bounded, and goes back to the operating system when the block shrinks.  Messages over
 * ASH_ROOM_BULK_BYTES may fill only three quarters of the room: whoever sends large messages slowly
 * cannot keep out those who send small ones.  While somebody waits for room, whoever holds some is
 * pressed to move on. */

#include "base/error.h"
#include "base/thread.h"

#include <stddef.h>

enum { ASH_BLOCK_SMALL_BYTES = 16 * 1024, ASH_ROOM_BULK_BYTES = 4 * 1024 * 1024 };

typedef struct ash_room ash_room;
struct ash_room {
    ash_mutex lock; /* guards used */
    ash_cond freed;
    size_t total;
    size_t used;
    void (*press)(void *arg, ash_room *room); /* called again and again by those who wait */
    void *press_arg;
};

/* press may be NULL; it is called with no lock held. */
void ash__room_init(ash_room *room, size_t total_bytes, void (*press)(void *arg, ash_room *room),
                    void *press_arg);
void ash__room_release(ash_room *room);
size_t ash__room_used(ash_room *room);

/* Room for memory that the caller allocates itself.  Waits until the deadline (monotonic ms):
 * ASH_ETIMEOUT.  ASH_ETOOBIG for more than the room could ever give. */
int ash__room_take(ash_room *room, size_t bytes, int64_t deadline_ms, ash_error *err);
void ash__room_give(ash_room *room, size_t bytes);

/* One thread at a time. */
typedef struct ash_block {
    ash_room *room;
    uint8_t *data;
    size_t capacity;
} ash_block;

void ash__block_init(ash_block *block, ash_room *room);
void ash__block_release(ash_block *block);

/* Make the block hold at least capacity bytes, keeping its first keep_bytes.  Waits for room until
 * the deadline (monotonic ms): ASH_ETIMEOUT.  ASH_ETOOBIG for more than the room could ever give,
 * ASH_ENOMEM when the system has none.  On failure the block still has its first keep_bytes. */
int ash__block_reserve(ash_block *block, size_t keep_bytes, size_t capacity, int64_t deadline_ms,
                       ash_error *err);

/* Back to a small block, keeping the first keep_bytes if they fit, else doing nothing. */
void ash__block_shrink(ash_block *block, size_t keep_bytes);

#endif
