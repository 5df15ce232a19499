/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for who has a link: without scripts, and without a word of what lies around. */
#include "base/mem.h"
#include "http/date.h"
#include "http/json.h"
#include "http/site/rows.h"
#include "http/site/shared.h"

#include <string.h>

static void page_fields(ash_exchange *x)
{
    ash__answer_field(x, "Content-Security-Policy",
                      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
                      "base-uri 'none'; frame-ancestors 'none'");
    ash__answer_field(x, "X-Content-Type-Options", "nosniff");
    ash__answer_field(x, "X-Frame-Options", "DENY");
    ash__answer_field(x, "Cache-Control", "no-store");
}

static void add_head(ash_buffer *out, const char *title)
{
    ash__buffer_append_text(
        out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    ash__html_text(out, title);
    ash__buffer_append_text(
        out, "</title><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
             "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"");
    ash__site_asset_href(out, "icon.svg");
    ash__buffer_append_text(out, "\"><link rel=\"stylesheet\" href=\"");
    ash__site_asset_href(out, "page.css");
    ash__buffer_append_text(out, "\"></head><body>\n<main><h1><bdi>");
    ash__html_text(out, title);
    ash__buffer_append_text(out, "</bdi></h1>\n");
}

/* ---- a folder ---- */

static void add_row(ash_buffer *out, const ash_tree_entry *e)
{
    char date[ASH_DATE_BYTES];
    bool folder = ash_tree_entry_is_folder(e);
    ash__date_iso(date, ash_tree_entry_modified_ms(e));
    ash__buffer_append_text(out, folder ? "<tr class=\"folder\"><td><a href=\"./"
                                        : "<tr><td><a href=\"./");
    ash__http_target_encode(out, ash_tree_entry_name(e));
    ash__buffer_append_text(out, folder ? "/\"><bdi>" : "\"><bdi>");
    ash__html_text(out, ash_tree_entry_name(e));
    ash__buffer_append_text(out, folder ? "/</bdi></a></td><td class=\"n\">"
                                        : "</bdi></a></td><td class=\"n\">");
    if (!folder)
        ash__site_size_text(out, ash_tree_entry_length(e));
    ash__buffer_printf(out, "</td><td><time datetime=\"%s\">%.10s %.5s</time></td></tr>\n", date,
                       date, date + 11);
}

static void add_rows(ash_buffer *out, const ash_rows *rows, bool is_top)
{
    if (!is_top)
        ash__buffer_append_text(out, "<p><a href=\"../\">The folder above</a></p>\n");
    ash__buffer_append_text(out,
                            "<table id=\"list\"><thead><tr><th scope=\"col\">Name</th><th "
                            "scope=\"col\">Size</th><th scope=\"col\">Modified</th></tr></thead>"
                            "<tbody>\n");
    for (size_t i = 0; i < rows->count; i++)
        add_row(out, rows->entries[i]);
    ash__buffer_append_text(out, "</tbody></table>\n");
    if (rows->count == 0)
        ash__buffer_append_text(out, "<p id=\"empty\">Nothing is here yet.</p>");
    if (rows->more) {
        ash_buffer place = ASH_BUFFER_INIT;
        ash__rows_place(rows, &place);
        ash__buffer_append_text(out, "<p id=\"pages\"><a rel=\"next\" href=\"?after=");
        ash__site_query_value(out, ash__buffer_text(&place));
        ash__buffer_append_text(out, "\">More</a></p>");
        ash__buffer_release(&place);
    }
}

void ash__shared_page(const ash_shared *s, ash_exchange *x)
{
    ash_rows rows = {.sort = 'n'};
    ash_buffer out = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    char *after = NULL;
    bool is_top = s->below[0] == '\0';
    const char *name = is_top ? ash_tree_entry_name(s->top) : strrchr(s->path, '/') + 1;
    ash__http_target_query(&x->target, "after", &after);
    int rc = ash__rows_read(&rows, s->mount->tree, NULL, s->path, after, &err);
    if (rc != 0) {
        ash__shared_answer_failure(x, ash__status_of(rc));
    } else {
        add_head(&out, name[0] != '\0' ? name : "Files");
        add_rows(&out, &rows, is_top);
        ash__buffer_append_text(&out, "</main>\n<footer>Download this folder as "
                                      "<a href=\"?format=zip\">zip</a> or "
                                      "<a href=\"?format=tar\">tar</a></footer></body></html>\n");
        ash__shared_fields(x);
        page_fields(x);
        ash__answer_body(x, 200, "text/html; charset=utf-8", out.data, out.len);
    }
    ash__free(after);
    ash__rows_release(&rows);
    ash__buffer_release(&out);
}

/* ---- a form ---- */

void ash__shared_form(ash_exchange *x, int status, const char *said)
{
    ash_buffer out = ASH_BUFFER_INIT;
    add_head(&out, "Send files");
    ash__buffer_append_text(&out, said);
    ash__buffer_append_text(
        &out, "<form method=\"post\" enctype=\"multipart/form-data\"><p><label>Files: <input "
              "type=\"file\" name=\"file\" multiple required></label></p><p><button>Send</button>"
              "</p></form></main></body></html>\n");
    page_fields(x);
    /* Without a referrer at all, browsers would send the form as from nowhere, and it would be refused
     * as another site's.  This one says the server's address and nothing of the link. */
    ash__answer_field(x, "Referrer-Policy", "strict-origin");
    ash__answer_field(x, "X-Robots-Tag", "noindex");
    ash__answer_body(x, status, "text/html; charset=utf-8", out.data, out.len);
    ash__buffer_release(&out);
}
