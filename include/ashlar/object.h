/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_OBJECT_H
#define ASHLAR_OBJECT_H

/* Object stores by ADR-20, NATS' design of the JetStream object store ("the ADR" below), on any
 * store, or on JetStream itself.
 *
 *   ./files, file:/srv/files, mongodb://…    "docs": objects are documents, and their bytes files of
 *                                            a bucket, which GridFS drivers read
 *   nats://…, tls://…                        "jetstream": byte for byte what NATS' clients write and
 *                                            read, through libnats
 *
 * A manager makes, finds and deletes object stores.  A store has objects: bytes under a name, with
 * what is said of them.  An `ash_object` is that: one object as of one revision.  docs/OBJECTS.md
 * teaches object stores, docs/FORMAT.md has the documents.
 *
 * Names of stores are 1 to 128 of A-Z a-z 0-9 - and _.  Names of objects are any UTF-8 of 1 to 1,024
 * bytes without NUL, told apart byte by byte; a name that is not valid UTF-8 is ASH_EINVAL, as
 * neither BSON nor JSON has room for it.  Maps (metadata, headers) are BSON documents: metadata has
 * strings, headers have arrays of strings (a string alone is taken for an array of one).  Name,
 * description, headers, metadata and tags of an object are at most 64 KiB together (ASH_ETOOBIG).
 *
 * Each change of an object is one commit, durable when the call returns 0 (ash_op.durability may say
 * otherwise), and has a revision, a number that grows with each change in the store.  A crash or a
 * failure leaves the object of before or of after; bytes that then belong to nobody are found by
 * ash_object_store_sweep().  Where a backend needs several commits for something, this is said.
 * Docs needs transactions for changes: on a single MongoDB server they are ASH_EUNSUPPORTED.  What
 * else a backend cannot do (ash_object_capabilities) is ASH_EUNSUPPORTED by name, and never left
 * out in silence.
 *
 * Every call takes an ash_op (NULL: none): deadline, cancel flag, durability.  With
 * op->transaction a call is part of the caller's transaction; those that cannot be are ASH_ESTATE.
 *
 * Threads: managers and stores may be used by any number of threads; writers, readers, listings and
 * watches belong to one at a time.  An ash_object and a status do not change, and may be read by
 * any number.
 *
 * Pointers must not be NULL unless a comment allows it.  Allowed everywhere: options and op (NULL:
 * the defaults), err (NULL: only the code is wanted), ash_object results that nobody wants, and what
 * a free or close function is given.  Any other NULL is a bug of the caller and ends the program.
 *
 * Common errors: ASH_ENOTFOUND no such store, or no such object: one that is deleted or expired
 * counts as none; ASH_EINVAL names and options that cannot be; ASH_EREADONLY the store is sealed,
 * or a mirror; ASH_ECONDITION a condition of the caller does not hold; ASH_ECONFLICT somebody else's
 * change came first, look again; ASH_ENOSPC a limit of the store (the text says which);
 * ASH_ECORRUPT bytes that do not give their digest; ASH_ECHUNKMISSING bytes that the archive should
 * have and has not; ASH_ELOST the fence's lock is not held any more.
 * After any failure the object is as before. */

#include <ashlar/bucket.h>
#include <ashlar/digest.h>
#include <ashlar/lock.h>
#include <ashlar/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     ash_error err = ASH_ERROR_INIT;
 *     ash_object_manager *manager = NULL;
 *     ash_object_store *store = NULL;
 *     ash_object_config config = ASH_OBJECT_CONFIG_INIT;
 *     ash_object_meta meta = ASH_OBJECT_META_INIT;
 *     config.name = "pictures";
 *     meta.name = "cat.jpg";
 *     int rc = ash_object_manager_open("./files", NULL, &manager, &err);
 *     if (rc == 0)
 *         rc = ash_object_manager_create(manager, &config, NULL, &store, &err);
 *     if (rc == 0)
 *         rc = ash_object_store_put_bytes(store, &meta, "bytes", 5, NULL, NULL, NULL, &err);
 *     if (rc != 0)
 *         fprintf(stderr, "%s\n", err.text);
 *     ash_object_store_close(store);
 *     ash_object_manager_close(manager);
 */

typedef struct ash_object_manager ash_object_manager;
typedef struct ash_object_store ash_object_store;
typedef struct ash_object_status ash_object_status;
typedef struct ash_object_status_listing ash_object_status_listing;
typedef struct ash_object ash_object;
typedef struct ash_object_listing ash_object_listing;
typedef struct ash_object_writer ash_object_writer;
typedef struct ash_object_reader ash_object_reader;
typedef struct ash_object_watch ash_object_watch;

