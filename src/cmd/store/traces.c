/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/store/traces.h"

#include "base/error.h"
#include "base/mem.h"
#include "bson/builder.h"

#include <string.h>

/* The words were checked with the other options. */
static unsigned kinds_of(const char *filter)
{
    unsigned kinds = 0;
    char *rest = NULL, *list = ash__strdup(filter != NULL ? filter : "");
    for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
        kinds |= ash__audit_kind(word);
    ash__free(list);
    return kinds;
}

int ash__traces_open(ash_serving *serving, ash_error *err)
{
    serving->attempts = ash__attempts_new();
    serving->usage = ash__usage_table_new();
    if (serving->audit_path == NULL)
        return 0;
    ash_audit_options opts = {.path = serving->audit_path,
                              .kinds = kinds_of(serving->audit_filter),
                              .max_bytes = serving->audit_bytes,
                              .keep = serving->audit_keep};
    return ash__audit_open(&opts, &serving->audit, err);
}

void ash__traces_tell(const ash_serving *serving, const char *type, const ash_faces *faces)
{
    ash_builder param = ASH_BUILDER_INIT;
    ash_buffer addresses = ASH_BUFFER_INIT;
    if (serving->audit == NULL)
        return;
    ash__faces_describe(faces, serving, &addresses);
    ash__builder_begin(&param);
    ash__builder_text(&param, "version", ASH_VERSION);
    const char *text = ash__buffer_text(&addresses);
    ash__builder_text(&param, "addresses", text + (text[0] == ' '));
    ash__builder_end(&param);
    ash_audit_event event = {
        .kind = ASH_AUDIT_SERVER, .type = type, .param = ash__builder_doc(&param)};
    ash__audit_write(serving->audit, &event);
    ash__builder_release(&param);
    ash__buffer_release(&addresses);
}

void ash__traces_close(ash_serving *serving)
{
    ash__audit_close(serving->audit);
    ash__attempts_free(serving->attempts);
    ash__usage_table_free(serving->usage);
    serving->audit = NULL;
    serving->attempts = NULL;
    serving->usage = NULL;
}
