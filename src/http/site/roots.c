/* SPDX-License-Identifier: Apache-2.0 */
/* The top of a URL space where no tree is: which trees there are. */
#include "base/mem.h"
#include "http/dav/resource.h"
#include "http/json.h"
#include "http/site/state.h"

#include <stdlib.h>
#include <string.h>

static int by_prefix(const void *a, const void *b)
{
    const ash_site_mount *const *p = a, *const *q = b;
    return strcmp((*p)->prefix, (*q)->prefix);
}

static void add_page(ash_buffer *out, const ash_site_mount **mounts, size_t n)
{
    ash__buffer_append_text(
        out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Files</title>"
             "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
             "<link rel=\"stylesheet\" href=\"");
    ash__site_asset_href(out, "page.css");
    ash__buffer_append_text(out, "\"></head><body><main><h1>Files</h1><ul>\n");
    for (size_t i = 0; i < n; i++) {
        ash__buffer_append_text(out, "<li><a href=\"");
        ash__http_target_encode(out, mounts[i]->prefix);
        ash__buffer_append_text(out, "/\"><bdi>");
        ash__html_text(out, mounts[i]->prefix + 1);
        ash__buffer_append_text(out, "/</bdi></a></li>\n");
    }
    ash__buffer_append_text(out, "</ul></main></body></html>\n");
}

void ash__site_roots(const ash_site *s, ash_exchange *x)
{
    const ash_site_mount *mounts[ASH_SITE_MAX_MOUNTS];
    ash_buffer out = ASH_BUFFER_INIT;
    bool page = ash__site_wants_page(x);
    for (size_t i = 0; i < s->mount_count; i++)
        mounts[i] = &s->mounts[i];
    qsort(mounts, s->mount_count, sizeof *mounts, by_prefix);
    if (page)
        add_page(&out, mounts, s->mount_count);
    else
        for (size_t i = 0; i < s->mount_count; i++)
            ash__dav_add_line(&out, mounts[i]->prefix + 1, true);
    if (page)
        ash__site_page_fields(x);
    ash__answer_body(x, 200, page ? "text/html; charset=utf-8" : "text/plain; charset=utf-8",
                     out.data, out.len);
    ash__buffer_release(&out);
}
