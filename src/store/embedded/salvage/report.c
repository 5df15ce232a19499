/* SPDX-License-Identifier: Apache-2.0 */
/* What was copied, what was not and why: each finding as a document, the losses as one sentence. */

#include "store/embedded/salvage/internal.h"

#include "base/mem.h"
#include "segment/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ash__finding_begin(ash_builder *facts, const char *kind, const char *db, const char *coll)
{
    memset(facts, 0, sizeof *facts);
    ash__builder_begin(facts);
    ash__builder_text(facts, "kind", kind);
    if (db != NULL)
        ash__builder_text(facts, "db", db);
    if (coll != NULL)
        ash__builder_text(facts, "collection", coll);
}

void ash__finding_place(ash_builder *facts, const ash_salvage_record *r)
{
    if (r->place.segment == 0)
        return;
    ash__builder_int64(facts, "segment", r->place.segment);
    ash__builder_int64(facts, "offset", (int64_t)r->place.block * ASH_BLOCK_BYTES);
}

const char *ash__finding_doubt(const ash_salvage_record *r)
{
    return r->vacant ? "not copied: it was deleted, or is of a commit of which no more is known"
                     : "copied, but it may have been changed or deleted since";
}

void ash__finding_tell(ash_salvaging *w, ash_builder *facts, bool lost, const char *format, ...)
{
    va_list args;
    bson_t view;
    ash_assert(format != NULL);
    va_start(args, format);
    /* Measured first: names of files have no bound here. */
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = ash__alloc((size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    w->report->lost += lost;
    ash__builder_bool(facts, "lost", lost);
    ash__builder_text(facts, "text", text);
    ash__builder_end(facts);
    ash__doc_to_bson(ash__builder_doc(facts), &view);
    if (w->opts->finding != NULL)
        w->opts->finding(w->opts->ctx, &view);
    ash__builder_release(facts);
    ash__free(text);
}

static void add_lost(ash_buffer *text, uint64_t count, const char *what, const char *behind,
                     bool last)
{
    if (count == 0)
        return;
    ash__buffer_printf(text, "%s%llu %s%s%s",
                       text->len == 0 ? ""
                       : last         ? " and "
                                      : ", ",
                       (unsigned long long)count, what, count == 1 ? "" : "s", behind);
}

char *ash__salvage_lost_text(const ash_salvage_report *r)
{
    ash_buffer text = ASH_BUFFER_INIT;
    char chunks[80] = "";
    uint64_t others = r->lost - r->lost_files - r->lost_documents;
    if (r->lost_chunks > 0)
        snprintf(chunks, sizeof chunks, " (%llu chunk%s damaged or missing)",
                 (unsigned long long)r->lost_chunks, r->lost_chunks == 1 ? "" : "s");
    add_lost(&text, r->lost_files, "file", chunks, false);
    add_lost(&text, r->lost_documents, "document", "", others == 0);
    add_lost(&text, others, "other thing", "", true);
    char *out = ash__strdup(ash__buffer_text(&text));
    ash__buffer_release(&text);
    return out;
}
