/* SPDX-License-Identifier: Apache-2.0 */
/* A folder as one file, made while it is sent: nothing of it is kept anywhere. */
#include <archive.h>
#include <archive_entry.h>

#include "base/log.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/dav/bytes.h"
#include "http/site/state.h"

#include <locale.h>
#include <string.h>

typedef struct packing {
    const ash_site_mount *mount;
    const ash_op *op; /* who asks */
    char *path;       /* the folder, or the file */
    size_t skip;      /* bytes of paths that stand before the names in the archive */
    int64_t at_ms;
    struct archive *archive;
    ash_tree_listing *listing;
    ash_tree_entry *alone; /* a file that is asked for by itself */
    ash_tree_reader *reader;
    ash_buffer *out;
    bool done;
    locale_t
        locale; /* of UTF-8: libarchive converts names by the thread's, even those that are told in it */
} packing;

static void release(ash_exchange *x)
{
    packing *p = x->state;
    ash_tree_reader_free(p->reader);
    ash_tree_listing_free(p->listing);
    ash_tree_entry_free(p->alone);
    /* Not finished as if it were whole. */
    if (p->archive != NULL) {
        archive_write_fail(p->archive);
        archive_write_free(p->archive);
    }
    if (p->locale != (locale_t)0)
        freelocale(p->locale);
    ash__free(p->path);
    ash__free(p);
}

static la_ssize_t write_out(struct archive *a, void *ctx, const void *data, size_t len)
{
    packing *p = ctx;
    (void)a;
    /* After a failure there is nobody to take it. */
    if (p->out != NULL)
        ash__buffer_append(p->out, data, len);
    return (la_ssize_t)len;
}

/* ---- entries ---- */

static int fail(packing *p, const char *what)
{
    ash__log(ASH_LOG_ERROR, "archive of %s: %s", p->path, what);
    return ASH_EIO;
}

/* Some unpack a name with '\\' as one of a folder, or of one above. */
static void set_name(struct archive_entry *head, const char *path)
{
    char *name = ash__strdup(path);
    for (char *at = name; (at = strchr(at, '\\')) != NULL;)
        *at = '_';
    archive_entry_set_pathname_utf8(head, name);
    ash__free(name);
}

