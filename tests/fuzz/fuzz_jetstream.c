/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to JetStream's API and messages for object stores, of a client that hears everything: what
 * it is told is well-formed lines of the protocol, and a store that is there stays whole.
 *
 * An input is messages, each ended by 0x1e: subject, header lines and payload, with 0x1f between. */
#include "fuzz.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "nats/jetstream/jetstream.h"
#include "nats/jetstream/puts.h"
#include "nats/near_client.h"
#include "nats/server.h"
#include "nats/subject.h"
#include "remove_folder.h"

#include <ashlar/object.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 16, MOST_PUMPS = 20 };

static char *folder;
static ash_store *store;
static ash_object_manager *manager;
static ash_jetstream *jetstream;

/* ---- what it heard ---- */

/* A line "MSG subject 1 [reply] [headers] all", as it is read by who splits it at blanks. */
static size_t check_line(const char *line, size_t len)
{
    char *words[8] = {NULL}, *text = ash__strndup(line, len), *state = NULL;
    size_t count = 0;
    for (char *w = strtok_r(text, " ", &state); w != NULL; w = strtok_r(NULL, " ", &state)) {
        ash_assert(count < 8);
        words[count++] = w;
    }
    ash_assert(count > 0);
    bool has_headers = strcmp(words[0], "HMSG") == 0;
    ash_assert(has_headers || strcmp(words[0], "MSG") == 0);
    size_t least = has_headers ? 5 : 4;
    ash_assert(count == least || count == least + 1);
    ash_assert(ash__nats_subject_valid(words[1]) && strcmp(words[2], "1") == 0);
    size_t all = strtoul(words[count - 1], NULL, 10);
    ash_assert(all <= ASH_NATS_MAX_PAYLOAD_BYTES);
    ash__free(text);
    return all;
}

static void check_heard(ash_buffer *heard)
{
    const char *at = ash__buffer_text(heard), *end = at + heard->len;
    while (at < end) {
        const char *stop = memchr(at, '\r', (size_t)(end - at));
        ash_assert(stop != NULL && stop + 1 < end && stop[1] == '\n');
        size_t len = (size_t)(stop - at), all = check_line(at, len);
        at = stop + 2;
        ash_assert((size_t)(end - at) >= all + 2 && memcmp(at + all, "\r\n", 2) == 0);
        at += all + 2;
    }
    ash__buffer_clear(heard);
}

/* ---- the store ---- */

static void put(ash_object_store *s, const char *name, size_t len)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_error err = ASH_ERROR_INIT;
    char *data = ash__alloc(len);
    memset(data, 'a', len);
    meta.name = name;
    meta.chunk_size = 1000;
    ash_assert(ash_object_store_put_bytes(s, &meta, data, len, NULL, NULL, NULL, &err) == 0);
    ash__free(data);
}

static void delete_all(void)
{
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    ash_error err = ASH_ERROR_INIT;
    ash_assert(ash_object_manager_list(manager, NULL, &l, &err) == 0);
    while (ash_object_status_listing_next(l, &st, &err) == 0 && st != NULL)
        ash_assert(ash_object_manager_delete(manager, ash_object_status_name(st), NULL, &err) == 0);
    ash_object_status_listing_free(l);
}

/* The same at the start of each input. */
static void make_store(void)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *s = NULL;
    ash_error err = ASH_ERROR_INIT;
    delete_all();
    c.name = "s";
    ash_assert(ash_object_manager_create(manager, &c, NULL, &s, &err) == 0);
    put(s, "a", 2500);
    put(s, "b", 3);
    ash_object_store_close(s);
}

static void remove_all(void)
{
    ash__jetstream_free(jetstream);
    ash_object_manager_close(manager);
    ash_store_close(store);
    remove_folder(folder);
    ash__free(folder);
}

