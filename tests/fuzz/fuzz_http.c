/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP's clients send: a head, its target, conditions, ranges, digests and If field; a body in
 * chunks or a form, cut anywhere with the same outcome; and XML. */
#include "fuzz.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "http/body.h"
#include "http/condition.h"
#include "http/date.h"
#include "http/dav/if.h"
#include "http/dav/sums.h"
#include "http/dav/xml.h"
#include "http/head.h"
#include "http/multipart.h"
#include "http/target.h"

#include <string.h>

static void check_target(const char *text)
{
    ash_http_target t, again;
    ash_buffer encoded = ASH_BUFFER_INIT;
    const char *why = NULL;
    char *value = NULL, *host = NULL;
    if (ash__http_target_parse(text, &t, &host, &why) && t.path != NULL) {
        ash_assert(t.path[0] == '/' && strstr(t.path, "//") == NULL &&
                   strstr(t.path, "/../") == NULL);
        size_t len = strlen(t.path);
        ash_assert(len == 1 || t.path[len - 1] != '/');
        /* What it means is said again as it is encoded. */
        ash__http_target_encode(&encoded, t.path);
        ash_assert(ash__http_target_parse(ash__buffer_text(&encoded), &again, NULL, &why));
        ash_assert(strcmp(again.path, t.path) == 0);
        ash__http_target_release(&again);
        ash__http_target_query(&t, "a", &value);
        ash__http_target_flag(&t, "b");
    } else {
        ash_assert(why != NULL || t.path == NULL);
    }
    ash__free(host);
    ash__free(value);
    ash__buffer_release(&encoded);
    ash__http_target_release(&t);
}

static bool never(void *ctx, const ash_dav_condition *c)
{
    (void)ctx;
    ash_assert(c->text != NULL);
    return false;
}

static void check_fields(const ash_head *head)
{
    const ash_validators now = {"\"1\"", 784111777000};
    ash_range ranges[ASH_MAX_RANGES];
    ash_dav_if asked;
    bool bad;
    int64_t ms;
    int status = ash__http_condition_check(head, head->method, &now);
    ash_assert(status == 0 || status == 304 || status == 412);
    int count = ash__ranges(head, 1000, &now, ranges);
    ash_assert(count >= -1 && count <= ASH_MAX_RANGES);
    for (int i = 0; i < count; i++)
        ash_assert(ranges[i].start >= 0 && ranges[i].start < ranges[i].end &&
                   ranges[i].end <= 1000);
    char *text = ash__head_join(head, "If");
    if (ash__dav_if_parse(text, &asked))
        ash__dav_if_holds(&asked, never, NULL);
    ash_assert(asked.count <= ASH_IF_MAX_CONDITIONS);
    ash__dav_if_release(&asked);
    ash__free(text);
    ash_dav_sums *sums = ash__dav_sums_new(head, &bad);
    ash__dav_sums_add(sums, "x", 1);
    ash__dav_sums_broken(sums);
    ash__dav_sums_free(sums);
    ash_multipart form;
    ash__multipart_init(&form, ash__head_field(head, "Content-Type"));
    ash__multipart_release(&form);
    for (size_t i = 0; i < head->field_count; i++) {
        ash_assert(strpbrk(head->fields[i].value, "\r\n") == NULL);
        ash__http_date_parse(head->fields[i].value, &ms);
        ash__date_parse_iso(head->fields[i].value, &ms);
    }
}

/* Bytes of the head; 0: it is none. */
static size_t check_head(const uint8_t *data, size_t size)
{
    ash_head head;
    size_t used = 0;
    const char *why = NULL;
    char *bytes = ash__memdup(data, size);
    int status = ash__head_parse(bytes, size, &head, &used, &why);
    if (status == ASH_HEAD_DONE) {
        ash_assert(used > 0 && used <= size);
        check_target(head.target);
        check_fields(&head);
    } else {
        ash_assert(status == ASH_HEAD_INCOMPLETE || why != NULL);
        used = 0;
    }
    ash__free(bytes);
    return used;
}

