/* SPDX-License-Identifier: Apache-2.0 */
/* The settings file of `serve`: any bytes are settings or errors with their lines, and what was
 * taken reads the same when it is written out. */
#include "fuzz.h"

#include "base/mem.h"
#include "base/text.h"
#include "cmd/store/settings.h"

#include <string.h>

static int count_lines(const uint8_t *data, size_t size)
{
    int lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

static void check_errors(const ash_settings *s, int lines)
{
    for (size_t i = 0; i < s->error_count && i < ASH_SETTINGS_MAX_ERRORS; i++) {
        const char *text = s->errors[i].text;
        ash_assert(s->errors[i].line >= 0 && s->errors[i].line <= lines);
        ash_assert(text[0] != '\0' && ash__text_good(text, strlen(text)) == strlen(text));
    }
}

static bool is_list(int key)
{
    return key <= ASH_SET_HTTP || key == ASH_SET_HTTP_HOST || key == ASH_SET_AUDIT_FILTER;
}

/* Values are quoted, so that blanks, commas and signs stay; what has quotes was refused. */
static void write_out(const ash_settings *s, ash_buffer *out)
{
    for (int i = 0; i < ASH_SETTINGS; i++) {
        const char *value = s->values[i], *name = ash__setting_name((ash_setting)i);
        if (value == NULL)
            continue;
        ash_assert(strchr(value, '"') == NULL && strchr(value, '\n') == NULL);
        if (is_list(i))
            ash__buffer_printf(out, "%s = %s\n", name, value);
        else
            ash__buffer_printf(out, "%s = \"%s\"\n", name, value[0] != '\0' ? value : "yes");
    }
    ash__buffer_append_text(out, "[webdav]\n");
    for (size_t i = 0; i < s->endpoint_count; i++)
        ash__buffer_printf(out, "endpoints = \"%s/\" \"%s\"\n", s->endpoints[i].prefix,
                           s->endpoints[i].root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_settings s = {0}, again = {0};
    ash_buffer text = ASH_BUFFER_INIT;
    /* Of just its size, so that a byte too many shows under a sanitizer. */
    char *exact = ash__memdup(data, size);
    ash__settings_parse(exact, size, &s);
    check_errors(&s, count_lines(data, size));
    /* A list, or a value with what is put around it, may be longer than a line. */
    if (s.error_count == 0 && size < ASH_SETTINGS_MAX_LINE / 4) {
        write_out(&s, &text);
        ash__settings_parse((const char *)text.data, text.len, &again);
        ash_assert(again.error_count == 0);
        for (int i = 0; i < ASH_SETTINGS; i++)
            ash_assert(ash__setting_is_same((ash_setting)i, &s, &again));
    }
    ash__settings_release(&s);
    ash__settings_release(&again);
    ash__buffer_release(&text);
    ash__free(exact);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}
