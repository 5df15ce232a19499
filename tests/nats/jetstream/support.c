/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/buffer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "object/info.h"
#include "object/jetstream/format/names.h"
#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct ash_audit *door_audit;

void door_serve(door *d)
{
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    const char *listen = "127.0.0.1:0";
    size_t count = 0;
    o.listen = &listen;
    o.listen_count = 1;
    assert_ok(ash__jetstream_new(d->store, &d->jetstream, &d->err), &d->err);
    ash__jetstream_tell(d->jetstream, door_audit);
    assert_ok(
        ash__nats_server_start(ash__jetstream_service(), d->jetstream, &o, &d->server, &d->err),
        &d->err);
    const char *address = ash__nats_server_addresses(d->server, &count)[0];
    d->port = atoi(strrchr(address, ':') + 1);
    door_open_client(d, &d->c);
}

void door_end(door *d)
{
    client_close(&d->c);
    ash__nats_server_stop(d->server);
    ash__jetstream_free(d->jetstream);
}

void door_start(door *d)
{
    ash_store_options so = ASH_STORE_OPTIONS_INIT;
    assert_ok(ash_store_open(d->folder, &so, &d->store, &d->err), &d->err);
    door_serve(d);
}

void door_stop(door *d)
{
    door_end(d);
    ash_store_close(d->store);
}

void door_open_client(door *d, client *c)
{
    client_open_usual(c, d->port);
    client_says(c, "SUB _I.* 1\r\nSUB _D.* 2\r\n");
}

int door_setup(void **state)
{
    door *d = ash__new(door);
    const char *tmp = getenv("TMPDIR");
    d->folder = ash__sprintf("%s/ashlar-door-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(d->folder) == NULL)
        return -1;
    door_start(d);
    assert_int_equal(
        door_error(door_ask(&d->c, "$JS.API.STREAM.CREATE.OBJ_s",
                            "{\"name\":\"OBJ_s\",\"subjects\":[\"$O.s.C.>\",\"$O.s.M.>\"],"
                            "\"discard\":\"new\",\"allow_rollup_hdrs\":true,\"allow_direct\":true,"
                            "\"max_age\":0,\"max_bytes\":-1,\"storage\":\"file\","
                            "\"num_replicas\":1}")),
        0);
    *state = d;
    return 0;
}

int door_teardown(void **state)
{
    door *d = *state;
    door_stop(d);
    remove_folder(d->folder);
    ash__free(d->folder);
    ash__free(d);
    return 0;
}

void door_restart(door *d)
{
    door_stop(d);
    door_start(d);
}

/* ---- requests ---- */

/* In one piece: several small ones would wait for each other in the network. */
const char *door_publish(client *c, const char *subject, const char *headers, const void *data,
                         size_t len)
{
    ash_buffer out = ASH_BUFFER_INIT;
    size_t head = headers != NULL ? strlen("NATS/1.0\r\n") + strlen(headers) + 2 : 0;
    if (headers != NULL)
        ash__buffer_printf(&out, "HPUB %s _I.a %zu %zu\r\nNATS/1.0\r\n%s\r\n", subject, head,
                           head + len, headers);
    else
        ash__buffer_printf(&out, "PUB %s _I.a %zu\r\n", subject, len);
    ash__buffer_append(&out, data, len);
    ash__buffer_append_text(&out, "\r\n");
    assert_true(client_sends(c, out.data, out.len));
    ash__buffer_release(&out);
    const char *said = client_hears(c);
    assert_non_null(said);
    return said;
}

const char *door_ask(client *c, const char *subject, const char *body)
{
    return door_publish(c, subject, NULL, body, strlen(body));
}

uint64_t door_sequence(const char *answer)
{
    const char *seq = strstr(answer, "\"seq\":");
    if (seq == NULL || strstr(answer, "\"error\"") != NULL)
        fail_msg("refused: %s", answer);
    return seq != NULL ? strtoull(seq + 6, NULL, 10) : 0;
}

int door_error(const char *answer)
{
    const char *code = strstr(answer, "\"err_code\":");
    return code != NULL ? atoi(code + 11) : 0;
}

/* ---- objects ---- */

static char *filled(char fill, size_t len)
{
    char *data = ash__alloc(len + 1);
    memset(data, fill, len);
    return data;
}

const char *door_chunk(client *c, const char *nuid, const char *headers, char fill, size_t len)
{
    char *subject = ash__chunk_subject("s", nuid), *data = filled(fill, len);
    const char *said = door_publish(c, subject, headers, data, len);
    ash__free(data);
    ash__free(subject);
    return said;
}

static void digest_of(char fill, size_t len, char out[64])
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    char *data = filled(fill, len);
    ash__digest_add(d, data, len);
    (void)ash__digest_finish(d, bytes);
    ash__digest_free(d);
    ash__free(data);
    ash__digest_text(ASH_DIGEST_SHA256, bytes, out);
}

