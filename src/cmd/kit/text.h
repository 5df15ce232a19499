/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_TEXT_H
#define ASH_CMD_KIT_TEXT_H

#include <stdarg.h>

#include <bson/bson.h>

/* The object as relaxed Extended JSON, whatever it holds: what is not UTF-8 becomes U+FFFD, and
 * control characters are escaped.  The caller frees. */
char *ash__cmd_json_text(const bson_t *object);

/* vsnprintf that never ends amid a character. */
void ash__cmd_format(char *buf, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* The same without a limit, as ash__cmd_printable() shows it.  The caller frees. */
char *ash__cmd_format_printable(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

#endif
