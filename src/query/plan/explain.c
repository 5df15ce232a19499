/* SPDX-License-Identifier: Apache-2.0 */
/* The plan in the server's words and nesting, since tools and people read it so: outside what is
 * done last, inside where the documents come from. */
#include "query/plan/cover.h"

#include "base/mem.h"
#include "query/plan/bounds.h"

#include <string.h>

#define SORT_MEMORY_BYTES (100 * 1024 * 1024)
#define ALL_RANGES        UINT32_MAX

/* One frame around the stage below it; frames are written from the outside in. */
struct frame {
    const ash_plan *plan;
    const ash_matcher *filter;
    const ash_plan_shape *shape;
    ash_builder *out;
};

static void text_field(ash_builder *b, const char *name, const ash_bounds *bounds, bool reversed)
{
    ash_buffer text = ASH_BUFFER_INIT;
    ash__builder_begin_array(b, name);
    for (uint32_t i = 0; i < bounds->count; i++) {
        uint32_t at = reversed ? bounds->count - 1 - i : i;
        char index[12];
        ash__buffer_clear(&text);
        ash__interval_text(&text, &bounds->items[at], reversed);
        ash__builder_text(b, ash__index_name(i, index), ash__buffer_text(&text));
    }
    if (bounds->is_all || bounds->count == 0)
        ash__builder_text(b, "0", reversed ? "[MaxKey, MinKey]" : "[MinKey, MaxKey]");
    ash__builder_end(b);
    ash__buffer_release(&text);
}

/* One part's bounds; of the range alone where ranges are shown one by one. */
static void append_part(const struct frame *f, const ash_index_bounds *bounds, uint32_t part,
                        uint32_t range)
{
    const ash_bounds all = {.is_all = true};
    const ash_key_pattern *pattern = f->plan->index->pattern;
    const ash_bounds *shown = part < bounds->used ? &bounds->parts[part] : &all;
    ash_bounds one = {.count = 1};
    if (range != ALL_RANGES && part < bounds->used) {
        one.items = &shown->items[ash__index_range_interval(pattern, bounds, part, range)];
        shown = &one;
    }
    text_field(f->out, pattern->parts[part].path, shown,
               pattern->parts[part].descending != f->plan->backward);
}

/* The bounds are found again from the condition: a plan keeps only their bytes. */
static void append_bounds(const struct frame *f, uint32_t range)
{
    const ash_key_pattern *pattern = f->plan->index->pattern;
    ash_conjuncts conjuncts;
    ash_index_bounds bounds;
    ash__conjuncts_of((const ash_match_node *)f->plan->condition, &conjuncts);
    ash__index_bounds(f->plan->index, &conjuncts, ash__matcher_collation(f->filter), &bounds);
    /* An interval that no key can lie in has left no range. */
    if (ash__index_range_count(&bounds) != f->plan->range_count)
        range = ALL_RANGES;
    ash__builder_begin_doc(f->out, "indexBounds");
    for (uint32_t i = 0; i < pattern->count; i++)
        append_part(f, &bounds, i, range);
    ash__builder_end(f->out);
    ash__index_bounds_release(&bounds, pattern->count);
    ash__conjuncts_release(&conjuncts);
}

static void append_scan(const struct frame *f, uint32_t range)
{
    const ash_index_desc *index = f->plan->index;
    ash__builder_text(f->out, "stage", "IXSCAN");
    ash__builder_doc_value(f->out, "keyPattern", ash__doc_from_bson(index->key));
    ash__builder_text(f->out, "indexName", index->name);
    ash__builder_bool(f->out, "isMultiKey", index->multikey);
    ash__builder_bool(f->out, "isUnique", index->unique);
    ash__builder_bool(f->out, "isSparse", index->sparse);
    ash__builder_bool(f->out, "isPartial", index->partial != NULL);
    /* What the server shows for all indexes made since its version 3.4. */
    ash__builder_int32(f->out, "indexVersion", 2);
    ash__builder_text(f->out, "direction", f->plan->backward ? "backward" : "forward");
    append_bounds(f, range);
}

static void append_merge(const struct frame *f)
{
    ash__builder_text(f->out, "stage", "SORT_MERGE");
    ash__builder_doc_value(f->out, "sortPattern", ash__doc_from_bson(f->shape->sort));
    ash__builder_begin_array(f->out, "inputStages");
    for (uint32_t i = 0; i < f->plan->range_count; i++) {
        char index[12];
        ash__builder_begin_doc(f->out, ash__index_name(i, index));
        append_scan(f, i);
        ash__builder_end(f->out);
    }
    ash__builder_end(f->out);
}

