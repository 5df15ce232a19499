/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/event.h"

#include "base/text.h"
#include "bson/builder.h"

#include <stdlib.h>
#include <string.h>

/* {ip, port} of "127.0.0.1:27017" or "[::1]:27017"; of anything else {unix}. */
static void add_address(ash_builder *b, const char *name, const char *text)
{
    const char *colon = text != NULL ? strrchr(text, ':') : NULL;
    ash__builder_begin_doc(b, name);
    if (colon != NULL && text[0] != '/') {
        size_t skip = text[0] == '[', len = (size_t)(colon - text);
        if (skip && len > 2)
            len -= 2;
        ash__builder_string(b, "ip", text + skip, (uint32_t)len);
        ash__builder_int32(b, "port", (int32_t)strtol(colon + 1, NULL, 10));
    } else if (text != NULL) {
        ash__builder_text(b, "unix", text);
    }
    ash__builder_end(b);
}

static void add_who(ash_builder *b, const ash_audit_event *e)
{
    ash__builder_begin_array(b, "users");
    if (e->user != NULL) {
        ash__builder_begin_doc(b, "0");
        ash__builder_text(b, "user", e->user);
        ash__builder_text(b, "db", e->db != NULL ? e->db : "");
        ash__builder_end(b);
    }
    ash__builder_end(b);
    ash__builder_array_value(b, "roles", e->roles.data != NULL ? e->roles : ash__doc_empty);
}

void ash__audit_line(const ash_audit_event *e, int64_t now_wall_ms, ash_buffer *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t doc;
    size_t len = 0;
    ash__builder_begin(&b);
    ash__builder_text(&b, "atype", e->type);
    ash__builder_date(&b, "ts", now_wall_ms);
    add_address(&b, "local", e->local);
    add_address(&b, "remote", e->remote);
    add_who(&b, e);
    ash__builder_doc_value(&b, "param", e->param.data != NULL ? e->param : ash__doc_empty);
    ash__builder_int32(&b, "result", e->result);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &doc);
    char *json = bson_as_relaxed_extended_json(&doc, &len);
    /* None for text that is no UTF-8: the event is told without it then. */
    if (json != NULL) {
        ash__buffer_append(out, json, len);
        ash__buffer_append_byte(out, '\n');
        bson_free(json);
    } else if (e->param.data != NULL || e->roles.data != NULL || e->user != NULL) {
        ash_audit_event bare = *e;
        if (e->param.data != NULL)
            bare.param = (ash_doc){0};
        else if (e->roles.data != NULL)
            bare.roles = (ash_doc){0};
        else
            bare.user = NULL;
        ash__audit_line(&bare, now_wall_ms, out);
    }
    ash__builder_release(&b);
}
