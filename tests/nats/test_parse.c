/* SPDX-License-Identifier: Apache-2.0 */
/* Commands out of bytes: all of them, at every length that may have arrived, and what is none. */
#include "check.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "nats/parse.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PAYLOAD = 100000 };

static const char *text_or_none(const char *text)
{
    return text != NULL ? text : "-";
}

/* What was understood, as one text. */
static char *describe(ash_nats_outcome outcome, const ash_nats_command *m)
{
    static const char *const names[] = {"CONNECT", "PING", "PONG", "SUB", "UNSUB",
                                        "PUB",     "HPUB", "+OK",  "-ERR"};
    if (outcome == ASH_NATS_BAD)
        return ash__sprintf("bad: %s", m->text);
    if (outcome == ASH_NATS_PART)
        return ash__sprintf("part");
    return ash__sprintf("%s text=%s subject=%s queue=%s sid=%s reply=%s max=%llu headers=%.*s "
                        "data=%.*s size=%zu",
                        names[m->op], text_or_none(m->text), text_or_none(m->subject),
                        text_or_none(m->queue), text_or_none(m->sid), text_or_none(m->reply),
                        (unsigned long long)m->max, (int)m->headers_len,
                        m->headers != NULL ? m->headers : "", (int)m->len,
                        m->data != NULL ? (const char *)m->data : "", m->size);
}

/* In memory of just that size, so that a sanitizer sees what reads beyond it. */
static char *parsed(const char *bytes, size_t len)
{
    ash_nats_command command;
    uint8_t *data = ash__memdup(bytes, len);
    ash_nats_outcome outcome = ash__nats_parse(data, len, MAX_PAYLOAD, &command);
    char *text = describe(outcome, &command);
    if (outcome != ASH_NATS_WHOLE)
        assert_memory_equal(data, bytes, len);
    if (outcome == ASH_NATS_PART)
        assert_true(command.size > len);
    ash__free(data);
    return text;
}

static void assert_parsed(const char *bytes, const char *expected)
{
    char *text = parsed(bytes, strlen(bytes));
    assert_string_equal(text, expected);
    ash__free(text);
}

#define NOTHING "text=- subject=- queue=- sid=- reply=- max=0 headers= data= "

static const struct {
    const char *bytes, *expected;
} good[] = {
    {"PING\r\n", "PING " NOTHING "size=6"},
    {"ping \n", "PING " NOTHING "size=6"},
    {"PONG\r\n", "PONG " NOTHING "size=6"},
    {"+OK\r\n", "+OK " NOTHING "size=5"},
    {"-ERR 'No  way'\r\n",
     "-ERR text='No  way' subject=- queue=- sid=- reply=- max=0 headers= data= "
     "size=16"},
    {"CONNECT  {\"a\": 1} \r\n", "CONNECT text={\"a\": 1} subject=- queue=- sid=- reply=- max=0 "
                                 "headers= data= size=20"},
    {"SUB a.* 1\r\n", "SUB text=- subject=a.* queue=- sid=1 reply=- max=0 headers= data= size=11"},
    {"sub\ta.>  q\t 12\r\n",
     "SUB text=- subject=a.> queue=q sid=12 reply=- max=0 headers= data= size=16"},
    {"UNSUB 1\r\n", "UNSUB text=- subject=- queue=- sid=1 reply=- max=0 headers= data= size=9"},
    {"UNSUB 1 007\r\n",
     "UNSUB text=- subject=- queue=- sid=1 reply=- max=7 headers= data= size=13"},
    {"PUB a 0\r\n\r\n", "PUB text=- subject=a queue=- sid=- reply=- max=0 headers= data= size=11"},
    {"PUB a.b r 5\r\nhel\r\n\r\n",
     "PUB text=- subject=a.b queue=- sid=- reply=r max=0 headers= data=hel\r\n size=20"},
    {"PUB a 2\nhi\r\n",
     "PUB text=- subject=a queue=- sid=- reply=- max=0 headers= data=hi size=12"},
    {"HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
     "HPUB text=- subject=a queue=- sid=- reply=- max=0 headers=NATS/1.0\r\n\r\n data=hi size=30"},
    {"HPUB a r 18 18\r\nNATS/1.0\r\nA: b\r\n\r\n\r\n",
     "HPUB text=- subject=a queue=- sid=- reply=r max=0 headers=NATS/1.0\r\nA: b\r\n\r\n data= "
     "size=36"},
    {"HPUB a 0 2\r\nhi\r\n",
     "HPUB text=- subject=a queue=- sid=- reply=- max=0 headers= data=hi size=16"},
};

static void test_nats_parse__commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(good); i++)
        assert_parsed(good[i].bytes, good[i].expected);
}

/* However much of it has come: a part until it is whole, and nothing is changed before. */
static void test_nats_parse__split_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(good); i++) {
        size_t len = strlen(good[i].bytes);
        for (size_t have = 0; have < len; have++) {
            char *text = parsed(good[i].bytes, have);
            assert_string_equal(text, "part");
            ash__free(text);
        }
    }
}