char *door_info(const door_object *o)
{
    char digest[64];
    digest_of(o->fill, o->size, digest);
    return ash__sprintf("{\"name\":\"%s\",\"options\":{\"max_chunk_size\":131072},"
                        "\"bucket\":\"s\",\"nuid\":\"%s\",\"size\":%zu,"
                        "\"mtime\":\"0001-01-01T00:00:00Z\",\"chunks\":%zu,"
                        "\"digest\":\"%s\"%s}",
                        o->name, o->nuid, o->size, o->chunks,
                        o->digest != NULL ? o->digest : digest, o->more != NULL ? o->more : "");
}

const char *door_meta(client *c, const door_object *o)
{
    char *subject = ash__meta_subject("s", o->name), *body = door_info(o);
    const char *headers = o->headers != NULL ? o->headers : "Nats-Rollup: sub\r\n";
    const char *said = door_publish(c, subject, headers, body, strlen(body));
    ash__free(body);
    ash__free(subject);
    return said;
}

uint64_t door_put(client *c, const char *name, const char *nuid, char fill, size_t len)
{
    enum { CHUNK = 131072 };
    door_object o = {.name = name, .nuid = nuid, .fill = fill, .size = len};
    for (size_t at = 0; at < len; at += CHUNK) {
        o.chunks++;
        assert_int_equal(
            door_sequence(door_chunk(c, nuid, NULL, fill, len - at < CHUNK ? len - at : CHUNK)),
            o.chunks);
    }
    return door_sequence(door_meta(c, &o));
}

/* ---- round the server ---- */

static ash_object_store *bind(door *d, ash_object_manager **m)
{
    ash_object_store *s = NULL;
    assert_ok(ash_object_manager_new(d->store, NULL, m, &d->err), &d->err);
    assert_ok(ash_object_manager_bind(*m, "s", NULL, &s, &d->err), &d->err);
    return s;
}

int64_t door_size(door *d, const char *name)
{
    ash_object_manager *m = NULL;
    ash_object_store *s = bind(d, &m);
    ash_object *o = NULL;
    int64_t size = -1;
    if (ash_object_store_info(s, name, NULL, NULL, &o, NULL) == 0)
        size = ash_object_size(o);
    ash_object_free(o);
    ash_object_store_close(s);
    ash_object_manager_close(m);
    return size;
}

bool door_has(door *d, const char *name, char fill, size_t len)
{
    ash_object_manager *m = NULL;
    ash_object_store *s = bind(d, &m);
    uint8_t *data = NULL;
    size_t got = 0;
    int rc = ash_object_store_get_bytes(s, name, NULL, NULL, &data, &got, NULL);
    char *expected = filled(fill, len);
    bool same = rc == 0 && got == len && memcmp(data, expected, len) == 0;
    ash__free(expected);
    ash_object_bytes_free(data);
    ash_object_store_close(s);
    ash_object_manager_close(m);
    return same;
}