#define ASH_OBJECT_CHUNK_SIZE_DEFAULT (128 * 1024)
#define ASH_OBJECT_LINK_DEPTH         8 /* links that are followed one after the other */

/* ---- managers ---- */

typedef struct ash_object_manager_options {
    size_t size;
    const char *db;   /* docs; NULL: the store's default database */
    bool must_exist;  /* docs: do not create a missing folder: ASH_ENOTFOUND */
    bool no_server;   /* docs: as in ash_store_options */
    const char *user; /* jetstream, in place of what the URI says; with `password` … */
    const char *password;
    const char *token;         /* … or a token, … */
    const char *nkey_file;     /* … or the file of an NKey's seed, … */
    const char *credentials;   /* … or a credentials file */
    const char *tls_ca_file;   /* jetstream; NULL: the system's */
    const char *tls_cert_file; /* with tls_key_file */
    const char *tls_key_file;
    const char *domain; /* jetstream; NULL: none */
    int64_t timeout_ms; /* jetstream, of each request; 0: 5000 */
} ash_object_manager_options;
#define ASH_OBJECT_MANAGER_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_manager_options)

/* uri: as above.  *out is yours: ash_object_manager_close().  No secret of uri or opts stands in an
 * error's text.  ASH_EUNSUPPORTED: this build lacks the backend. */
int ash_object_manager_open(const char *uri, const ash_object_manager_options *opts,
                            ash_object_manager **out, ash_error *err);
/* Is it an address of ash_store_open(), too, on whose store a manager may be made?  false also for
 * what nothing here opens. */
bool ash_object_uri_is_store(const char *uri);
/* Docs, on a store that is open and stays so until the manager is closed. */
int ash_object_manager_new(ash_store *store, const ash_object_manager_options *opts,
                           ash_object_manager **out, ash_error *err);
/* Its stores, listings and watches first.  NULL is fine. */
void ash_object_manager_close(ash_object_manager *m);

/* What a backend can do on this store or server. */
typedef struct ash_object_capabilities {
    size_t size;
    const char *backend; /* to be shown: "docs", "jetstream" */
    bool changes;        /* puts and the like: false on a MongoDB server without transactions */
    bool transactions;   /* ash_op.transaction */
    bool metadata;       /* of stores */
    bool compression;    /* of stores */
    bool placement;      /* replicas, cluster, placement_tags, storage in memory */
    bool versions;       /* keep rules; listing, reading, restoring and pruning versions */
    bool locks;          /* ash_object_store_lock(), fences, lock events */
    bool indexed_tags;   /* a filter on tags does not look at all objects */
    bool object_ttl;     /* of single objects */
    bool limits;         /* max_object_bytes, max_objects */
    bool atomic_rename;  /* in one commit */
    bool encoding;       /* of chunks */
    bool digests;        /* other than SHA-256 */
    bool archive;        /* as a source */
    bool tombstone_ttl;
    bool chunk_sizes; /* of stores */
} ash_object_capabilities;
#define ASH_OBJECT_CAPABILITIES_INIT ASH_OPTIONS_INIT(ash_object_capabilities)
int ash_object_manager_capabilities(ash_object_manager *m, ash_object_capabilities *out,
                                    ash_error *err);

typedef enum ash_object_storage {
    ASH_OBJECT_STORAGE_FILE = 0,
    ASH_OBJECT_STORAGE_MEMORY /* jetstream */
} ash_object_storage;

/* How a store is to be.  0 and NULL are defaults. */
typedef struct ash_object_config {
    size_t size;
    const char *name;
    const char *description;
    const bson_t *metadata;       /* strings */
    int64_t ttl_ms;               /* objects live so long after their put; 0: for ever */
    int64_t max_bytes;            /* of all that is kept, meta included; 0: any number */
    ash_object_storage storage;   /* never changes */
    int32_t replicas;             /* jetstream; 0: 1 */
    const char *cluster;          /* jetstream: placement */
    const bson_t *placement_tags; /* jetstream: array of strings */
    bool compression;             /* jetstream: s2.  docs: new objects are encoded with zstd where
                                     they say nothing */
    /* Beyond the ADR. */
    int32_t keep_last;        /* earlier versions of each object that are kept; 0: none, < 0: all */
    int64_t keep_within_ms;   /* and those that were current within that time; 0: none */
    int64_t tombstone_ttl_ms; /* what is left of deleted objects is forgotten after it; 0: never */
    int64_t max_object_bytes; /* 0: any number */
    int64_t max_objects;      /* live ones, links among them; 0: any number */
    int32_t chunk_size;       /* of objects that say nothing; 0: 128 KiB */
    ash_digest_kind digest;   /* likewise; 0: SHA-256 */
} ash_object_config;
#define ASH_OBJECT_CONFIG_INIT ASH_OPTIONS_INIT(ash_object_config)

