/* SPDX-License-Identifier: Apache-2.0 */
/* For whoever watches the server. */
#include "base/mem.h"
#include "http/json.h"
#include "http/site/state.h"

#include <stdatomic.h>
#include <string.h>

/* ---- health ---- */

/* What the store knows of damage; false: nothing. */
static bool is_damaged(ash_site *s, char *text, size_t size)
{
    bson_t stats;
    bson_iter_t top, at;
    ash_error err = ASH_ERROR_INIT;
    text[0] = '\0';
    if (ash_store_stats(s->store, NULL, NULL, 1, NULL, &stats, &err) != 0) {
        snprintf(text, size, "%s", err.text);
        return true;
    }
    if (bson_iter_init(&top, &stats) &&
        bson_iter_find_descendant(&top, "ashlar.damage.first", &at) && BSON_ITER_HOLDS_UTF8(&at))
        snprintf(text, size, "%s", bson_iter_utf8(&at, NULL));
    bson_destroy(&stats);
    return text[0] != '\0';
}

void ash__site_health(ash_site *s, ash_exchange *x, const char *rest)
{
    ash_buffer out = ASH_BUFFER_INIT;
    char damage[512];
    (void)rest;
    if (ash__site_refuse_change(x))
        return;
    bool bad = is_damaged(s, damage, sizeof damage);
    ash__buffer_append_byte(&out, '{');
    ash__json_add_text(&out, "status", bad ? "fail" : "pass");
    bool details = ash__site_may(s, x, ASH_SITE_NEEDS_MONITOR);
    if (s->version[0] != '\0' && details)
        ash__json_add_text(&out, "version", s->version);
    if (bad && details)
        ash__json_add_text(&out, "output", damage);
    ash__buffer_append_text(&out, "}\n");
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_body(x, bad ? 503 : 200, "application/health+json", out.data, out.len);
    ash__buffer_release(&out);
}

/* ---- metrics, as Prometheus' text format has them ---- */

static void head(ash_buffer *out, const char *name, const char *type, const char *help)
{
    ash__buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(ash_buffer *out, const char *name, const char *type, const char *help,
                   double value)
{
    head(out, name, type, help);
    ash__buffer_printf(out, "%s %.17g\n", name, value);
}

static void write_http(ash_buffer *out, const ash_http_server *server)
{
    const ash_http_counts *c = ash__http_server_counts(server);
    static const char *const codes[] = {"cut", "1xx", "2xx", "3xx", "4xx", "5xx"};
    int64_t all = 0;
    head(out, "ashlar_http_requests_total", "counter",
         "Requests answered, by the class of the status.");
    for (size_t i = 0; i < ASH_ARRAY_LEN(codes); i++) {
        int64_t n = atomic_load(&c->requests[i]);
        all += n;
        ash__buffer_printf(out, "ashlar_http_requests_total{code=\"%s\"} %lld\n", codes[i],
                           (long long)n);
    }
    head(out, "ashlar_http_request_duration_seconds", "summary",
         "Time from a request's head to its answer's last byte.");
    ash__buffer_printf(out,
                       "ashlar_http_request_duration_seconds_sum %.6f\n"
                       "ashlar_http_request_duration_seconds_count %lld\n",
                       (double)atomic_load(&c->seconds_us) / 1e6, (long long)all);
    single(out, "ashlar_http_received_bytes_total", "counter", "Bytes of requests' bodies.",
           (double)atomic_load(&c->received_bytes));
    single(out, "ashlar_http_sent_bytes_total", "counter", "Bytes of answers' bodies.",
           (double)atomic_load(&c->sent_bytes));
    single(out, "ashlar_http_requests_in_flight", "gauge", "Requests that are being answered.",
           (double)atomic_load(&c->in_flight));
    single(out, "ashlar_http_refused_total", "counter", "What came and was no HTTP.",
           (double)atomic_load(&c->refused));
    single(out, "ashlar_http_timeouts_total", "counter", "Connections ended for being too slow.",
           (double)atomic_load(&c->timed_out));
    single(out, "ashlar_http_connections", "gauge", "Clients that are connected.",
           (double)ash__http_server_client_count((ash_http_server *)(uintptr_t)server));
}

static const struct {
    const char *path, *name, *type, *help;
} store_rows[] = {
    {"ashlar.segmentBytes", "ashlar_store_segment_bytes", "gauge", "Size of the segment files."},
    {"ashlar.usedBytes", "ashlar_store_used_bytes", "gauge", "Of it, bytes in use."},
    {"ashlar.freeBytes", "ashlar_store_free_bytes", "gauge", "Of it, bytes that are free."},
    {"ashlar.metaBytes", "ashlar_store_meta_bytes", "gauge", "Size of the metadata."},
    {"ashlar.commits", "ashlar_store_commits_total", "counter",
     "Commits since the store was opened."},
    {"ashlar.applies", "ashlar_store_changes_total", "counter",
     "Changes since the store was opened."},
    {"ashlar.snapshots", "ashlar_store_snapshots", "gauge", "Snapshots that are open."},
    {"ashlar.damage.findings", "ashlar_store_damage_findings", "gauge", "Damage that is known."},
};

static void write_store(ash_buffer *out, ash_site *s)
{
    bson_t stats;
    bson_iter_t top, at;
    ash_error err = ASH_ERROR_INIT;
    if (ash_store_stats(s->store, NULL, NULL, 1, NULL, &stats, &err) != 0)
        return;
    for (size_t i = 0; i < ASH_ARRAY_LEN(store_rows); i++)
        if (bson_iter_init(&top, &stats) &&
            bson_iter_find_descendant(&top, store_rows[i].path, &at) && BSON_ITER_HOLDS_NUMBER(&at))
            single(out, store_rows[i].name, store_rows[i].type, store_rows[i].help,
                   bson_iter_as_double(&at));
    bson_destroy(&stats);
}

void ash__site_metrics(ash_site *s, ash_exchange *x, const char *rest)
{
    ash_buffer out = ASH_BUFFER_INIT;
    (void)rest;
    if (ash__site_refuse_change(x))
        return;
    head(&out, "ashlar_build_info", "gauge", "The program that answers; always 1.");
    ash__buffer_printf(&out, "ashlar_build_info{version=\"%s\"} 1\n", s->version);
    const ash_http_server *server = atomic_load(&s->server);
    if (server != NULL)
        write_http(&out, server);
    write_store(&out, s);
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_body(x, 200, "text/plain; version=0.0.4; charset=utf-8", out.data, out.len);
    ash__buffer_release(&out);
}
