/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/live.h"

#include "http/date.h"
#include "http/dav/dead.h"
#include "http/dav/multistatus.h"
#include "http/dav/xml.h"

#include <string.h>
#include <strings.h>

#define WRITER(name)                                                                               \
    static bool name(const ash_dav_facts *f, const ash_tree_entry *e, const char *path,            \
                     ash_buffer *out)

static bool add_text(ash_buffer *out, const char *name, const char *text)
{
    ash__buffer_append_text(out, "<");
    ash__buffer_append_text(out, name);
    ash__buffer_append_text(out, ">");
    ash__xml_text(out, text);
    ash__buffer_append_text(out, "</");
    ash__buffer_append_text(out, name);
    ash__buffer_append_text(out, ">");
    return true;
}

static bool add_number(ash_buffer *out, const char *name, int64_t n)
{
    ash__buffer_append_text(out, "<");
    ash__buffer_append_text(out, name);
    ash__buffer_append_text(out, ">");
    ash__buffer_append_number(out, n);
    ash__buffer_append_text(out, "</");
    ash__buffer_append_text(out, name);
    ash__buffer_append_text(out, ">");
    return true;
}

WRITER(creation_date)
{
    char text[ASH_DATE_BYTES];
    (void)f;
    (void)path;
    if (ash_tree_entry_created_ms(e) == 0)
        return false;
    ash__date_iso(text, ash_tree_entry_created_ms(e));
    return add_text(out, "D:creationdate", text);
}

WRITER(display_name)
{
    bson_t props;
    bson_iter_t at;
    (void)f;
    (void)path;
    /* Who set one gets it back (as a dead property is). */
    if (ash__dav_props(e, &props) && bson_iter_init_find(&at, &props, "{DAV:}displayname") &&
        BSON_ITER_HOLDS_UTF8(&at)) {
        ash__buffer_printf(out, "<D:displayname>%s</D:displayname>", bson_iter_utf8(&at, NULL));
        return true;
    }
    return add_text(out, "D:displayname", ash_tree_entry_name(e));
}

WRITER(content_length)
{
    (void)f;
    (void)path;
    if (ash_tree_entry_is_folder(e))
        return false;
    return add_number(out, "D:getcontentlength", ash_tree_entry_length(e));
}

WRITER(content_type)
{
    (void)f;
    (void)path;
    return add_text(out, "D:getcontenttype", ash__dav_type(e));
}

WRITER(etag)
{
    char text[ASH_ETAG_BYTES];
    (void)f;
    (void)path;
    ash__dav_etag(e, text);
    /* Its quotes need no escape in an element, and some clients do not resolve any. */
    ash__buffer_append_text(out, "<D:getetag>");
    ash__buffer_append_text(out, text);
    ash__buffer_append_text(out, "</D:getetag>");
    return true;
}

WRITER(last_modified)
{
    char text[ASH_DATE_BYTES];
    (void)f;
    (void)path;
    ash__date_http(text, ash_tree_entry_modified_ms(e));
    return add_text(out, "D:getlastmodified", text);
}

WRITER(resource_type)
{
    (void)f;
    (void)path;
    ash__buffer_append_text(out, ash_tree_entry_is_folder(e)
                                     ? "<D:resourcetype><D:collection/></D:resourcetype>"
                                     : "<D:resourcetype/>");
    return true;
}

WRITER(lock_discovery)
{
    (void)e;
    if (f->locks == NULL || f->locks->count == 0) {
        ash__buffer_append_text(out, "<D:lockdiscovery/>");
        return true;
    }
    ash__buffer_append_text(out, "<D:lockdiscovery>");
    ash__dav_locks_describe(f->dav, f->locks, path, out);
    ash__buffer_append_text(out, "</D:lockdiscovery>");
    return true;
}

WRITER(supported_lock)
{
    (void)f;
    (void)e;
    (void)path;
    ash__buffer_append_text(out, "<D:supportedlock>"
                                 "<D:lockentry><D:lockscope><D:exclusive/></"
                                 "D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>"
                                 "<D:lockentry><D:lockscope><D:shared/></"
                                 "D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>"
                                 "</D:supportedlock>");
    return true;
}

/* RFC 3253 §3.1.5 */
WRITER(supported_reports)
{
    (void)f;
    (void)path;
    ash__buffer_append_text(out, ash_tree_entry_is_folder(e)
                                     ? "<D:supported-report-set/>"
                                     : "<D:supported-report-set><D:supported-report><D:report>"
                                       "<D:version-tree/></D:report></D:supported-report>"
                                       "</D:supported-report-set>");
    return true;
}

WRITER(quota_available)
{
    (void)path;
    if (!ash_tree_entry_is_folder(e) || f->free_bytes < 0)
        return false;
    return add_number(out, "D:quota-available-bytes", f->free_bytes);
}

WRITER(quota_used)
{
    (void)path;
    if (!ash_tree_entry_is_folder(e) || f->used_bytes < 0)
        return false;
    return add_number(out, "D:quota-used-bytes", f->used_bytes);
}