/* Makes a store, or binds to the one that is there with the same configuration.  ASH_EEXISTS: there
 * is one with another.  ASH_EUNSUPPORTED: a field that the backend or this server does not have, by
 * its name; nothing was made.  *out (may be NULL) is yours: ash_object_store_close(). */
int ash_object_manager_create(ash_object_manager *m, const ash_object_config *config,
                              const ash_op *op, ash_object_store **out, ash_error *err);
/* Bind to a store that is there. */
int ash_object_manager_bind(ash_object_manager *m, const char *name, const ash_op *op,
                            ash_object_store **out, ash_error *err);
/* Another configuration for the store of that name, whole: take what ash_object_status_config() gives
 * and change that.  name and storage stay (ASH_EINVAL).  ASH_ENOSPC: it has more bytes than max_bytes
 * already.  ASH_EUNSUPPORTED as for create.  After a failure nothing was changed.  On
 * docs, `ttl_ms`, `digest`, `chunk_size` and `compression` are for objects put from then on; on
 * JetStream ttl_ms counts for those that are there, too. */
int ash_object_manager_update(ash_object_manager *m, const ash_object_config *config,
                              const ash_op *op, ash_error *err);
/* With all that it holds, also when it is sealed.  Whoever has it bound gets ASH_ENOTFOUND from then
 * on. */
int ash_object_manager_delete(ash_object_manager *m, const char *name, const ash_op *op,
                              ash_error *err);
/* All stores, by name.  *out is yours: ash_object_status_listing_free(). */
int ash_object_manager_list(ash_object_manager *m, const ash_op *op,
                            ash_object_status_listing **out, ash_error *err);
/* Docs: the names of all collections that are part of object stores, appended to an array, so that
 * who copies or looks after collections can leave them to the object stores. */
int ash_object_manager_collections(ash_object_manager *m, const ash_op *op, bson_t *names,
                                   ash_error *err);
/* Borrowed until the next call on the listing; NULL at the end. */
int ash_object_status_listing_next(ash_object_status_listing *l, const ash_object_status **out,
                                   ash_error *err);
void ash_object_status_listing_free(ash_object_status_listing *l);

/* ---- a store ---- */

/* Readers, writers, listings, watches and locks of it first.  NULL is fine. */
void ash_object_store_close(ash_object_store *s);
const char *ash_object_store_name(const ash_object_store *s);
ash_object_manager *ash_object_store_manager(const ash_object_store *s);

/* *out is yours: ash_object_status_free(). */
int ash_object_store_status(ash_object_store *s, const ash_op *op, ash_object_status **out,
                            ash_error *err);
void ash_object_status_free(ash_object_status *st);
/* What the store was made with or changed to; what the server chose where nothing was said.
 * Pointers are borrowed until the status is freed. */
int ash_object_status_config(const ash_object_status *st, ash_object_config *out, ash_error *err);
const char *ash_object_status_name(const ash_object_status *st);
bool ash_object_status_is_sealed(const ash_object_status *st);
bool ash_object_status_is_compressed(const ash_object_status *st);
int64_t ash_object_status_bytes(const ash_object_status *st);       /* of all data, meta included */
int64_t ash_object_status_objects(const ash_object_status *st);     /* live; -1: not known */
int64_t ash_object_status_created_ms(const ash_object_status *st);  /* since 1970 */
uint64_t ash_object_status_revision(const ash_object_status *st);   /* of the newest change */
const char *ash_object_status_backing(const ash_object_status *st); /* "JetStream", "Ashlar" */

/* No changes from then on, by any client, for ever.  Once more: nothing.  Expiry goes on. */
int ash_object_store_seal(ash_object_store *s, const ash_op *op, ash_error *err);

/* ---- objects ---- */

/* An object has its own copy of everything. */
void ash_object_free(ash_object *o);
/* Yours, to keep what was borrowed. */
ash_object *ash_object_copy(const ash_object *o);
const char *ash_object_name(const ash_object *o);
const char *ash_object_store_of(const ash_object *o);    /* the ADR's bucket */
const char *ash_object_description(const ash_object *o); /* "" when there is none */
const char *ash_object_nuid(const ash_object *o);        /* of its bytes; "" for links */
int64_t ash_object_size(const ash_object *o);            /* bytes */
int64_t ash_object_chunks(const ash_object *o);
int32_t ash_object_chunk_size(const ash_object *o);
/* As the ADR has it, "SHA-256=" and URL-safe base64; "" for links and deleted ones.  A client's
 * digest in another notation is brought into this one where that is possible. */
