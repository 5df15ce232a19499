/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_FORMAT_NAMES_H
#define ASH_OBJECT_JETSTREAM_FORMAT_NAMES_H

/* How the names of objects become subjects: ADR-20, ADR-6. */

#define ASH_STREAM_PREFIX "OBJ_"

/* The store whose stream it is, in that text; NULL: it is none of a store. */
const char *ash__store_of_stream(const char *stream);

/* Yours: ash__free(). */
char *ash__stream_of(const char *store);                       /* OBJ_store */
char *ash__chunk_subject(const char *store, const char *nuid); /* $O.store.C.nuid */
char *ash__meta_subject(const char *store, const char *name);  /* $O.store.M.base64url */
/* The object's name that a meta subject stands for; NULL where it is none. */
char *ash__name_of_subject(const char *store, const char *subject);

#endif
