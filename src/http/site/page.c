/* SPDX-License-Identifier: Apache-2.0 */
/* A folder as a page that needs no script: to look, to sort, to go on, to fetch.  Everything else is
 * the script's (assets/page.js), which finds what it needs in the same elements. */
#include "base/clock.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/gate/session.h"
#include "http/json.h"
#include "http/site/rows.h"
#include "http/site/state.h"

#include <string.h>

static const int64_t DAY_MS = 24 * 60 * 60 * INT64_C(1000);

typedef struct page {
    const ash_site_mount *mount;
    const char *path;
    ash_rows rows;
    bool is_first; /* of several, or all */
    ash_buffer out;
    const char *user; /* who signed in by the form; or NULL */
} page;

void ash__site_page_fields(ash_exchange *x)
{
    ash__answer_field(
        x, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "media-src 'self'; frame-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'");
    ash__answer_field(x, "X-Content-Type-Options", "nosniff");
    ash__answer_field(x, "X-Frame-Options", "DENY");
    ash__answer_field(x, "Referrer-Policy", "same-origin");
    ash__answer_field(x, "Cache-Control", "no-cache");
    ash__answer_field(x, "Vary", "Accept");
}

/* ---- pieces ---- */

static void add_href(page *p, const char *path, bool is_folder)
{
    ash__dav_href(p->mount->dav, &p->out, path, is_folder);
}

void ash__site_size_text(ash_buffer *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double n = (double)bytes;
    size_t unit = 0;
    while (n >= 999.5 && unit + 1 < ASH_ARRAY_LEN(units)) {
        n /= 1000;
        unit++;
    }
    ash__buffer_printf(out,
                       unit == 0 || n >= 99.5 ? "%.0f %s"
                       : n >= 9.95            ? "%.1f %s"
                                              : "%.2f %s",
                       n, units[unit]);
}

/* Each name on the way is a link to its folder. */
static void add_path(page *p)
{
    char *above = ash__strdup(p->path);
    ash__buffer_append_text(&p->out, "<nav aria-label=\"Path\"><ol id=\"path\"><li><a href=\"");
    add_href(p, "/", true);
    ash__buffer_append_text(&p->out, "\">");
    ash__html_text(&p->out, strcmp(p->mount->root, "/") == 0 ? "Files" : p->mount->root);
    ash__buffer_append_text(&p->out, "</a></li>");
    for (char *at = above; at[0] == '/' && at[1] != '\0';) {
        char *end = strchr(at + 1, '/');
        if (end != NULL)
            *end = '\0';
        ash__buffer_append_text(&p->out, "<li><a href=\"");
        add_href(p, above, true);
        ash__buffer_append_text(&p->out, end == NULL ? "\" aria-current=\"page\">" : "\">");
        ash__html_text(&p->out, at + 1);
        ash__buffer_append_text(&p->out, "</a></li>");
        if (end == NULL)
            break;
        *end = '/';
        at = end;
    }
    ash__buffer_append_text(&p->out, "</ol></nav>");
    ash__free(above);
}