const char *ash_object_digest(const ash_object *o);
int64_t ash_object_modified_ms(const ash_object *o); /* since 1970: of the commit */
bool ash_object_is_deleted(const ash_object *o);
bool ash_object_is_link(const ash_object *o);           /* to an object or a store */
const char *ash_object_link_store(const ash_object *o); /* NULL: it is no link */
const char *ash_object_link_name(const ash_object *o);  /* NULL: to the whole store */
/* Static views; false where there is none. */
bool ash_object_headers(const ash_object *o, bson_t *out);  /* arrays of strings */
bool ash_object_metadata(const ash_object *o, bson_t *out); /* strings */
const char *ash_object_content_type(const ash_object *o);   /* header Content-Type; or NULL */
size_t ash_object_tag_count(const ash_object *o);
const char *ash_object_tag(const ash_object *o, size_t index); /* NULL behind the last */
uint64_t ash_object_revision(const ash_object *o);             /* of its last change */
int64_t ash_object_expires_ms(const ash_object *o);            /* 0: never */
int64_t ash_object_ended_ms(const ash_object *o); /* of a version: since when it is not current */
bool ash_object_is_archived(const ash_object *o); /* its bytes are in another store */
const char *ash_object_encoding(const ash_object *o); /* of its stored chunks: "zstd", or NULL */
/* All of it as a document, which is what filters see: {name, description?, headers?, metadata?,
 * tags?, options? {link?, max_chunk_size?}, bucket, nuid, size, chunks, digest?, deleted?, mtime
 * (date), revision, expires? (date), …}. */
ash_doc ash_object_document(const ash_object *o);

/* The ADR's ObjectInfo as it is stored, in JSON: no mtime; tags as the header Ashlar-Tags.  *out is
 * yours: ash_object_string_free(). */
int ash_object_to_json(const ash_object *o, char **out, ash_error *err);
/* len: of json, which need not end with NUL.  Unknown fields are kept; a mtime is read, for whoever
 * has no better one.  *out is yours. */
int ash_object_from_json(const char *json, size_t len, ash_object **out, ash_error *err);
void ash_object_string_free(char *text);

/* What is said of an object when it is put or changed.  There is no link in it: links are made by
 * ash_object_store_link(). */
typedef struct ash_object_meta {
    size_t size;
    const char *name;
    const char *description; /* changing: NULL leaves it, "" takes it away, and so on */
    const bson_t *headers;
    const bson_t *metadata;
    const char *content_type; /* header Content-Type */
    const bson_t *tags;       /* array of strings, each 1 to 255 bytes */
    int32_t chunk_size;       /* put alone, as all below; 0: the store's */
    ash_digest_kind digest;   /* 0: the store's */
    const char *encoding;     /* "zstd", "none"; NULL: the store's */
} ash_object_meta;
#define ASH_OBJECT_META_INIT ASH_OPTIONS_INIT(ash_object_meta)

/* What every change may say.  Conditions are looked at in the commit. */
typedef struct ash_object_change_options {
    size_t size;
    uint64_t if_revision; /* the name's object, deleted or not, has it; 0: any */
    bool if_absent;       /* there is no live object of the name */
    int64_t ttl_ms;       /* put, link, restore: the object's own, where it ends before the store's;
                             0: the store's */
    const ash_fence *fence; /* of ash_object_store_lock() */
} ash_object_change_options;
#define ASH_OBJECT_CHANGE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_change_options)

/* ---- putting ---- */

/* A new object, or new bytes for one.  Nothing is visible before finish: readers have the old one
 * until then, and keep it when this fails.  Holds at most a few MiB.  *out is yours:
 * ash_object_writer_free(). */
int ash_object_store_open_writer(ash_object_store *s, const ash_object_meta *meta,
                                 const ash_object_change_options *opts, const ash_op *op,
                                 ash_object_writer **out, ash_error *err);
/* Takes all bytes or fails; after a failure only free is allowed (ASH_ESTATE). */
int ash_object_writer_write(ash_object_writer *w, const void *data, size_t len, ash_error *err);
/* No more bytes: all of them are stored, and the digest is known.  Once more: nothing. */
int ash_object_writer_seal(ash_object_writer *w, ash_error *err);
/* The object is there, and durable, when this returns 0.  op NULL: as the writer was opened with.
 * With op->transaction the writer has to be sealed before (ASH_ESTATE).  ASH_ENETWORK and
 * ASH_ETIMEOUT may mean that it is there all the same. */
