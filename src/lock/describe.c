/* SPDX-License-Identifier: Apache-2.0 */
/* Why a lock could not be had, in words. */
#include "lock/lock.h"

#include "base/buffer.h"
#include "base/clock.h"

#include <inttypes.h>

/* The package's "never" lies further off than a calendar goes. */
#define CALENDAR_ENDS_MS INT64_C(253402300799000)

static void add_date(ash_buffer *out, const char *word, int64_t ms)
{
    char date[40];
    if (ms <= 0 || ms > CALENDAR_ENDS_MS)
        return;
    ash__clock_print(date, sizeof date, ms);
    ash__buffer_printf(out, "%s%s", word, date);
}

/* Of the first entry in a list of holders or waiters; false when there is none. */
static bool add_first(ash_buffer *out, const bson_t *doc, const char *list, const char *before)
{
    bson_iter_t iter, entries, at;
    bson_t entry;
    uint32_t len;
    const uint8_t *data;
    if (!bson_iter_init_find(&iter, doc, list) || !BSON_ITER_HOLDS_ARRAY(&iter) ||
        !bson_iter_recurse(&iter, &entries) || !bson_iter_next(&entries) ||
        !BSON_ITER_HOLDS_DOCUMENT(&entries))
        return false;
    bson_iter_document(&entries, &len, &data);
    if (!bson_init_static(&entry, data, len))
        return false;
    ash__buffer_printf(out, "%sprocess %" PRId64, before, ash__lock_int(&entry, "pid"));
    if (bson_iter_init_find(&at, &entry, "host") && BSON_ITER_HOLDS_UTF8(&at))
        ash__buffer_printf(out, " on %.100s", bson_iter_utf8(&at, NULL));
    add_date(out, " since ", ash__lock_date(&entry, "since"));
    add_date(out, ", until ", ash__lock_date(&entry, "exp"));
    return true;
}

static bool is_true(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, doc, field) && bson_iter_as_bool(&at);
}

static void add_foreign(ash_buffer *out, const bson_t *doc)
{
    int64_t expires = ash__lock_date(doc, "expires");
    ash__buffer_append_text(out, "another program");
    if (expires > CALENDAR_ENDS_MS)
        ash__buffer_append_text(out, ", for ever");
    else
        add_date(out, ", until ", expires);
}

int ash__lock_refuse(const bson_t *doc, ash_error *err)
{
    ash_buffer text = {0};
    int64_t readers = ash__lock_int(doc, "read_locks");
    if (is_true(doc, "write_lock")) {
        ash__buffer_append_text(&text, "lock is held for writing by ");
        if (!add_first(&text, doc, "holders", ""))
            add_foreign(&text, doc);
    } else if (readers > 0) {
        ash__buffer_printf(&text, "lock is held for reading by %" PRId64 " reader%s: ", readers,
                           readers == 1 ? "" : "s");
        if (!add_first(&text, doc, "holders", ""))
            add_foreign(&text, doc);
    } else { /* free, but a writer is in front, or readers have their turn */
        ash__buffer_append_text(&text, "others asked for the lock before");
        add_first(&text, doc, "waiters", ": ");
    }
    int rc = ash__fail(err, ASH_ELOCKED, "%s", ash__buffer_text(&text));
    ash__buffer_release(&text);
    return rc;
}
