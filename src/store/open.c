/* SPDX-License-Identifier: Apache-2.0 */
/* From an address to a store: options are completed, and the first backend that accepts the address
 * opens it.  A folder may be held by a server; then that is reached instead. */

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "store/call.h"
#include "store/reach.h"

#include <string.h>

#define DEFAULT_DB              "test"
#define DEFAULT_BUSY_TIMEOUT_MS 5000
#define DEFAULT_MAP_BYTES       ((int64_t)1 << 40)
#define DEFAULT_SEGMENT_BYTES   ((int64_t)256 << 20)
#define DEFAULT_TTL_INTERVAL_MS 5000
#define DEFAULT_SLOW_MS         100
#define DEFAULT_PIN_TIMEOUT_MS  600000

static void set_default(int64_t *field, int64_t value)
{
    if (*field == 0)
        *field = value;
}

static int complete_options(ash_store_options *o, const ash_store_options *theirs, ash_error *err)
{
    int rc = ash__options_copy(o, sizeof *o, theirs, err);
    if (rc != 0)
        return rc;
    if (o->map_bytes < 0 || o->segment_bytes < 0 || o->oplog_bytes < 0)
        return ash__fail(err, ASH_EINVAL, "sizes in store options must not be negative");
    if (o->default_db != NULL && ash__namespace_check(o->default_db, NULL, err) != 0)
        return ASH_EINVAL;
    if (o->durability == ASH_DURABILITY_DEFAULT)
        o->durability = ASH_DURABILITY_FILE;
    set_default(&o->busy_timeout_ms, DEFAULT_BUSY_TIMEOUT_MS);
    set_default(&o->map_bytes, DEFAULT_MAP_BYTES);
    set_default(&o->segment_bytes, DEFAULT_SEGMENT_BYTES);
    set_default(&o->ttl_interval_ms, DEFAULT_TTL_INTERVAL_MS);
    set_default(&o->slow_ms, DEFAULT_SLOW_MS);
    set_default(&o->pin_timeout_ms, DEFAULT_PIN_TIMEOUT_MS);
    return 0;
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int no_backend(const char *uri, ash_error *err)
{
    /* The most likely reason in words: what this build lacks, or what nobody has. */
    const char *colon = strstr(uri, "://");
    if (uri[0] == '\0')
        return ash__fail(err, ASH_EINVAL, "store URI is empty");
    if (has_prefix(uri, "mongodb://") || has_prefix(uri, "mongodb+srv://") ||
        has_prefix(uri, ASH_REACH_SCHEME))
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "this build has no MongoDB backend (built without libmongoc)");
    if (has_prefix(uri, "nats://") || has_prefix(uri, "tls://"))
        return ash__fail(err, ASH_EUNSUPPORTED, "a NATS server has object stores alone");
    if (colon != NULL && !has_prefix(uri, "file://"))
        return ash__fail(err, ASH_EUNSUPPORTED, "this build has no backend for %.*s:// URIs",
                         (int)(colon - uri), uri);
    return ash__fail(err, ASH_EUNSUPPORTED, "this build has no embedded backend");
}

static int open_by_backend(const char *uri, const ash_store_options *o, ash_store **out,
                           ash_error *err)
{
    for (const ash_backend *const *b = ash__backends; *b != NULL; b++) {
        char *db = NULL;
        int rc;
        if (!(*b)->accepts(uri))
            continue;
        rc = (*b)->open(uri, o, out, &db, err);
        if (rc == 0) {
            const char *name = o->default_db != NULL ? o->default_db : db;
            (*out)->default_db = ash__strdup(name != NULL ? name : DEFAULT_DB);
            (*out)->read_only = o->read_only;
        }
        ash__free(db);
        return rc;
    }
    return no_backend(uri, err);
}

/* The store of a folder whose server answers.  ASH_EBUSY when it went away meanwhile. */
static int open_by_server(const char *server, const ash_store_options *o, ash_store **out,
                          ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    int rc = open_by_backend(server, o, out, &why);

    if (rc == ASH_ENETWORK)
        return ash__fail(err, ASH_EBUSY, "the server that held the folder has gone");
    if (rc != 0 && err != NULL)
        *err = why;
    return rc;
}

/* How often a held folder and its server are looked at again. */
#define LOOK_AGAIN_MS 25

/* One attempt: take the folder, else reach the server that has it.  Only the attempt to take it
 * tells whether it is held: the socket may be a leftover. */
static int try_folder(const char *uri, const char *folder, const ash_store_options *o,
                      ash_store **out, ash_error *err)
{
    ash_store_options at_once = *o;
    /* The wait is open_folder's, which looks at the server as well each time round. */
    at_once.busy_timeout_ms = -1;
    int rc = open_by_backend(uri, &at_once, out, err);
    if (rc != ASH_EBUSY)
        return rc;
    char *server = ash__reach_server_uri(folder);
    ash_error why = ASH_ERROR_INIT;
    if (server != NULL)
        rc = open_by_server(server, o, out, &why);
    if (server != NULL && rc != 0 && rc != ASH_EBUSY && err != NULL)
        *err = why; /* a busy folder keeps its own words */
    ash__free(server);
    return rc;
}

/* A server takes the folder a moment before it answers and lets it go a moment after, so both are
 * looked at again until one of them works or the time is over. */
static int open_folder(const char *uri, const char *folder, const ash_store_options *o,
                       ash_store **out, ash_error *err)
{
    int64_t deadline = ash__clock_deadline(o->busy_timeout_ms);
    for (;;) {
        /* A server that went away may have cost all the time, with the folder free since.  Without a
         * deadline (a timeout below 0) one look is all. */
        bool last = deadline == 0 || ash__clock_ms() >= deadline;
        int rc = try_folder(uri, folder, o, out, err);
        if (rc != ASH_EBUSY || last)
            return rc;
        ash__clock_sleep_ms(LOOK_AGAIN_MS);
    }
}

int ash_store_open(const char *uri, const ash_store_options *opts, ash_store **out, ash_error *err)
{
    ash_store_options o;
    char *folder = NULL;
    int rc = complete_options(&o, opts, err);

    *out = NULL;
    if (rc != 0)
        return rc;
    if (!o.no_server)
        folder = ash__reach_folder(uri);
    if (folder != NULL)
        rc = open_folder(uri, folder, &o, out, err);
    else
        rc = open_by_backend(uri, &o, out, err);
    ash__free(folder);
    return rc;
}