/* ---- what ownCloud's and Nextcloud's clients, and rclone, ask for ---- */

WRITER(oc_checksums)
{
    (void)f;
    (void)path;
    const char *hex = ash_tree_entry_digest(e);
    size_t len = strlen(hex);
    if (len != 64 && len != 40)
        return false;
    ash__buffer_printf(out, "<O:checksums><O:checksum>%s:%s</O:checksum></O:checksums>",
                       len == 64 ? "SHA256" : "SHA1", hex);
    return true;
}

static bool add_id(const ash_tree_entry *e, ash_buffer *out, const char *name)
{
    char hex[25];
    const bson_value_t *id = ash_tree_entry_id(e);
    if (id->value_type != BSON_TYPE_OID)
        return false;
    bson_oid_to_string(&id->value.v_oid, hex);
    return add_text(out, name, hex);
}

WRITER(oc_id)
{
    (void)f;
    (void)path;
    return add_id(e, out, "O:id");
}

WRITER(oc_file_id)
{
    (void)f;
    (void)path;
    return add_id(e, out, "O:fileid");
}

WRITER(oc_size)
{
    (void)f;
    (void)path;
    if (ash_tree_entry_is_folder(e))
        return false;
    return add_number(out, "O:size", ash_tree_entry_length(e));
}

WRITER(oc_permissions)
{
    (void)f;
    (void)path;
    return add_text(out, "O:permissions", ash_tree_entry_is_folder(e) ? "RGDNVCK" : "RGDNVW");
}

const ash_dav_live ash__dav_live[] = {
    {"DAV:", "resourcetype", true, true, resource_type},
    {"DAV:", "getcontentlength", true, true, content_length},
    {"DAV:", "getlastmodified", true, false, last_modified},
    {"DAV:", "getetag", true, true, etag},
    {"DAV:", "getcontenttype", true, true, content_type},
    {"DAV:", "creationdate", true, true, creation_date},
    {"DAV:", "displayname", true, false, display_name},
    {"DAV:", "lockdiscovery", true, true, lock_discovery},
    {"DAV:", "supportedlock", true, true, supported_lock},
    {"DAV:", "supported-report-set", false, true, supported_reports},
    {"DAV:", "quota-available-bytes", false, true, quota_available},
    {"DAV:", "quota-used-bytes", false, true, quota_used},
    {ASH_DAV_OWNCLOUD, "checksums", false, true, oc_checksums},
    {ASH_DAV_OWNCLOUD, "id", false, true, oc_id},
    {ASH_DAV_OWNCLOUD, "fileid", false, true, oc_file_id},
    {ASH_DAV_OWNCLOUD, "size", false, true, oc_size},
    {ASH_DAV_OWNCLOUD, "permissions", false, true, oc_permissions},
    {NULL, NULL, false, false, NULL},
};

const ash_dav_live *ash__dav_live_find(const char *space, const char *name)
{
    for (const ash_dav_live *row = ash__dav_live; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0 && strcmp(row->space, space) == 0)
            return row;
    return NULL;
}

bool ash__dav_live_write(const ash_dav_live *row, const ash_dav_facts *f, const ash_tree_entry *e,
                         const char *path, ash_buffer *out)
{
    return row->write(f, e, path, out);
}

/* ---- quota (RFC 4331) ---- */

static int64_t number_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, doc, field) && BSON_ITER_HOLDS_NUMBER(&at)
               ? bson_iter_as_int64(&at)
               : -1;
}

void ash__dav_facts_read_quota(ash_dav_facts *f)
{
    bson_t stats;
    ash_error err = ASH_ERROR_INIT;
    f->store_used = f->store_free = -1;
    f->has_quotas = false;
    (void)ash_tree_has_quotas(f->dav->tree, NULL, &f->has_quotas, NULL);
    if (ash_store_stats(f->dav->store, ash_store_default_db(f->dav->store), NULL, 1, NULL, &stats,
                        &err) != 0)
        return;
    int64_t used = number_of(&stats, "totalSize");
    int64_t all = number_of(&stats, "fsTotalSize"), taken = number_of(&stats, "fsUsedSize");
    f->store_used = used;
    if (all >= 0 && taken >= 0)
        f->store_free = all > taken ? all - taken : 0;
    bson_destroy(&stats);
}

/* Of the tightest quota above the folder, or of who asks, which counts what there is and what may come
 * together; else of the store and its disk.  How full a folder is that he may not read is not told. */
void ash__dav_facts_turn_to(ash_dav_facts *f, const ash_tree_entry *e)
{
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    f->used_bytes = f->store_used;
    f->free_bytes = f->store_free;
    if (!f->has_quotas || !ash_tree_entry_is_folder(e) ||
        ash_tree_get_quota(f->dav->tree, ash_tree_entry_path(e), f->op, &q, NULL, NULL) != 0 ||
        q.available_bytes < 0)
        return;
    f->used_bytes = q.used_bytes;
    if (f->free_bytes < 0 || q.available_bytes < f->free_bytes)
        f->free_bytes = q.available_bytes;
}
