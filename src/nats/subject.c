/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/subject.h"

#include <stddef.h>
#include <string.h>

static bool is_token(const char *token, size_t len, char wildcard)
{
    return len == 1 && token[0] == wildcard;
}

bool ash__nats_subject_valid(const char *subject)
{
    size_t len = 0; /* of the token */
    for (const char *at = subject; *at != '\0'; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f || (*at == '.' && len == 0))
            return false;
        len = *at == '.' ? 0 : len + 1;
    }
    return len > 0;
}

bool ash__nats_pattern_valid(const char *pattern)
{
    if (!ash__nats_subject_valid(pattern))
        return false;
    for (const char *at = pattern; *at != '\0';) {
        size_t len = strcspn(at, ".");
        if (is_token(at, len, '>') && at[len] != '\0')
            return false;
        at += len + (at[len] == '.');
    }
    return true;
}

bool ash__nats_has_wildcards(const char *pattern)
{
    for (const char *at = pattern; *at != '\0';) {
        size_t len = strcspn(at, ".");
        if (is_token(at, len, '*') || is_token(at, len, '>'))
            return true;
        at += len + (at[len] == '.');
    }
    return false;
}

bool ash__nats_matches(const char *pattern, const char *subject)
{
    for (;;) {
        size_t wanted = strcspn(pattern, "."), has = strcspn(subject, ".");
        if (is_token(pattern, wanted, '>'))
            return true;
        if (!is_token(pattern, wanted, '*') &&
            (wanted != has || memcmp(pattern, subject, has) != 0))
            return false;
        pattern += wanted;
        subject += has;
        if (*pattern == '\0' || *subject == '\0')
            return *pattern == *subject;
        pattern++;
        subject++;
    }
}
