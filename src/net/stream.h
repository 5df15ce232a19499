/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_STREAM_H
#define ASH_NET_STREAM_H

/* Bytes over a non-blocking socket, with time limits. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Wait until there is something to read, at most timeout_ms (< 0: forever). */
bool ash__stream_wait(int fd, int64_t timeout_ms);

/* Will the peer send nothing any more?  Does not wait. */
bool ash__stream_hung_up(int fd);

/* How long the network takes to the peer and back; 0 where nobody knows, and on one machine. */
int64_t ash__stream_round_trip_us(int fd);

/* At least one byte and at most room of them into data, before the deadline (monotonic ms, 0 =
 * none). Returns how many, 0 when the peer hung up, failed, or was too slow. */
size_t ash__stream_read(int fd, void *data, size_t room, int64_t deadline_ms);

/* Less than this is no progress: whoever takes or sends single bytes is as slow as who does
 * nothing.
 */
enum { ASH_STREAM_STEP_BYTES = 64 * 1024 };

/* What the socket takes at once; false when the peer is gone.  The rest is left in *iov, *count. */
bool ash__stream_push(int fd, struct iovec **iov, size_t *count);

/* All pieces; false when the peer is gone, or took neither the rest nor ASH_STREAM_STEP_BYTES
 * within timeout_ms.  iov is changed.  *moved_ms (or NULL): when it last made progress, monotonic.
 */
bool ash__stream_write(int fd, struct iovec *iov, size_t count, int64_t timeout_ms,
                       _Atomic int64_t *moved_ms);

#endif
