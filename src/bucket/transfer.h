/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_TRANSFER_H
#define ASH_BUCKET_TRANSFER_H

/* An upload that makes a file what it is in another bucket: its id, its files document, its expiry.
 *
 * Two that bring the same file want the same chunks.  So each holds a document {_id: {copy: FILE
 * ID}, version: ObjectId} in the attributes, changes its version all the time, and removes it in
 * the commit, which needs it, and needs all the chunks.  One that stays the same for 15 s is taken
 * to be of a process that died.  In a folder, which one process has at a time, that of another
 * process is.  Whoever takes it over removes the chunks that the dead one left, and no others: they
 * have ObjectIds of the same process as the version.  A process that was taken for dead fails at
 * its next chunks, and removes nothing.
 *
 * A file that takes the place of another of the same id is staged (upload.h) and needs none of
 * this: its chunks are in nobody's way. */

#include "bucket/upload.h"

/* file: as it is to be; replaced: the version of that id that goes in the same commit, read with
 * its attributes, or NULL.  Both are lent until *out is freed.  Waits while another transfer of the
 * file runs; *cancel, when it is set, ends that: ASH_EINTERRUPTED.  ASH_EEXISTS: the bucket has a
 * file of the id.  Then, as with other uploads: write, finish, abort, free.  finish is
 * ASH_ECORRUPT, or ASH_ECHUNKSIZE, when the bytes are not the file's; ASH_ELOST when another one
 * took over; ASH_ECONFLICT when `replaced` was changed meanwhile. */
int ash__transfer_open(ash_bucket *b, const ash_file *file, const ash_file *replaced,
                       const volatile int *cancel, ash_upload **out, ash_error *err);

/* Of an upload that is no transfer, or is staged, the rest does nothing. */

/* It goes on: to be called at least every few seconds.  ASH_ELOST: another one took over. */
int ash__transfer_keep(ash_upload *u, int64_t deadline_ms, ash_error *err);
int ash__transfer_say_lost(ash_error *err);
int ash__transfer_release(ash_upload *u, const ash_work *work, int64_t *removed, ash_error *err);
/* Its length and digest, before the commit. */
int ash__transfer_check(const ash_upload *u, ash_error *err);

#endif
