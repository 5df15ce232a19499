/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of RFC 2253's grammar, narrowed to what OpenSSL writes. */
#include "user/subject.h"

#include <stdbool.h>
#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"
#define HEX     "0123456789ABCDEF" /* as it is written */

/* "CN", "2.5.4.45"; true: *at is behind it. */
static bool pass_type(const char **at)
{
    size_t letters = strspn(*at, LETTERS);
    size_t len = letters > 0 ? strspn(*at, LETTERS DIGITS "-") : strspn(*at, DIGITS ".");
    *at += len;
    return len > 0;
}

/* "\," or "\C3"; NULL: neither. */
static const char *pass_escape(const char *at)
{
    if (at[1] == '\0')
        return NULL;
    if (strchr(",+\"\\<>; #=", at[1]) != NULL)
        return at + 2;
    return at[2] != '\0' && strspn(at + 1, HEX) >= 2 ? at + 3 : NULL;
}

/* Up to the ',' or '+' behind it, or to the end.  What is wrong with it, or NULL. */
static const char *pass_value(const char **at)
{
    const char *begin = *at, *p = begin;
    if (*p == '#')
        p += 1 + strspn(p + 1, HEX);
    while (*p != '\0' && *p != ',' && *p != '+') {
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
            return "bytes outside ASCII are written as \\C3\\A9";
        if (*begin == '#' || strchr("\"<>;", *p) != NULL)
            return "characters that mean something are written behind a \\";
        if (*p == ' ' && (p == begin || p[1] == '\0' || p[1] == ',' || p[1] == '+'))
            return "there is no space around , + and =";
        p = *p == '\\' ? pass_escape(p) : p + 1;
        if (p == NULL)
            return "behind a \\ comes what it is for";
    }
    *at = p;
    return NULL;
}

/* "CN=ann"; as above. */
static const char *pass_pair(const char **at)
{
    if (**at == ' ')
        return "there is no space around , + and =";
    if (!pass_type(at) || **at != '=')
        return "it is made of TYPE=VALUE, with a comma between them";
    (*at)++;
    return pass_value(at);
}

int ash__subject_check(const char *name, ash_error *err)
{
    const char *at = name;
    const char *wrong = pass_pair(&at);
    while (wrong == NULL && *at != '\0') {
        at++;
        wrong = pass_pair(&at);
    }
    if (wrong == NULL)
        return 0;
    return ash__fail_server(
        err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
        "users of $external are named as the subject of their certificate, such "
        "as \"CN=ann,O=Example\": %s (openssl x509 -in FILE -noout -subject "
        "-nameopt RFC2253 prints it)",
        wrong);
}
