/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/hello.h"

#include "base/mem.h"
#include "base/text.h"

#include <bson/bson.h>
#include <stdio.h>
#include <string.h>

/* ---- INFO ---- */

/* "[::1]:4222" is ::1 and 4222. */
static void print_host(const char *address, ash_buffer *out)
{
    const char *end = strrchr(address, ':');
    size_t len = end != NULL ? (size_t)(end - address) : strlen(address);
    if (len > 1 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    ash__buffer_append(out, address, len);
}

static const char *port_of(const char *address)
{
    const char *end = strrchr(address, ':');
    return end != NULL ? end + 1 : "0";
}

/* Addresses have no character that JSON would have to escape. */
void ash__nats_print_info(const ash_nats_info *info, ash_buffer *out)
{
    ash__buffer_printf(out,
                       "INFO {\"server_id\":\"%s\",\"server_name\":\"ashlar\",\"version\":\"%s\","
                       "\"proto\":1,\"host\":\"",
                       info->server_id, ASH_NATS_VERSION);
    print_host(info->local, out);
    ash__buffer_printf(out,
                       "\",\"port\":%s,\"headers\":true,\"auth_required\":false,"
                       "\"tls_required\":false,\"max_payload\":%zu,\"jetstream\":true,"
                       "\"client_id\":%lld,\"client_ip\":\"",
                       port_of(info->local), info->max_payload, (long long)info->client_id);
    print_host(info->remote, out);
    ash__buffer_append_text(out, "\"}\r\n");
}

/* ---- CONNECT ---- */

static bool read_flag(const bson_t *doc, const char *key, bool *out)
{
    bson_iter_t it;
    if (!bson_iter_init_find(&it, doc, key) || BSON_ITER_HOLDS_NULL(&it))
        return true;
    *out = BSON_ITER_HOLDS_BOOL(&it) && bson_iter_bool(&it);
    return BSON_ITER_HOLDS_BOOL(&it);
}

static void add_text(const bson_t *doc, const char *key, char *out, size_t size)
{
    bson_iter_t it;
    size_t have = strlen(out);
    if (!bson_iter_init_find(&it, doc, key) || !BSON_ITER_HOLDS_UTF8(&it) || have + 1 >= size)
        return;
    const char *text = bson_iter_utf8(&it, NULL);
    if (text[0] == '\0')
        return;
    snprintf(out + have, size - have, "%s%s", have > 0 ? " " : "", text);
    ash__text_trim(out);
    /* It goes into lines of the log. */
    for (char *c = out + have; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

bool ash__nats_read_connect(const char *json, ash_nats_wishes *out)
{
    ash_nats_wishes w = ASH_NATS_WISHES_INIT;
    bson_t doc;
    if (json[0] != '{' || !bson_init_from_json(&doc, json, -1, NULL))
        return false;
    bool good = read_flag(&doc, "verbose", &w.verbose) && read_flag(&doc, "echo", &w.echo) &&
                read_flag(&doc, "headers", &w.headers) &&
                read_flag(&doc, "no_responders", &w.no_responders);
    add_text(&doc, "name", w.name, sizeof w.name);
    add_text(&doc, "lang", w.name, sizeof w.name);
    add_text(&doc, "version", w.name, sizeof w.name);
    bson_destroy(&doc);
    /* The answer is a header. */
    w.no_responders = w.no_responders && w.headers;
    if (good)
        *out = w;
    return good;
}