int ash_object_writer_finish(ash_object_writer *w, const ash_op *op, ash_object **out,
                             ash_error *err);
/* Before finish: forgets the bytes; never commits.  NULL is fine. */
void ash_object_writer_free(ash_object_writer *w);
/* The same from a stream, read to its end … */
int ash_object_store_put(ash_object_store *s, const ash_object_meta *meta, const ash_input *in,
                         const ash_object_change_options *opts, const ash_op *op, ash_object **out,
                         ash_error *err);
/* … and from memory.  data may be NULL when len is 0. */
int ash_object_store_put_bytes(ash_object_store *s, const ash_object_meta *meta, const void *data,
                               size_t len, const ash_object_change_options *opts, const ash_op *op,
                               ash_object **out, ash_error *err);

/* ---- getting ---- */

typedef struct ash_object_read_options {
    size_t size;
    uint64_t revision; /* that version of the name; 0: the current one */
    bool deleted;      /* deleted objects, too: they have no bytes */
    bool no_follow;    /* a link itself.  Info does not follow unless `follow`, readers do */
    bool follow;       /* info: what a link leads to */
    bool unverified;   /* do not compare the digest when all bytes were read */
    int64_t start;     /* first byte */
    int64_t end;       /* first byte not wanted; 0: to the end.  Not 0 <= start <= end <= size:
                          ASH_EINVAL */
    bool has_chunk;    /* just that chunk … */
    int64_t chunk;     /* … from 0; then no start and end */
    int64_t max_bytes; /* get_bytes: ASH_ETOOBIG for more; 0: 1 GiB */
} ash_object_read_options;
#define ASH_OBJECT_READ_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_read_options)

/* What is said of an object, without its bytes. */
int ash_object_store_info(ash_object_store *s, const char *name,
                          const ash_object_read_options *opts, const ash_op *op, ash_object **out,
                          ash_error *err);
/* Bytes of one revision.  Links are followed, also into other stores of the manager:
 * ASH_ENOTFOUND where they lead to nothing, ASH_EINVAL where they lead to a whole store, or to each
 * other (ASH_OBJECT_LINK_DEPTH); ASH_ECORRUPT, unless `unverified`: the digest is in no notation
 * that is known.  *out is yours. */
int ash_object_store_open_reader(ash_object_store *s, const char *name,
                                 const ash_object_read_options *opts, const ash_op *op,
                                 ash_object_reader **out, ash_error *err);
/* Borrowed until free: what is read, behind all links. */
const ash_object *ash_object_reader_object(const ash_object_reader *r);
/* *got 0 at the end, and only there.  Read from the first byte to the last, the digest is compared:
 * ASH_ECORRUPT from the read that reaches the end, so that bytes count only when the end came.
 * ASH_ECONFLICT: the object was changed or deleted meanwhile, and the backend does not keep what is
 * being read (docs on a folder does). */
int ash_object_reader_read(ash_object_reader *r, void *buf, size_t len, size_t *got,
                           ash_error *err);
/* Absolute, within the range; what is read afterwards is not compared with the digest. */
int ash_object_reader_seek(ash_object_reader *r, int64_t position, ash_error *err);
int64_t ash_object_reader_position(const ash_object_reader *r);
void ash_object_reader_free(ash_object_reader *r);
/* All of it (or the range) into a stream … */
int ash_object_store_get(ash_object_store *s, const char *name, const ash_output *to,
                         const ash_object_read_options *opts, const ash_op *op, ash_object **out,
                         ash_error *err);
/* … and into memory, which is yours: ash_object_bytes_free().  *data is never NULL on success. */
int ash_object_store_get_bytes(ash_object_store *s, const char *name,
                               const ash_object_read_options *opts, const ash_op *op,
                               uint8_t **data, size_t *len, ash_error *err);
void ash_object_bytes_free(uint8_t *data);

/* ---- changing ---- */

/* Description, headers, metadata, tags and type; with meta->name another name.  Objects and links
 * alike.  ASH_EEXISTS: a live object has the new name; a deleted one makes way. */
int ash_object_store_update_meta(ash_object_store *s, const char *name, const ash_object_meta *meta,
                                 const ash_object_change_options *opts, const ash_op *op,
                                 ash_object **out, ash_error *err);
