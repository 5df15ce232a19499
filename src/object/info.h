/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_INFO_H
#define ASH_OBJECT_INFO_H

/* What the core and the backends share about objects, stores' configurations and status: reading,
 * making and checking them.  Pure, no I/O.
 *
 * An object is one document, whose fields stand in this order; those marked * are always there:
 *
 *   name *        string
 *   description   string, not ""
 *   headers       {name: [strings]}, not {}
 *   metadata      {key: string}, not {}
 *   tags          [strings], not []
 *   options       {link?: {bucket, name?}, max_chunk_size?: int32}
 *   bucket *      string: the object store
 *   nuid          string: of the bytes; not of links
 *   size *        int64
 *   mtime         date; a backend gives it to whatever it hands out
 *   chunks *      int64
 *   digest        string, "SHA-256=…"; not of links and deleted ones
 *   deleted       true; else it is not there
 *   revision      int64; likewise
 *   expires       date
 *   encoding      string, "zstd": of the stored chunks
 *   archive       {bucket, name}: where the bytes are, instead of here
 *   until         date: of a version, when it ended
 *
 * What else there is stands behind them, and stays there. */

#include <ashlar/object.h>

#include "base/error.h"

#define ASH_OBJECT_NAME_MAX       1024
#define ASH_OBJECT_STORE_NAME_MAX 128
#define ASH_OBJECT_META_MAX       (64 * 1024)
#define ASH_OBJECT_TAG_MAX        255
#define ASH_NUID_TEXT_BYTES       23 /* 22 of base62, and NUL */

struct ash_object {
    bson_t *document; /* its own; what is below points into it, but for the numbers */
    const char *name, *description, *store, *nuid, *link_store, *link_name, *content_type;
    const char *encoding, *archive_store, *archive_name;
    char digest[64]; /* in the ADR's notation, where it is one of ours; else as it came, cut */
    int64_t size, chunks, modified_ms, expires_ms, ended_ms;
    int32_t chunk_size; /* 0: not said */
    uint64_t revision;
    bool deleted;
};

/* ---- objects ---- */

/* Takes over doc (also on failure), whose fields may stand in any order; numbers of any type, dates
 * as dates or as text.  ASH_ECORRUPT: what is always there is not, or cannot be. */
int ash__object_new(bson_t *doc, ash_object **out, ash_error *err);
/* old's document (NULL: {}) with the fields of `set` in their places; null removes one. */
int ash__object_set(const ash_object *old, const bson_t *set, ash_object **out, ash_error *err);
/* {deleted: true, size: 0, …}: for ash__object_set, what makes an object a tombstone. */
void ash__object_set_deleted(bson_t *set);
/* From meta, checked and made complete by ash__object_meta_check: {name, description, headers,
 * metadata, tags} as far as meta says something, headers with Content-Type in them.  old: what a
 * content type is merged into, where meta has no headers; or NULL. */
void ash__object_set_meta(const ash_object_meta *meta, const ash_object *old, bson_t *set);
/* A static view of a map or list of its document; false: it has none. */
bool ash__object_view(const ash_object *o, const char *field, bson_t *out);
/* Does a filter let it pass? */
int ash__object_matches(const ash_object *o, const bson_t *filter, bool *out, ash_error *err);

/* ---- what callers say ---- */

int ash__object_name_check(const char *name, ash_error *err);
int ash__object_store_name_check(const char *name, ash_error *err);
/* Names, maps, tags, sizes; put: with what a put alone may say. */
int ash__object_meta_check(const ash_object_meta *meta, bool put, ash_error *err);

/* ---- configurations and status ---- */

/* A configuration with its own copies; defaults are filled in (replicas 1, chunk size, digest). */
typedef struct ash_object_config_copy {
    ash_object_config config; /* its pointers lead into what follows */
    bson_t *metadata, *placement_tags;
    char *texts[3];
} ash_object_config_copy;
/* Checks what no backend can have.  Release also after a failure. */
int ash__object_config_copy(const ash_object_config *config, ash_object_config_copy *out,
                            ash_error *err);
void ash__object_config_release(ash_object_config_copy *c);
/* NULL, or the name of the first field in which they differ; `{}` and NULL are the same. */
const char *ash__object_config_difference(const ash_object_config *a, const ash_object_config *b);
/* ASH_EUNSUPPORTED, by its name, for the first field that these capabilities exclude. */
int ash__object_config_allowed(const ash_object_config *c, const ash_object_capabilities *can,
                               ash_error *err);

/* Without what these capabilities exclude, whose names are appended to `lost` (or NULL). */
void ash__object_config_reduce(ash_object_config *c, const ash_object_capabilities *can,
                               bson_t *lost);
void ash__object_append(bson_t *array, const char *text);

struct ash_object_status {
    ash_object_config_copy config;
    bool sealed, compressed;
    int64_t bytes, objects, created_ms;
    uint64_t revision;
    const char *backing; /* constant */
};
/* Owns a copy of config. */
int ash__object_status_new(const ash_object_config *config, ash_object_status **out,
                           ash_error *err);

/* Statuses, in any order; takes over what is added. */
ash_object_status_listing *ash__status_listing_new(void);
void ash__status_listing_add(ash_object_status_listing *l, ash_object_status *st);
void ash__status_listing_sort(ash_object_status_listing *l); /* by name; the core does it */

/* ---- notations ---- */

/* Is the address one of NATS', also where this build has no backend for it? */
bool ash__uri_is_nats(const char *uri);

/* Safe from any thread: 22 of base62, which nobody else has. */
void ash__nuid(char out[ASH_NUID_TEXT_BYTES]);
/* "SHA-256=" and URL-safe base64 with its padding, from the bytes of a digest. */
void ash__digest_text(ash_digest_kind kind, const uint8_t *bytes, char out[64]);
/* From hexadecimal, as the bucket has digests. */
void ash__digest_text_from_hex(ash_digest_kind kind, const char *hex, char out[64]);
/* Reads all notations that clients are known to write: hexadecimal, base64, URL-safe base64, with
 * and without padding.  false: none of them. */
bool ash__digest_parse(const char *text, ash_digest_kind *kind, uint8_t out[32], size_t *len);

#endif
