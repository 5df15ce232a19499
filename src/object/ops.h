/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_OPS_H
#define ASH_OBJECT_OPS_H

/* What a backend of object stores is: one constant table of typed operations.
 *
 * The public functions (src/object) check arguments, bring option structs to the current size and
 * call one slot each; nobody else calls a slot.  What they do for all backends, so that no backend
 * needs to:
 *
 *   - names, metas, options and configurations are checked (info.h); what the manager's capabilities
 *     exclude was refused by name;
 *   - bytes are gathered: a sink gets whole chunks, and digests are made and compared;
 *   - links are followed; ranges, chunks by number and revisions are resolved; a source is asked for
 *     positions within the object only;
 *   - a filter is tried on what a listing gives, unless `filters` is set;
 *   - archive, copy, get and put from streams and memory.
 *
 * No slot may be NULL but where it says so.  Options, op, config and meta are never NULL and of this
 * version's size; strings in them may be.  Output pointers are never NULL, and are set on success.
 * Contracts are those of ashlar/object.h; what is said here is what a backend owes beyond them.
 * What a backend hands out as an ash_object has `revision` and `mtime` (info.h). */

#include "object/info.h"

typedef struct ash_object_ops ash_object_ops;
typedef struct ash_object_backend ash_object_backend;

/* A backend's manager embeds this as its first member. */
struct ash_object_manager {
    const ash_object_ops *ops;
    ash_object_capabilities can; /* filled in by the backend when it opens; size by the core */
};

/* A backend's bound store embeds this as its first member. */
struct ash_object_store {
    ash_object_manager *manager;
    char *name;                /* set and freed by the core */
    ash_object_store *archive; /* the core's */
    /* Filled in by the backend: what puts get that say nothing. */
    int32_t chunk_size;     /* 0: 128 KiB */
    ash_digest_kind digest; /* 0: SHA-256 */
    bool encode;            /* with zstd */
};

/* Bytes on their way in (a backend's embeds it first), … */
typedef struct ash_object_sink {
    ash_object_store *store;
    bool hashes; /* set when it opens: it makes the digest itself, by sink_digest */
} ash_object_sink;

/* … and out. */
typedef struct ash_object_source {
    ash_object_store *store;
} ash_object_source;

/* A backend's listing embeds this as its first member. */
struct ash_object_listing {
    /* Borrowed until the next call; NULL at the end. */
    int (*next)(ash_object_listing *l, const ash_object **out, ash_error *err);
    void (*free)(ash_object_listing *l);
};

struct ash_object_watch {
    /* As ash_object_watch_next; out is empty.  Filtering by the watch's options is the backend's. */
    int (*next)(ash_object_watch *w, int64_t timeout_ms, ash_object_event *out, ash_error *err);
    void (*close)(ash_object_watch *w);
};

/* How a put begins. */
typedef struct ash_object_put_request {
    const ash_object *object; /* as it will be, but for size, chunks, digest, mtime, revision and
                                 expires: store, nuid (new), options.max_chunk_size, encoding are
                                 set; lives until sink_seal */
    const ash_object_change_options *opts; /* live as long as the sink: what counts is what they say
                                              at the commit; the backend may look at them early */
    ash_digest_kind digest;
    bool id_is_new;   /* the nuid was made for this put; else something may be left under it */
    const ash_op *op; /* without a transaction */
} ash_object_put_request;

/* A change of the object `name`. */
typedef struct ash_object_request {
    const char *name;
    const ash_object_change_options *opts;
    const ash_op *op;
} ash_object_request;

/* Where the bytes of an object are, when they are not here. */
typedef struct ash_object_place {
    const char *store, *name;
} ash_object_place;

struct ash_object_ops {
    /* A filter of a listing is obeyed by `list` itself. */
    bool filters;

    /* ---- managers ---- */

    /* Nothing of it is open any more.  Cannot fail. */
    void (*close)(ash_object_manager *m);
    /* config: complete.  *out: bound to what was made, or was there just so. */
    int (*create)(ash_object_manager *m, const ash_object_config *config, const ash_op *op,
                  ash_object_store **out, ash_error *err);
    int (*bind)(ash_object_manager *m, const char *name, const ash_op *op, ash_object_store **out,
                ash_error *err);
    int (*update)(ash_object_manager *m, const ash_object_config *config, const ash_op *op,
                  ash_error *err);
    int (*remove)(ash_object_manager *m, const char *name, const ash_op *op, ash_error *err);
    int (*list)(ash_object_manager *m, const ash_op *op, ash_object_status_listing *out,
                ash_error *err);
    /* Names of collections, by ash__object_append.  NULL: the backend opens on no store. */
    int (*collections)(ash_object_manager *m, const ash_op *op, bson_t *names, ash_error *err);

    /* ---- stores ---- */

    void (*unbind)(ash_object_store *s); /* cannot fail */
    int (*status)(ash_object_store *s, const ash_op *op, ash_object_status **out, ash_error *err);
    int (*seal)(ash_object_store *s, const ash_op *op, ash_error *err);

    /* ---- bytes in ---- */

