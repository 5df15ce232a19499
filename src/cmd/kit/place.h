/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_PLACE_H
#define ASH_CMD_KIT_PLACE_H

#include "cmd/kit/preserve.h"

/* Put a file into the local file system, whole or not at all: written beside its place under a
 * temporary name, then renamed.  A file that was there gives its mode to the new one.
 *
 * Names from a bucket are not trusted: below a folder (open_below) every part must be a plain name;
 * "", ".", ".." and a leading slash are refused, and no link is followed: one of the
 * name of the file gives way to it. */
typedef struct ash_place ash_place;

/* The target is what the user typed.  Links in it are followed, the last one too: what it leads to
 * is replaced.  Devices and pipes are written to, which is not whole or not at all. */
int ash__place_open(const char *path, ash_place **out, ash_error *err);
/* Makes the missing folders.  A name that ends in "/" makes just the folder: *out is NULL then.
 * ASH_EACCES when the name would leave root, ASH_EEXISTS when a folder, a device, a pipe or a
 * socket has it. */
int ash__place_open_below(int root_fd, const char *name, ash_place **out, ash_error *err);
int ash__place_write(void *place, const void *data, size_t len,
                     ash_error *err); /* an ash_output's write */
/* Time and mode that the file is to have; of a device or pipe nothing.  Before finish. */
int ash__place_preserve(ash_place *p, const ash_preserved *kept, ash_error *err);
int ash__place_finish(ash_place *p, ash_error *err); /* the file is there; p is only to be freed */
void ash__place_free(ash_place *p);                  /* without finish: nothing is left behind */

#endif