static int begin_entry(packing *p, const ash_tree_entry *e)
{
    ash_error err = ASH_ERROR_INIT;
    struct archive_entry *head = archive_entry_new();
    bool folder = ash_tree_entry_is_folder(e);
    int64_t ms = ash_tree_entry_modified_ms(e);
    set_name(head, ash_tree_entry_path(e) + p->skip);
    archive_entry_set_filetype(head, folder ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(head, folder ? 0755 : 0644);
    archive_entry_set_size(head, folder ? 0 : ash_tree_entry_length(e));
    archive_entry_set_mtime(head, (time_t)(ms / 1000), (long)(ms % 1000) * 1000000);
    int rc = 0;
    /* Without it, the writers of headers would crash. */
    if (archive_entry_pathname(head) == NULL)
        rc = fail(p, "a name cannot be converted");
    else if (archive_write_header(p->archive, head) < ARCHIVE_WARN)
        rc = fail(p, archive_error_string(p->archive));
    archive_entry_free(head);
    if (rc == 0 && !folder &&
        ash_tree_open_entry(p->mount->tree, e, NULL, p->op, &p->reader, &err) != 0)
        rc = fail(p, err.text);
    return rc;
}

static int write_bytes(packing *p)
{
    uint8_t piece[16384];
    size_t got = 0;
    ash_error err = ASH_ERROR_INIT;
    if (ash_tree_reader_read(p->reader, piece, sizeof piece, &got, &err) != 0)
        return fail(p, err.text);
    if (got > 0)
        return archive_write_data(p->archive, piece, got) < 0
                   ? fail(p, archive_error_string(p->archive))
                   : 0;
    ash_tree_reader_free(p->reader);
    p->reader = NULL;
    return 0;
}

static int next_entry(packing *p)
{
    const ash_tree_entry *e = p->alone;
    ash_error err = ASH_ERROR_INIT;
    if (p->listing != NULL && ash_tree_listing_next(p->listing, &e, &err) != 0)
        return fail(p, err.text);
    int rc = e != NULL ? begin_entry(p, e) : 0;
    p->done = e == NULL || p->alone != NULL;
    return rc;
}

static int pack(packing *p, ash_buffer *out)
{
    int rc = 0;
    while (rc == 0 && out->len < ASH_PIECE_BYTES && (!p->done || p->reader != NULL))
        rc = p->reader != NULL ? write_bytes(p) : next_entry(p);
    bool over = rc == 0 && p->done && p->reader == NULL;
    if (over && archive_write_close(p->archive) != ARCHIVE_OK)
        rc = fail(p, archive_error_string(p->archive));
    return rc != 0 ? rc : over ? ASH_MORE_LAST : ASH_MORE_TO_COME;
}

static int more(ash_exchange *x, ash_buffer *out)
{
    packing *p = x->state;
    p->out = out;
    locale_t before = uselocale(p->locale);
    int rc = pack(p, out);
    uselocale(before);
    p->out = NULL;
    return rc;
}

/* ---- the answer ---- */

typedef struct format {
    const char *name, *type;
    int (*set)(struct archive *a);
    int (*filter)(struct archive *a);
} format;

static int set_zip(struct archive *a)
{
    int rc = archive_write_set_format_zip(a);
    /* What is worth it is packed already. */
    return rc == ARCHIVE_OK ? archive_write_zip_set_compression_store(a) : rc;
}

static const format formats[] = {
    {"zip", "application/zip", set_zip, archive_write_add_filter_none},
    {"tar", "application/x-tar", archive_write_set_format_pax_restricted,
     archive_write_add_filter_none},
    {"tar.gz", "application/gzip", archive_write_set_format_pax_restricted,
     archive_write_add_filter_gzip},
    {"tar.zst", "application/zstd", archive_write_set_format_pax_restricted,
     archive_write_add_filter_zstd},
};

static const format *format_of(const ash_exchange *x)
{
    char *name = NULL;
    const format *found = NULL;
    if (!ash__http_target_query(&x->target, "format", &name))
        return &formats[0];
    for (size_t i = 0; i < ASH_ARRAY_LEN(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            found = &formats[i];
    ash__free(name);
    return found;
}

/* false: x is answered. */
static bool find_source(packing *p, ash_exchange *x)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    when.at_ms = o.at_ms = p->at_ms;
    o.recursive = true;
    int rc = ash_tree_get(p->mount->tree, p->path, &when, p->op, &e, &err);
    if (rc == 0 && ash_tree_entry_is_folder(e))
        rc = ash_tree_list(p->mount->tree, p->path, &o, p->op, &p->listing, &err);
    else if (rc == 0)
        p->alone = ash_tree_entry_copy(e);
    ash_tree_entry_free(e);
    if (rc != 0)
        ash__site_answer_look(x, p->path, &err);
    return rc == 0;
}

static void begin_archive(packing *p, ash_exchange *x, const format *f)
{
    const char *slash = strrchr(p->path, '/');
    const char *name = slash[1] != '\0' ? slash + 1 : "files";
    char *file = ash__sprintf("%s.%s", name, f->name);
    p->skip = slash[1] != '\0' ? (size_t)(slash + 1 - p->path) : 1;
    p->archive = archive_write_new();
    if (f->set(p->archive) != ARCHIVE_OK || f->filter(p->archive) < ARCHIVE_WARN ||
        archive_write_set_bytes_per_block(p->archive, 0) != ARCHIVE_OK ||
        archive_write_open(p->archive, p, NULL, write_out, NULL) != ARCHIVE_OK) {
        ash__answer_text(x, 500, "%s", archive_error_string(p->archive));
    } else {
        ash__dav_disposition(x, "attachment", file);
        x->more = more;
        ash__answer_stream(x, 200, f->type, -1);
    }
    ash__free(file);
}

void ash__site_pack(const ash_site_mount *m, ash_exchange *x, const char *path, int64_t at_ms)
{
    const format *f = format_of(x);
    if (f == NULL) {
        ash__answer_text(x, 400, "`format` is zip, tar, tar.gz or tar.zst");
        return;
    }
    packing *p = ash__new(packing);
    p->mount = m;
    p->op = x->op;
    p->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    p->path = ash__strdup(path);
    p->at_ms = at_ms;
    x->state = p;
    x->release = release;
    if (find_source(p, x))
        begin_archive(p, x, f);
}

void ash__site_archive(ash_site *site, ash_exchange *x, const char *rest)
{
    const char *path = NULL;
    char *at = NULL;
    int64_t at_ms = 0;
    const ash_site_mount *m = ash__site_mount_of(site, rest[0] == '\0' ? "/" : rest, &path);
    if (strcmp(x->method, "GET") != 0 && !x->is_head) {
        ash__answer_field(x, "Allow", "GET, HEAD");
        ash__answer_text(x, 405, "an archive can be fetched, and nothing else");
    } else if (m == NULL) {
        ash__answer_text(x, 404, "no tree is there");
    } else if (ash__http_target_query(&x->target, "at", &at) && !ash__date_parse_iso(at, &at_ms)) {
        ash__answer_text(x, 400, "`at` is a time such as 2026-01-31T12:00:00Z");
    } else {
        ash__site_pack(m, x, path, at_ms);
    }
    ash__free(at);
}
