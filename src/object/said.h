/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_SAID_H
#define ASH_OBJECT_SAID_H

/* Objects whose info a client of another protocol wrote: bytes come first, under a NUID of the
 * client's, and what they are comes last.
 *
 * `said` is that info, as ash__object_new() makes it; nothing in it is believed that can be looked
 * at, and what only a backend may say is left out. */

#include "object/ops.h"

/* A put of an object that nobody has named yet.  chunk_size: of the bytes as they are stored.
 * ASH_EINVAL: a NUID is 1 to 63 of A-Z a-z 0-9 - _.  *out is yours: ash_object_writer_free(). */
int ash__object_open_put(ash_object_store *s, const char *nuid, int32_t chunk_size,
                         const ash_op *op, ash_object_writer **out, ash_error *err);
/* As ash_object_writer_finish(), as that object.  ASH_ECORRUPT: size or digest are not those of the
 * bytes.  As long as there are too few bytes, more may come after the failure. */
int ash__object_finish_put(ash_object_writer *w, const ash_object *said,
                           const ash_object_change_options *opts, ash_object **out, ash_error *err);
int64_t ash__object_put_size(const ash_object_writer *w); /* bytes so far */

/* As ash_object_store_link(), with all that is said of the link. */
int ash__object_put_link(ash_object_store *s, const ash_object *said,
                         const ash_object_change_options *opts, const ash_op *op, ash_object **out,
                         ash_error *err);
/* As ash_object_store_update_meta(): the request's object is described as `said` is, and in no other
 * way; its name becomes that of `said`. */
int ash__object_describe(ash_object_store *s, const ash_object_request *r, const ash_object *said,
                         ash_object **out, ash_error *err);
/* The live object or link that has this NUID; ASH_ENOTFOUND. */
int ash__object_find_nuid(ash_object_store *s, const char *nuid, const ash_op *op, ash_object **out,
                          ash_error *err);
/* Appends null for each field of `said` that is not a client's to say: for ash__object_set(). */
void ash__object_unsay(const ash_object *said, bson_t *set);

#endif