static void append_branches(const struct frame *f)
{
    ash__builder_text(f->out, "stage", "OR");
    ash__builder_begin_array(f->out, "inputStages");
    for (uint32_t i = 0; i < f->plan->branch_count; i++) {
        char index[12];
        struct frame branch = *f;
        branch.plan = f->plan->branches[i];
        ash__builder_begin_doc(f->out, ash__index_name(i, index));
        if (branch.plan->kind == ASH_PLAN_OR)
            append_branches(&branch);
        else if (branch.plan->kind == ASH_PLAN_IXSCAN)
            append_scan(&branch, ALL_RANGES);
        else
            ash__builder_text(f->out, "stage", "EOF");
        ash__builder_end(f->out);
    }
    ash__builder_end(f->out);
}

static void append_filter(const struct frame *f)
{
    if (f->plan->needs_fetch_filter && !ash__matcher_is_empty(f->filter))
        ash__builder_doc_value(f->out, "filter", ash__matcher_filter(f->filter));
}

static void append_keys(const struct frame *f)
{
    if (f->plan->kind == ASH_PLAN_OR)
        append_branches(f);
    else if (f->plan->merges)
        append_merge(f);
    else
        append_scan(f, ALL_RANGES);
}

static void append_access(const struct frame *f)
{
    switch (f->plan->kind) {
    case ASH_PLAN_EMPTY:
        ash__builder_text(f->out, "stage", "EOF");
        return;
    case ASH_PLAN_COLLSCAN:
        ash__builder_text(f->out, "stage", "COLLSCAN");
        append_filter(f);
        ash__builder_text(f->out, "direction", f->plan->backward ? "backward" : "forward");
        return;
    default:
        ash__builder_text(f->out, "stage", "FETCH");
        append_filter(f);
        ash__builder_begin_doc(f->out, "inputStage");
        append_keys(f);
        ash__builder_end(f->out);
    }
}

static bool sorts(const struct frame *f)
{
    return f->shape->sort != NULL && !bson_empty(f->shape->sort) && !f->plan->provides_sort;
}

static void append_sort(const struct frame *f)
{
    if (!sorts(f)) {
        append_access(f);
        return;
    }
    ash__builder_text(f->out, "stage", "SORT");
    ash__builder_doc_value(f->out, "sortPattern", ash__doc_from_bson(f->shape->sort));
    ash__builder_int32(f->out, "memLimit", SORT_MEMORY_BYTES);
    /* What is skipped has to be sorted, too. */
    if (f->shape->limit > 0 && f->shape->skip <= INT64_MAX - f->shape->limit)
        ash__builder_int64(f->out, "limitAmount", f->shape->limit + f->shape->skip);
    ash__builder_text(f->out, "type", "simple");
    ash__builder_begin_doc(f->out, "inputStage");
    append_access(f);
    ash__builder_end(f->out);
}

static void append_projection(const struct frame *f)
{
    if (f->shape->projection == NULL || bson_empty(f->shape->projection)) {
        append_sort(f);
        return;
    }
    /* What is sorted in memory has been fetched, so nothing is covered then. */
    bool simple = true, covered = f->shape->covers && !sorts(f) &&
                                  ash__cover_serves(f->shape->projection, f->plan);
    ash_doc spec = ash__doc_from_bson(f->shape->projection);
    for (ash_doc_iter it = ash__doc_iter(spec); ash__doc_iter_next(&it);)
        simple = simple && strchr(it.name, '.') == NULL &&
                 (ash__value_is_number(it.value) || it.value.type == BSON_TYPE_BOOL);
    ash__builder_text(f->out, "stage",
                      covered  ? "PROJECTION_COVERED"
                      : simple ? "PROJECTION_SIMPLE"
                               : "PROJECTION_DEFAULT");
    ash__builder_doc_value(f->out, "transformBy", spec);
    ash__builder_begin_doc(f->out, "inputStage");
    if (covered)
        append_keys(f);
    else
        append_sort(f);
    ash__builder_end(f->out);
}

static void append_skip(const struct frame *f)
{
    if (f->shape->skip <= 0) {
        append_projection(f);
        return;
    }
    ash__builder_text(f->out, "stage", "SKIP");
    ash__builder_int64(f->out, "skipAmount", f->shape->skip);
    ash__builder_begin_doc(f->out, "inputStage");
    append_projection(f);
    ash__builder_end(f->out);
}

void ash__plan_explain(const ash_plan *p, const ash_matcher *filter, const ash_plan_shape *shape,
                       bson_t *out)
{
    static const ash_plan_shape plain = {NULL, NULL, 0, 0, false};
    ash_builder b = ASH_BUILDER_INIT;
    struct frame f = {p, filter, shape == NULL ? &plain : shape, &b};
    bson_t stage;
    ash__builder_begin(&b);
    if (f.shape->limit > 0) {
        ash__builder_text(&b, "stage", "LIMIT");
        ash__builder_int64(&b, "limitAmount", f.shape->limit);
        ash__builder_begin_doc(&b, "inputStage");
        append_skip(&f);
        ash__builder_end(&b);
    } else {
        append_skip(&f);
    }
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &stage);
    bson_concat(out, &stage);
    ash__builder_release(&b);
}