static void add_head(page *p, const char *title)
{
    ash__buffer_append_text(
        &p->out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    ash__html_text(&p->out, title);
    ash__buffer_append_text(
        &p->out, "</title><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                 "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"");
    ash__site_asset_href(&p->out, "icon.svg");
    ash__buffer_append_text(&p->out, "\"><link rel=\"stylesheet\" href=\"");
    ash__site_asset_href(&p->out, "page.css");
    ash__buffer_append_text(&p->out, "\"><script type=\"module\" src=\"");
    ash__site_asset_href(&p->out, "page.js");
    ash__buffer_append_text(&p->out, "\"></script></head><body>\n<header>");
    add_path(p);
    ash__buffer_append_text(&p->out, "<div id=\"tools\"></div></header>\n<main>");
    ash__buffer_append_text(&p->out, "<h1 class=\"hidden\">");
    ash__html_text(&p->out, title);
    ash__buffer_append_text(&p->out, "</h1>");
}

/* ---- rows ---- */

static void add_row(page *p, const ash_tree_entry *e)
{
    ash_buffer *out = &p->out;
    char date[ASH_DATE_BYTES];
    bool folder = ash_tree_entry_is_folder(e);
    char *path =
        ash__sprintf("%s/%s", strcmp(p->path, "/") == 0 ? "" : p->path, ash_tree_entry_name(e));
    ash__date_iso(date, ash_tree_entry_modified_ms(e));
    ash__buffer_append_text(out,
                            folder ? "<tr class=\"folder\"><td><a href=\"" : "<tr><td><a href=\"");
    add_href(p, path, folder);
    /* Isolated: a name that turns the direction of writing turns nothing but itself. */
    ash__buffer_append_text(out, "\"><bdi>");
    ash__html_text(out, ash_tree_entry_name(e));
    ash__buffer_append_text(out, folder ? "/</bdi></a></td><td class=\"n\">"
                                        : "</bdi></a></td><td class=\"n\">");
    if (!folder) {
        ash__buffer_printf(out, "<data value=\"%lld\">", (long long)ash_tree_entry_length(e));
        ash__site_size_text(out, ash_tree_entry_length(e));
        ash__buffer_append_text(out, "</data>");
    }
    ash__buffer_printf(out, "</td><td><time datetime=\"%s\">%.10s %.5s</time></td></tr>\n", date,
                       date, date + 11);
    ash__free(path);
}

/* ---- the table ---- */

static void add_order(page *p, char sort, bool descending)
{
    ash__buffer_printf(&p->out, "?sort=%s%s",
                       sort == 's'   ? "size"
                       : sort == 'd' ? "date"
                                     : "name",
                       descending ? "&amp;order=desc" : "");
}

static void add_column(page *p, char sort, const char *label)
{
    bool here = p->rows.sort == sort, down = p->rows.descending;
    ash__buffer_printf(&p->out, "<th scope=\"col\"%s><a href=\"",
                       !here  ? ""
                       : down ? " aria-sort=\"descending\""
                              : " aria-sort=\"ascending\"");
    add_order(p, sort, here && !down);
    ash__buffer_printf(&p->out, "\">%s</a></th>", label);
}

/* There, '+' is a space. */
void ash__site_query_value(ash_buffer *out, const char *text)
{
    ash_buffer encoded = ASH_BUFFER_INIT;
    ash__http_target_encode(&encoded, text);
    for (const char *at = ash__buffer_text(&encoded); *at != '\0'; at++)
        ash__buffer_printf(out, *at == '+' ? "%%2B" : "%c", *at);
    ash__buffer_release(&encoded);
}

static void add_next(page *p)
{
    ash_buffer place = ASH_BUFFER_INIT;
    ash__rows_place(&p->rows, &place);
    ash__buffer_append_text(&p->out, "<a rel=\"next\" href=\"");
    add_order(p, p->rows.sort, p->rows.descending);
    ash__buffer_append_text(&p->out, "&amp;after=");
    ash__site_query_value(&p->out, ash__buffer_text(&place));
    ash__buffer_append_text(&p->out, "\">More</a>");
    ash__buffer_release(&place);
}

static void add_table(page *p)
{
    ash__buffer_append_text(&p->out, "<table id=\"list\"><thead><tr>");
    add_column(p, 'n', "Name");
    add_column(p, 's', "Size");
    add_column(p, 'd', "Modified");
    ash__buffer_append_text(&p->out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < p->rows.count; i++)
        add_row(p, p->rows.entries[i]);
    ash__buffer_append_text(&p->out, "</tbody></table>\n");
    if (p->rows.count == 0)
        ash__buffer_append_text(&p->out, "<p id=\"empty\">Nothing is here yet.</p>");
    if (p->rows.damaged > 0)
        ash__buffer_printf(&p->out,
                           "<p class=\"bad\">%lld more cannot be read: `ashlar tree check` says "
                           "what is damaged.</p>",
                           (long long)p->rows.damaged);
    if (p->is_first && !p->rows.more)
        return;
    ash__buffer_append_text(&p->out, "<p id=\"pages\">");
    if (!p->is_first) {
        ash__buffer_append_text(&p->out, "<a href=\"");
        add_order(p, p->rows.sort, p->rows.descending);
        ash__buffer_append_text(&p->out, "\">To the beginning</a> ");
    }
    if (p->rows.more)
        add_next(p);
    ash__buffer_append_text(&p->out, "</p>");
}

/* A link to something about a folder, below the reserved name. */
static void add_link(page *p, const char *part, const char *path, const char *query_and_text)
{
    ash__buffer_append_text(&p->out, "<a href=\"" ASH_SITE_RESERVED);
    ash__buffer_append_text(&p->out, part);
    add_href(p, path, true);
    ash__buffer_append_text(&p->out, query_and_text);
    ash__buffer_append_text(&p->out, "</a>");
}

/* Who has a script chooses the moment. */
static void add_past(page *p)
{
    static const struct {
        int days;
        const char *text;
    } moments[] = {{1, "\">a day</a>, "}, {7, "\">a week</a>, "}, {30, "\">a month</a> ago"}};
    char date[ASH_DATE_BYTES];
    for (size_t i = 0; i < ASH_ARRAY_LEN(moments); i++) {
        ash__date_iso(date, ash__clock_wall_ms() - moments[i].days * DAY_MS);
        ash__buffer_printf(&p->out, "<a href=\"" ASH_SITE_RESERVED "/at/%s", date);
        add_href(p, p->path, true);
        ash__buffer_append_text(&p->out, moments[i].text);
    }
}

static void add_foot(page *p)
{
    ash__buffer_append_text(&p->out, "</main>\n<footer>Download this folder as ");
    add_link(p, "/archive", p->path, "?format=zip\">zip");
    ash__buffer_append_text(&p->out, " or ");
    add_link(p, "/archive", p->path, "?format=tar\">tar");
    ash__buffer_append_text(&p->out, "; ");
    add_link(p, "/versions", p->path, "\">all versions");
    ash__buffer_append_text(&p->out, "; ");
    add_link(p, "/trash", "/", "\">the trash");
    ash__buffer_append_text(&p->out, "; the folder as it was ");
    add_past(p);
    ash__site_add_sign_out(&p->out, p->user);
    ash__buffer_append_text(&p->out, "</footer></body></html>\n");
}

static void read_order(page *p, const ash_exchange *x)
{
    char *sort = NULL, *order = NULL;
    p->rows.sort = 'n';
    if (ash__http_target_query(&x->target, "sort", &sort) && (sort[0] == 's' || sort[0] == 'd'))
        p->rows.sort = sort[0];
    p->rows.descending =
        ash__http_target_query(&x->target, "order", &order) && strcmp(order, "desc") == 0;
    ash__free(sort);
    ash__free(order);
}

static void answer_missing(page *p, ash_exchange *x)
{
    add_head(p, "Not found");
    ash__buffer_append_text(&p->out, "<p>There is no <bdi>");
    ash__html_text(&p->out, p->path);
    ash__buffer_append_text(&p->out,
                            "</bdi>. It may have been moved or deleted: the folders above, and the "
                            "trash, are still there.</p></main>\n<footer>");
    ash__site_add_sign_out(&p->out, p->user);
    ash__buffer_append_text(&p->out, "</footer></body></html>\n");
    ash__site_page_fields(x);
    ash__answer_body(x, 404, "text/html; charset=utf-8", p->out.data, p->out.len);
}

static void answer_folder(page *p, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    char *after = NULL;
    const char *name = strrchr(p->path, '/');
    read_order(p, x);
    p->is_first = !ash__http_target_query(&x->target, "after", &after);
    int rc = ash__rows_read(&p->rows, p->mount->tree, x->op, p->path, after, &err);
    ash__free(after);
    if (rc != 0) {
        ash__answer_error(x, &err);
        return;
    }
    add_head(p, name[1] != '\0' ? name + 1 : "Files");
    add_table(p);
    add_foot(p);
    ash__site_page_fields(x);
    ash__answer_body(x, 200, "text/html; charset=utf-8", p->out.data, p->out.len);
}

void ash__site_page(ash_site *site, const ash_site_mount *m, ash_exchange *x, const char *path)
{
    page p = {.mount = m, .path = path, .user = ash__gate_session_of(x)};
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    (void)site;
    if (ash__dav_lookup(m->dav, x->op, path, &e, &err) != 0)
        ash__answer_error(x, &err);
    else if (e == NULL)
        answer_missing(&p, x);
    else
        answer_folder(&p, x);
    ash_tree_entry_free(e);
    ash__rows_release(&p.rows);
    ash__buffer_release(&p.out);
}
