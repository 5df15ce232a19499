/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/multistatus.h"

#include "http/dav/xml.h"

#include <string.h>

void ash__dav_error_body(ash_buffer *out, const char *condition, const char *href)
{
    ash__buffer_printf(out, ASH_DAV_XML_BEGIN "<D:error xmlns:D=\"DAV:\"><D:%s", condition);
    if (href != NULL)
        ash__buffer_printf(out, "><D:href>%s</D:href></D:%s></D:error>\n", href, condition);
    else
        ash__buffer_append_text(out, "/></D:error>\n");
}

void ash__dav_answer_condition(ash_exchange *x, int status, const char *condition, const char *href)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__dav_error_body(&out, condition, href);
    ash__answer_body(x, status, ASH_DAV_XML_TYPE, out.data, out.len);
    ash__buffer_release(&out);
}

void ash__dav_status(ash_buffer *out, int status)
{
    ash__buffer_printf(out, "<D:status>HTTP/1.1 %d %s</D:status>", status,
                       ash__status_text(status));
}

void ash__dav_element(ash_buffer *out, const char *space, const char *name, bool empty)
{
    const char *end = empty ? "/>" : ">";
    if (strcmp(space, "DAV:") == 0) {
        ash__buffer_printf(out, "<D:%s%s", name, end);
    } else {
        ash__buffer_printf(out, "<%s xmlns=\"", name);
        ash__xml_text(out, space);
        ash__buffer_printf(out, "\"%s", end);
    }
}
