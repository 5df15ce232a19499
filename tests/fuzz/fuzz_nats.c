/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of NATS' protocol: parsed as they come and cut anywhere, with the same outcome; and what
 * a CONNECT asks for, subjects and subscriptions with them. */
#include "fuzz.h"

#include "base/mem.h"
#include "nats/hello.h"
#include "nats/parse.h"
#include "nats/subject.h"
#include "nats/subs.h"

#include <string.h>

enum { MAX_PAYLOAD = 5000, MOST_COMMANDS = 100 };

static void check_lies_in(const void *part, size_t len, const uint8_t *data, size_t size)
{
    const uint8_t *at = part;
    ash_assert(at == NULL ||
               (at >= data && at <= data + size && len <= (size_t)(data + size - at)));
}

static void check_text(const char *text, const uint8_t *data, size_t size)
{
    if (text != NULL)
        check_lies_in(text, strlen(text) + 1, data, size);
}

static void check_whole(const ash_nats_command *m, const uint8_t *data, size_t size)
{
    ash_assert(m->size > 0 && m->size <= size && m->len + m->headers_len <= MAX_PAYLOAD);
    check_text(m->text, data, size);
    check_text(m->subject, data, size);
    check_text(m->queue, data, size);
    check_text(m->sid, data, size);
    check_text(m->reply, data, size);
    check_lies_in(m->headers, m->headers_len, data, size);
    check_lies_in(m->data, m->len, data, size);
}

static void take(ash_nats_subs *subs, const ash_nats_command *m)
{
    ash_nats_wishes wishes = ASH_NATS_WISHES_INIT;
    if (m->op == ASH_NATS_CONNECT && ash__nats_read_connect(m->text, &wishes)) {
        ash_assert(strlen(wishes.name) < sizeof wishes.name);
        ash_assert(wishes.headers || !wishes.no_responders);
    } else if (m->op == ASH_NATS_SUB && ash__nats_pattern_valid(m->subject)) {
        ash_assert(ash__nats_matches(m->subject, m->subject));
        ash__nats_subs_add(subs, m->subject, m->queue, m->sid);
    } else if (m->op == ASH_NATS_UNSUB) {
        ash__nats_subs_end(subs, m->sid, m->max);
    } else if (m->subject != NULL && ash__nats_subject_valid(m->subject)) {
        ash_nats_matches all = ash__nats_matches_of(subs, m->subject);
        ash_nats_sub *sub;
        while ((sub = ash__nats_matches_next(&all)) != NULL) {
            ash_assert(ash__nats_matches(sub->subject, m->subject));
            sub->delivered++;
        }
        ash__nats_subs_drop_done(subs);
    }
}

/* Of memory that ends where the bytes end, however many have come: part of it first, or an error
 * that stays one. */
static ash_nats_outcome parse_cut(const uint8_t *data, size_t size, size_t cut)
{
    ash_nats_command first, second;
    uint8_t *some = ash__memdup(data, cut), *all = ash__memdup(data, size);
    ash_nats_outcome early = ash__nats_parse(some, cut, MAX_PAYLOAD, &first);
    ash_nats_outcome late = ash__nats_parse(all, size, MAX_PAYLOAD, &second);
    if (early == ASH_NATS_PART)
        ash_assert(first.size > cut && (late != ASH_NATS_WHOLE || first.size <= second.size));
    else
        ash_assert(early == late);
    if (early == ASH_NATS_WHOLE)
        ash_assert(first.op == second.op && first.size == second.size);
    ash__free(some);
    ash__free(all);
    return late;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_nats_subs subs = {0};
    uint8_t *bytes = ash__memdup(data, size);
    size_t at = 0;
    for (int i = 0; i < MOST_COMMANDS && at < size; i++) {
        ash_nats_command m;
        size_t left = size - at;
        ash_nats_outcome foreseen = parse_cut(bytes + at, left, (size_t)i * 7 % left);
        ash_nats_outcome outcome = ash__nats_parse(bytes + at, left, MAX_PAYLOAD, &m);
        ash_assert(outcome == foreseen);
        if (outcome != ASH_NATS_WHOLE)
            break;
        check_whole(&m, bytes + at, left);
        take(&subs, &m);
        at += m.size;
    }
    ash__nats_subs_release(&subs);
    ash__free(bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}