/* The content, in pieces of so many bytes; false: it is no body. */
static bool decode(const uint8_t *data, size_t size, size_t step, ash_buffer *out, bool *over)
{
    ash_body b;
    size_t at = 0, there = 0;
    ash__body_init(&b, -1);
    for (;;) {
        size_t used, len;
        const char *piece;
        there = there + step < size ? there + step : size;
        if (!ash__body_next(&b, (const char *)data + at, there - at, &used, &piece, &len))
            return false;
        if (len > 0)
            ash__buffer_append(out, piece, len);
        at += used;
        ash_assert(at <= there);
        *over = ash__body_is_over(&b);
        if (*over || (there == size && used == 0))
            return true;
    }
}

static void check_body(const uint8_t *data, size_t size)
{
    ash_buffer one = ASH_BUFFER_INIT, many = ASH_BUFFER_INIT;
    bool over_one = false, over_many = false;
    if (size == 0)
        return;
    bool good = decode(data, size, size, &one, &over_one);
    ash_assert(decode(data, size, 1, &many, &over_many) == good);
    if (good)
        ash_assert(over_one == over_many && one.len == many.len &&
                   (one.len == 0 || memcmp(one.data, many.data, one.len) == 0));
    ash__buffer_release(&one);
    ash__buffer_release(&many);
}

/* What a form says, in pieces of so many bytes. */
static void read_form(const uint8_t *data, size_t size, size_t step, ash_buffer *out)
{
    ash_multipart m;
    int event = ASH_MULTIPART_MORE;
    ash_assert(ash__multipart_init(&m, "multipart/form-data; boundary=b"));
    for (size_t start = 0; start < size && event >= 0 && event != ASH_MULTIPART_END;) {
        size_t left = step < size - start ? step : size - start;
        char *copy = ash__memdup(data + start, left), *at = copy;
        start += left;
        do {
            size_t used = 0, len = 0;
            const char *piece = NULL;
            event = ash__multipart_next(&m, at, left, &used, &piece, &len);
            ash_assert(used <= left && len <= size);
            at += used;
            left -= used;
            if (event == ASH_MULTIPART_PART)
                ash__buffer_printf(out, "[%s|%s|%s]", m.name != NULL ? m.name : "-",
                                   m.file_name != NULL ? m.file_name : "-",
                                   m.type != NULL ? m.type : "-");
            else if (event == ASH_MULTIPART_DATA)
                ash__buffer_append(out, piece, len);
            else if (event != ASH_MULTIPART_MORE)
                ash__buffer_printf(out, "(%d)", event);
            ash_assert(m.file_name == NULL || strpbrk(m.file_name, "/\\") == NULL);
        } while (event > ASH_MULTIPART_MORE && event != ASH_MULTIPART_END);
        ash__free(copy);
    }
    ash__multipart_release(&m);
}

static void check_form(const uint8_t *data, size_t size)
{
    ash_buffer one = ASH_BUFFER_INIT, many = ASH_BUFFER_INIT;
    if (size > 0) {
        read_form(data, size, size, &one);
        read_form(data, size, 1, &many);
        ash_assert(one.len == many.len &&
                   (one.len == 0 || memcmp(one.data, many.data, one.len) == 0));
    }
    ash__buffer_release(&one);
    ash__buffer_release(&many);
}

static void check_xml(const uint8_t *data, size_t size)
{
    ash_xml_reader *r = ash__xml_reader_new(4096, true);
    if (ash__xml_reader_take(r, data, size)) {
        const ash_xml_node *root = ash__xml_reader_finish(r);
        if (root != NULL)
            ash__xml_child(root, "DAV:", "prop");
    }
    ash__xml_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t head = check_head(data, size);
    check_body(data + head, size - head);
    check_form(data + head, size - head);
    check_xml(data + head, size - head);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}