    int (*open_sink)(ash_object_store *s, const ash_object_put_request *request,
                     ash_object_sink **out, ash_error *err);
    /* len: one or more whole chunks, but for the last call, whose end may be a part of one. */
    int (*sink_write)(ash_object_sink *k, const void *data, size_t len, ash_error *err);
    /* Every byte is stored and acknowledged when it returns 0.  Once. */
    int (*sink_seal)(ash_object_sink *k, ash_error *err);
    /* Of a sealed sink that hashes; in the ADR's notation.  NULL: no sink does. */
    int (*sink_digest)(ash_object_sink *k, char out[64], ash_error *err);
    /* Conditions, quota, fence, and then the object, in one commit.  object: as in the request, now
     * with size, chunks and digest, or one that was given its name and meta by now; *out: with the
     * rest.  After a failure it may be called again, or
     * the sink is freed. */
    int (*sink_commit)(ash_object_sink *k, const ash_object *object, const ash_op *op,
                       ash_object **out, ash_error *err);
    /* Without a commit: takes the bytes away again, as far as that works now. */
    void (*sink_free)(ash_object_sink *k);

    /* ---- bytes out ---- */

    /* opts: `deleted` and `revision` (only where there are versions) alone. */
    int (*info)(ash_object_store *s, const char *name, const ash_object_read_options *opts,
                const ash_op *op, ash_object **out, ash_error *err);
    /* The bytes of just this object, from the first on.  object: what `info`, a listing or a watch
     * of this backend gave; has bytes; lives as long as the source.  ASH_ECONFLICT here: it was
     * changed or deleted since; the core looks again where it may. */
    int (*open_source)(ash_object_store *s, const ash_object *object, const ash_op *op,
                       ash_object_source **out, ash_error *err);
    /* Up to len (> 0) bytes from the present position; *got 0: fewer bytes are there than size says,
     * which is ASH_ECORRUPT for the core.  ASH_ECONFLICT: changed or deleted while being read. */
    int (*source_read)(ash_object_source *u, void *buf, size_t len, size_t *got, ash_error *err);
    int (*source_seek)(ash_object_source *u, int64_t position, ash_error *err);
    void (*source_free)(ash_object_source *u);

    /* ---- changes ---- */

    int (*update_meta)(ash_object_store *s, const ash_object_request *r,
                       const ash_object_meta *meta, ash_object **out, ash_error *err);
    int (*delete)(ash_object_store *s, const ash_object_request *r, ash_object **out,
                  ash_error *err);
    /* link: complete but for mtime, revision and expires. */
    int (*link)(ash_object_store *s, const ash_object_request *r, const ash_object *link,
                ash_object **out, ash_error *err);
    /* NULL without object_ttl. */
    int (*set_expiry)(ash_object_store *s, const ash_object_request *r, int64_t expires_ms,
                      ash_object **out, ash_error *err);

    /* ---- looking at many ---- */

    int (*list_objects)(ash_object_store *s, const ash_object_list_options *opts, const ash_op *op,
                        ash_object_listing **out, ash_error *err);
    int (*watch)(ash_object_store *s, const ash_object_watch_options *opts, const ash_op *op,
                 ash_object_watch **out, ash_error *err);

    /* ---- versions: NULL without them ---- */

    int (*versions)(ash_object_store *s, const char *name, int64_t limit, const ash_op *op,
                    ash_object_listing **out, ash_error *err);
    int (*restore)(ash_object_store *s, const ash_object_request *r, uint64_t revision,
                   ash_object **out, ash_error *err);
    int (*prune)(ash_object_store *s, const ash_object_prune_options *opts, const ash_op *op,
                 ash_object_prune_report *report, ash_error *err);

    /* ---- and the rest ---- */

    /* NULL without locks. */
    int (*lock)(ash_object_store *s, const char *name, const ash_lock_options *opts, ash_lock **out,
                ash_error *err);
    /* detach: the bytes of this very object (by name and revision, else ASH_ECONFLICT) are elsewhere
     * now, and those here go.  attach: the bytes of a sealed sink, which were put for it, are its
     * bytes again; then the sink is freed.  *needed: versions still have theirs in the archive, as
     * the object had.  Neither is a new revision.  NULL without archive. */
    int (*detach)(ash_object_store *s, const ash_object *object, const ash_object_place *place,
                  const ash_op *op, ash_error *err);
    int (*attach)(ash_object_sink *k, const ash_object *object, const ash_op *op, bool *needed,
                  ash_error *err);
    int (*sweep)(ash_object_store *s, const ash_object_sweep_options *opts, const ash_op *op,
                 ash_object_sweep_report *report, ash_error *err);
    /* When the next object, or what is left of one, is over; 0: none ever is.  An end that comes
     * earlier by a change comes with a new revision of the store.  NULL: the backend opens on no
     * store. */
    int (*next_end)(ash_object_store *s, const ash_op *op, int64_t *ms, ash_error *err);
};

struct ash_object_backend {
    const char *name; /* "docs", "jetstream" */
    /* Does this backend take the URI? */
    bool (*accepts)(const char *uri);
    /* opts: of this version's size.  *out: with ops and capabilities. */
    int (*open)(const char *uri, const ash_object_manager_options *opts, ash_object_manager **out,
                ash_error *err);
    /* On a store that is the caller's; NULL: this backend has no use for one. */
    int (*open_on)(ash_store *store, const ash_object_manager_options *opts,
                   ash_object_manager **out, ash_error *err);
};

/* The backends of this build, NULL-terminated: src/backends.c. */
extern const ash_object_backend *const ash__object_backends[];

#endif