/* Info stays, with `deleted`, until its tombstone is forgotten.  Once more: nothing, and *out is
 * that info.  ASH_ENOTFOUND: there never was one. */
int ash_object_store_delete(ash_object_store *s, const char *name,
                            const ash_object_change_options *opts, const ash_op *op,
                            ash_object **out, ash_error *err);
/* name: of the link, over a free name, a deleted object or another link; ASH_EEXISTS: a live object
 * has it.  target: as it was looked up, of this or another store of the manager; not a link and not
 * deleted (ASH_EINVAL). */
int ash_object_store_link(ash_object_store *s, const char *name, const ash_object *target,
                          const ash_object_change_options *opts, const ash_op *op, ash_object **out,
                          ash_error *err);
/* The same to a whole store, which need not be there. */
int ash_object_store_link_store(ash_object_store *s, const char *name, const char *target,
                                const ash_object_change_options *opts, const ash_op *op,
                                ash_object **out, ash_error *err);
/* When it ends; 0: with the store's ttl.  ASH_EINVAL: later than that. */
int ash_object_store_set_expiry(ash_object_store *s, const char *name, int64_t expires_ms,
                                const ash_object_change_options *opts, const ash_op *op,
                                ash_object **out, ash_error *err);

/* ---- listing, searching ---- */

typedef struct ash_object_list_options {
    size_t size;
    bool deleted;            /* deleted ones, too */
    bool by_name;            /* byte by byte; else in the order of their last change */
    const char *prefix;      /* of names; or NULL */
    const char *after;       /* with by_name: names behind this one, which need not exist */
    uint64_t after_revision; /* without: changed after it */
    int64_t limit;           /* 0: all */
    const bson_t *filter;    /* MongoDB's, over ash_object_document(); or NULL: {"tags": "holiday"},
                                {"metadata.owner": "me"}, {"size": {"$gt": 1000}} */
} ash_object_list_options;
#define ASH_OBJECT_LIST_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_list_options)

/* Live objects and links.  None: an empty listing.  *out is yours: ash_object_listing_free(). */
int ash_object_store_list(ash_object_store *s, const ash_object_list_options *opts,
                          const ash_op *op, ash_object_listing **out, ash_error *err);
/* Borrowed until the next call on the listing; NULL at the end. */
int ash_object_listing_next(ash_object_listing *l, const ash_object **out, ash_error *err);
void ash_object_listing_free(ash_object_listing *l);

/* ---- changes as they happen ---- */

typedef enum ash_object_event_kind {
    ASH_OBJECT_PUT = 1, /* new, changed, restored, a link */
    ASH_OBJECT_DELETED, /* `object` is what is left */
    ASH_OBJECT_REMOVED, /* the name is gone without a deletion: renamed, expired, or its tombstone
                            was forgotten; `object` is NULL */
    ASH_OBJECT_CURRENT, /* once: everything that was there has been told */
    ASH_OBJECT_LOCKED,  /* somebody got the lock of that name; `object` is NULL */
    ASH_OBJECT_UNLOCKED
} ash_object_event_kind;

typedef struct ash_object_event {
    size_t size;
    ash_object_event_kind kind; /* 0: nothing came in time */
    bool initial;               /* it was there when the watch began */
    const char *name;           /* valid until the next call, as what follows */
    const ash_object *object;
} ash_object_event;
#define ASH_OBJECT_EVENT_INIT ASH_OPTIONS_INIT(ash_object_event)

typedef struct ash_object_watch_options {
    size_t size;
    bool updates_only;   /* nothing that was there before, and no CURRENT */
    bool history;        /* earlier versions first, as far as they are kept */
    bool ignore_deletes; /* neither DELETED nor REMOVED */
    bool locks;          /* LOCKED and UNLOCKED, too */
    const char *prefix;  /* of names; or NULL */
} ash_object_watch_options;
#define ASH_OBJECT_WATCH_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_watch_options)

/* First what there is, in the order of the last change, deleted objects among it; then CURRENT; then
 * changes in their order.  *out is yours: ash_object_watch_close(). */
int ash_object_store_watch(ash_object_store *s, const ash_object_watch_options *opts,
                           const ash_op *op, ash_object_watch **out, ash_error *err);
/* Waits at most timeout_ms; 0: does not wait.  ASH_ECURSOR: so much happened that some of it was
 * lost, begin anew. */
int ash_object_watch_next(ash_object_watch *w, int64_t timeout_ms, ash_object_event *out,
                          ash_error *err);
void ash_object_watch_close(ash_object_watch *w);

/* ---- versions ---- */

/* What a name had, newest first, the current one and deletions among them, as far as the store keeps
 * them. */