static void open_once(void)
{
    ash_store_options so = ASH_STORE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    const char *tmp = getenv("TMPDIR");
    if (folder != NULL)
        return;
    folder = ash__sprintf("%s/ashlar-fuzz-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ash_assert(mkdtemp(folder) != NULL);
    so.durability = ASH_DURABILITY_INTERVAL;
    ash_assert(ash_store_open(folder, &so, &store, &err) == 0);
    ash_assert(ash_object_manager_new(store, NULL, &manager, &err) == 0);
    ash_assert(ash__jetstream_new(store, &jetstream, &err) == 0);
    make_store();
    atexit(remove_all);
}

/* ---- messages ---- */

static bool changes(const char *subject)
{
    static const char *const reads[] = {"$JS.API.CONSUMER.", "$JS.API.DIRECT.", "$JS.API.INFO",
                                        "$JS.API.STREAM.INFO.", "$JS.API.STREAM.MSG.GET."};
    for (size_t i = 0; i < ASH_ARRAY_LEN(reads); i++)
        if (strncmp(subject, reads[i], strlen(reads[i])) == 0)
            return false;
    return true;
}

/* The next field, ended by `stop`; a copy: ash__free(). */
static char *field(const uint8_t **at, const uint8_t *end, uint8_t stop, size_t *len)
{
    const uint8_t *found = memchr(*at, stop, (size_t)(end - *at));
    const uint8_t *to = found != NULL ? found : end;
    char *copy = ash__strndup((const char *)*at, (size_t)(to - *at));
    *len = (size_t)(to - *at);
    *at = found != NULL ? found + 1 : end;
    return copy;
}

static bool publish(near_client *c, const uint8_t *data, const uint8_t *end)
{
    size_t len = 0;
    char *subject = field(&data, end, 0x1f, &len), *lines = field(&data, end, 0x1f, &len);
    char *headers = ash__sprintf("NATS/1.0\r\n%s\r\n\r\n", lines);
    uint8_t *payload = ash__memdup(data, (size_t)(end - data));
    ash_nats_message m = {.subject = subject,
                          .reply = "_I.a",
                          .headers = len > 0 ? headers : NULL,
                          .headers_len = len > 0 ? strlen(headers) : 0,
                          .data = payload,
                          .len = (size_t)(end - data)};
    bool changed =
        ash__nats_subject_valid(subject) && near_client_publish(c, &m) && changes(subject);
    near_client_pump(c, MOST_PUMPS);
    check_heard(near_client_heard(c));
    ash__free(subject);
    ash__free(lines);
    ash__free(headers);
    ash__free(payload);
    return changed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    bool changed = false;
    open_once();
    const ash_nats_service *service = ash__jetstream_service();
    near_client *c = near_client_new(service, jetstream);
    for (int i = 0; i < MOST_MESSAGES && data < end; i++) {
        const uint8_t *stop = memchr(data, 0x1e, (size_t)(end - data));
        changed = publish(c, data, stop != NULL ? stop : end) || changed;
        data = stop != NULL ? stop + 1 : end;
    }
    near_client_free(c);
    service->keep_house(jetstream, ash__clock_ms() + ASH_JSD_PUT_IDLE_MS + 1);
    if (changed)
        make_store();
    return 0;
}

static size_t word_len(const uint8_t *data, size_t size, bool none)
{
    size_t len = 0;
    while (!none && len < size && strchr(" .:,}]\r\n\x1e\x1f", data[len]) == NULL)
        len++;
    return len;
}

/* A word that means something, in the place of one that is there: behind a blank, a mark or the end of
 * another field. */
static size_t put_word(uint8_t *data, size_t size, size_t max_size, rng *r)
{
    static const char *const words[] = {"null",
                                        "true",
                                        "[]",
                                        "{}",
                                        "0",
                                        "-1",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "1e999",
                                        "\"\"",
                                        "\"a\\r\\nPUB x 0\"",
                                        "\"\\u0000\"",
                                        "\"*\"",
                                        "\">\"",
                                        "$O.s.M.>",
                                        "$O.s.C.*",
                                        "$O.s.M.YQ==",
                                        "$JS.API.",
                                        "OBJ_",
                                        "OBJ_s",
                                        "s",
                                        "a",
                                        "by_start_time",
                                        "\"filter_subjects\"",
                                        "\"subjects_filter\"",
                                        "\"deliver_subject\"",
                                        "\"seq\"",
                                        "\"offset\"",
                                        "\"metadata\"",
                                        "\"link\"",
                                        "\"deleted\"",
                                        "\"digest\"",
                                        "\"chunks\"",
                                        "\"max_age\"",
                                        "Nats-TTL: 9999999999h",
                                        "Nats-Msg-Id:",
                                        "Ashlar-Expires: 1",
                                        "\x1f",
                                        "\x1e"};
    const char *word = words[rng_below(r, ASH_ARRAY_LEN(words))];
    size_t len = strlen(word), at = size > 0 ? rng_below(r, (uint32_t)size) : 0;
    while (at > 0 && strchr(" .:,{[\n\x1e\x1f", data[at - 1]) == NULL)
        at--;
    size_t old = word_len(data + at, size - at, rng_below(r, 4) == 0);
    if (size - old + len > max_size)
        return size;
    memmove(data + at + len, data + at + old, size - at - old);
    memcpy(data + at, word, len);
    return size - old + len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    rng r = rng_for(seed, 3);
    if (rng_below(&r, 4) == 0)
        return mutate_bytes(data, size, max_size, seed);
    for (uint32_t i = 1 + rng_below(&r, 3); i > 0; i--)
        size = put_word(data, size, max_size, &r);
    return size;
}