/* What follows is none of its business. */
static void test_nats_parse__one_after_the_other(void **state)
{
    static const char *const firsts[] = {"PING ", "PUB ", "HPUB "};
    char bytes[] = "PING\r\nPUB a 4\r\nPING\r\nHPUB b 12 13\r\nNATS/1.0\r\n\r\nx\r\n";
    size_t at = 0;
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(firsts); i++) {
        ash_nats_command m;
        assert_int_equal(
            ash__nats_parse((uint8_t *)bytes + at, sizeof bytes - 1 - at, MAX_PAYLOAD, &m),
            ASH_NATS_WHOLE);
        char *text = describe(ASH_NATS_WHOLE, &m);
        assert_memory_equal(text, firsts[i], strlen(firsts[i]));
        ash__free(text);
        at += m.size;
    }
    assert_int_equal(at, sizeof bytes - 1);
}

static void test_nats_parse__bad_lines(void **state)
{
    static const struct {
        const char *bytes, *text;
    } bad[] = {
        {"GET / HTTP/1.1\r\n", "Unknown Protocol Operation"},
        {"G", "Unknown Protocol Operation"},
        {"\r\n", "Unknown Protocol Operation"},
        {"PUBLISH a 0\r\n\r\n", "Unknown Protocol Operation"},
        {"PINGS\r\n", "Unknown Protocol Operation"},
        {"P\r\n", "Unknown Protocol Operation"},
        /* What only servers say. */
        {"MSG a 9 2\r\nhi\r\n", "Unknown Protocol Operation"},
        {"HMSG a 9 12 12\r\nNATS/1.0\r\n\r\n\r\n", "Unknown Protocol Operation"},
        {"INFO {}\r\n", "Unknown Protocol Operation"},
        {"PUB\r\n", "Parser Error"},
        {"PUB a\r\n", "Parser Error"},
        {"PUB a b c 1\r\n", "Parser Error"},
        {"PUB a -1\r\n", "Parser Error"},
        {"PUB a +1\r\n", "Parser Error"},
        {"PUB a 1x\r\n", "Parser Error"},
        {"PUB a 18446744073709551617\r\n", "Parser Error"},
        {"PUB a 9999999999\r\n", "Parser Error"},
        {"PUB a 100001\r\n", "Maximum Payload Violation"},
        {"PUB a 2\r\nhi\n\n", "Parser Error"},
        {"PUB a 2\r\nhello", "Parser Error"},
        {"HPUB a 3 2\r\n", "Parser Error"},
        {"HPUB a 2\r\n", "Parser Error"},
        {"HPUB a x 2\r\n", "Parser Error"},
        {"HPUB a 12 100001\r\n", "Maximum Payload Violation"},
        {"HPUB a 12 12\r\nNATS/2.0\r\n\r\n\r\n", "Parser Error"},
        {"HPUB a 12 12\r\nNATS/1.0\r\nxx\r\n", "Parser Error"},
        {"HPUB a 4 4\r\nNATS\r\n", "Parser Error"},
        {"SUB\r\n", "Parser Error"},
        {"SUB a\r\n", "Parser Error"},
        {"SUB a b c d\r\n", "Parser Error"},
        {"SUB a b c d e f g h\r\n", "Parser Error"},
        {"UNSUB\r\n", "Parser Error"},
        {"UNSUB 1 x\r\n", "Parser Error"},
        {"UNSUB 1 1234567890123456789\r\n", "Parser Error"},
        {"UNSUB 1 2 3\r\n", "Parser Error"},
        {"CONNECT\r\n", "Parser Error"},
    };
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        char *expected = ash__sprintf("bad: %s", bad[i].text);
        assert_parsed(bad[i].bytes, expected);
        ash__free(expected);
    }
    char *text = parsed("PUB a\0b 0\r\n\r\n", 13);
    assert_string_equal(text, "bad: Parser Error");
    ash__free(text);
}

static void test_nats_parse__long_lines(void **state)
{
    ash_buffer line = ASH_BUFFER_INIT;
    (void)state;
    ash__buffer_append_text(&line, "SUB ");
    while (line.len < ASH_NATS_LINE_BYTES - 2)
        ash__buffer_append_byte(&line, 'a');
    ash__buffer_append_text(&line, " 1");
    char *text = parsed((const char *)line.data, line.len);
    assert_string_equal(text, "part");
    ash__free(text);
    ash__buffer_append_text(&line, "\r\n");
    text = parsed((const char *)line.data, line.len);
    assert_memory_equal(text, "SUB text=- subject=aaaaa", 24);
    ash__free(text);
    /* One more, with an end and without. */
    line.len -= 2;
    ash__buffer_append_text(&line, "1\r\n");
    for (size_t len = line.len; len > line.len - 3; len--) {
        bool over = len >= ASH_NATS_LINE_BYTES + 2;
        text = parsed((const char *)line.data, len);
        assert_string_equal(text, over ? "bad: Maximum Control Line Exceeded" : "part");
        ash__free(text);
    }
    line.data[line.len - 2] = line.data[line.len - 1] = '1';
    text = parsed((const char *)line.data, line.len);
    assert_string_equal(text, "bad: Maximum Control Line Exceeded");
    ash__free(text);
    ash__buffer_release(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nats_parse__commands),
        cmocka_unit_test(test_nats_parse__split_at_every_byte),
        cmocka_unit_test(test_nats_parse__one_after_the_other),
        cmocka_unit_test(test_nats_parse__bad_lines),
        cmocka_unit_test(test_nats_parse__long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