int ash_object_store_versions(ash_object_store *s, const char *name, int64_t limit,
                              const ash_op *op, ash_object_listing **out, ash_error *err);
/* Bytes and all that was said of an earlier version become the current one again; no bytes are
 * copied. */
int ash_object_store_restore(ash_object_store *s, const char *name, uint64_t revision,
                             const ash_object_change_options *opts, const ash_op *op,
                             ash_object **out, ash_error *err);

/* Each object that something is done with; false stops (ASH_EINTERRUPTED), and what was done stays.
 * o: borrowed for the call. */
typedef bool (*ash_object_fn)(void *ctx, const ash_object *o);

typedef struct ash_object_prune_options {
    size_t size;
    const char *name;       /* of this object; NULL: of all */
    bool by_rule;           /* as here, not as the store is configured */
    int32_t keep_last;      /* < 0: all */
    int64_t keep_within_ms; /* 0: none for their age */
    bool dry_run;
    ash_object_fn each; /* version that goes, or would; or NULL */
    void *each_ctx;
} ash_object_prune_options;
#define ASH_OBJECT_PRUNE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_prune_options)
typedef struct ash_object_prune_report {
    size_t size;
    int64_t versions; /* that went, or would */
    int64_t bytes;    /* that came back */
} ash_object_prune_report;
#define ASH_OBJECT_PRUNE_REPORT_INIT ASH_OPTIONS_INIT(ash_object_prune_report)
/* Forget versions that no rule keeps; small commits. */
int ash_object_store_prune(ash_object_store *s, const ash_object_prune_options *opts,
                           const ash_op *op, ash_object_prune_report *report, ash_error *err);

/* ---- locks ---- */

/* A lock (ashlar/lock.h) for an object's name, which need not exist.  Whoever asks for it waits for
 * others who do; puts are kept away by nothing but a fence (ash_lock_fence()).  *out is yours:
 * ash_lock_free(), before the store is closed. */
int ash_object_store_lock(ash_object_store *s, const char *name, const ash_lock_options *opts,
                          ash_lock **out, ash_error *err);

/* ---- other stores ---- */

typedef struct ash_object_copy_options {
    size_t size;
    const char *prefix;   /* of names; or NULL */
    const bson_t *filter; /* as in ash_object_list_options */
    bool deleted;         /* delete in the target what is deleted in the source */
    bool keep_existing;   /* leave objects of the target that are another: counted as skipped */
    bool dry_run;
    ash_object_fn each; /* that is copied, or would be, when it has arrived; or NULL */
    void *each_ctx;
    ash_progress_fn progress; /* "bytes", done, all that there are to copy */
    void *progress_ctx;
    bool versions;        /* what a name had before, too, oldest first, where both stores keep it */
    bool refuse_existing; /* as keep_existing, but counted as failed: ASH_EEXISTS.  With `versions`
                             an earlier version of the source is no other object */
    /* Each that is left out, and why; or NULL.  Borrowed for the call. */
    void (*failed)(void *ctx, const ash_object *o, const ash_error *why);
    void *failed_ctx;
} ash_object_copy_options;
#define ASH_OBJECT_COPY_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_copy_options)
typedef struct ash_object_copy_report {
    size_t size;
    int64_t objects; /* that were copied, or would be, links among them */
    int64_t bytes;
    int64_t skipped; /* that the target has already */
    int64_t failed;
    int64_t versions; /* earlier ones that were copied, or would be, deletions among them */
} ash_object_copy_report;
#define ASH_OBJECT_COPY_REPORT_INIT ASH_OPTIONS_INIT(ash_object_copy_report)
/* Between any two stores: bytes, and what is said of them.  to may be NULL with dry_run: what a store
 * that is yet to be made, configured as `from`, would get.  Digests are compared on both sides.
 * What the target has with the same digest and meta is skipped, so that the same call goes on where
 * it was interrupted.  One that is damaged is counted and left out, the others are brought:
 * ASH_EPARTIAL at the end.  The report is filled in any case.  Revisions and times of change are the
 * target's.  An archived object arrives with its bytes: from the attached archive, or the one of that
 * name beside `from`.  A link takes the place of another object in two commits. */
int ash_object_store_copy(ash_object_store *from, ash_object_store *to,
                          const ash_object_copy_options *opts, const ash_op *op,
                          ash_object_copy_report *report, ash_error *err);

/* Before a copy: what `to` has no room for, by its names, appended to the array `lost`: fields of the
 * configuration, and of objects "digest" and "ttl_ms", for which they are looked at.  opts: as the
 * copy's.  ASH_EUNSUPPORTED: `to` takes no changes at all. */
int ash_object_store_losses(ash_object_store *from, ash_object_manager *to,
                            const ash_object_copy_options *opts, const ash_op *op, bson_t *lost,
                            ash_error *err);
/* A configuration as far as m has it.  Without `versions` no earlier ones are kept where m cannot.
 * What is left out is appended to the array `lost` (or NULL), but for where data lies (storage,
 * replicas, cluster, placement tags).  Pointers stay those of config. */
int ash_object_config_fit(const ash_object_config *config, ash_object_manager *m, bool versions,
                          ash_object_config *out, bson_t *lost, ash_error *err);

typedef struct ash_object_archive_options {
    size_t size;
    bool back;             /* the other way round: bytes come back from the archive */
    const char *prefix;    /* of names; or NULL */
    int64_t older_than_ms; /* since the last change; 0: any age */
    int64_t min_bytes;     /* 0: any size; empty objects and links are never moved */
    const bson_t *filter;
    bool dry_run;
    ash_object_fn each; /* that is moved, or would be, when it has arrived; or NULL */
    void *each_ctx;
} ash_object_archive_options;
#define ASH_OBJECT_ARCHIVE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_archive_options)
typedef struct ash_object_archive_report {
    size_t size;
    int64_t objects; /* that were moved, or would be */
    int64_t bytes;
    int64_t failed;
} ash_object_archive_report;
#define ASH_OBJECT_ARCHIVE_REPORT_INIT ASH_OPTIONS_INIT(ash_object_archive_report)
/* Bytes of objects that the rule takes go to another store, of any manager, as objects that are
 * called after their store and nuid; name and info stay here, and who reads is given the bytes from
 * there.  They are read back and compared before those here go, in a commit that looks whether the
 * object is still the same.  ASH_EINVAL: they are one store. */
int ash_object_store_archive(ash_object_store *s, ash_object_store *archive,
                             const ash_object_archive_options *opts, const ash_op *op,
                             ash_object_archive_report *report, ash_error *err);
/* Where archived bytes are read from; NULL: nowhere (ASH_ESTATE for who needs them).  Not while
 * others use the store; the archive is closed after it. */
void ash_object_store_attach_archive(ash_object_store *s, ash_object_store *archive);

/* ---- looking after a store ---- */

typedef struct ash_object_sweep_options {
    size_t size;
    bool dry_run;
    int64_t min_age_s; /* bytes that no object has, and whoever put them died; 0: 24 hours; < 0: of
                          any age, when nobody puts */
    ash_progress_fn progress;
    void *progress_ctx;
    bool expired_only; /* what has expired, and no look at bytes: quick, by an index where there is
                          one */
} ash_object_sweep_options;
#define ASH_OBJECT_SWEEP_OPTIONS_INIT ASH_OPTIONS_INIT(ash_object_sweep_options)
typedef struct ash_object_sweep_report {
    size_t size;
    int64_t orphans;    /* whose bytes no object had */
    int64_t bytes;      /* of those */
    int64_t expired;    /* objects whose time was over, and … */
    int64_t tombstones; /* … what was left of deleted ones */
} ash_object_sweep_report;
#define ASH_OBJECT_SWEEP_REPORT_INIT ASH_OPTIONS_INIT(ash_object_sweep_report)
/* Safe beside everybody else: a put that was silent for longer than min_age_s keeps its bytes, or
 * fails (ASH_ECONFLICT) before anybody sees its object.  Sealed stores, too. */
int ash_object_store_sweep(ash_object_store *s, const ash_object_sweep_options *opts,
                           const ash_op *op, ash_object_sweep_report *report, ash_error *err);

/* What is over in all object stores of a store, of all its databases: for whoever keeps one open, as
 * a server does, and sweeps it now and then.  It belongs to one thread. */
typedef struct ash_object_reaper ash_object_reaper;
/* The store stays open until the reaper is closed.  *out is yours: ash_object_reaper_close(). */
int ash_object_reaper_open(ash_store *store, ash_object_reaper **out, ash_error *err);
/* Sweeps what has expired (report: `expired`, `tombstones`) where something was changed since the
 * last round or an end has come; of the others it reads the configurations alone.  Trouble with one
 * object store does not keep the others: the first is returned when all had their turn, and it has
 * its turn again in the next round. */
int ash_object_reaper_round(ash_object_reaper *r, const ash_op *op, ash_object_sweep_report *report,
                            ash_error *err);
void ash_object_reaper_close(ash_object_reaper *r); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
