/* SPDX-License-Identifier: Apache-2.0 */
/* $project $addFields $set $unset $replaceRoot $replaceWith. */
#include "query/pipeline/stage.h"

#include "base/mem.h"
#include "query/project/reshape.h"

struct reshape_state {
    ash_reshape *reshape;
    ash_arena *arena;
    ash_builder out;
};

static int parse_reshape(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    ash_reshape *reshape;
    int rc = ash__reshape_new(op->name, spec, p->pipeline->env, &reshape, p->err);
    if (rc != 0)
        return rc;
    p->head_open = false;
    struct reshape_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->reshape = reshape;
    s->arena = ash__arena_new();
    return 0;
}

static int next_reshape(ash_stage *s, ash_doc *out, ash_error *err)
{
    struct reshape_state *state = s->state;
    ash_doc doc;
    int rc = ash__stage_pull(s, &doc, err);
    if (rc != 0 || doc.data == NULL)
        return rc;
    /* What the document before was made of is not needed any more. */
    ash__arena_reset(state->arena);
    rc = ash__reshape_apply(state->reshape, doc, state->arena, &state->out, err);
    if (rc == 0)
        *out = ash__builder_doc(&state->out);
    return rc;
}

static void free_reshape(void *state)
{
    struct reshape_state *s = state;
    ash__reshape_free(s->reshape);
    ash__arena_free(s->arena);
    ash__builder_release(&s->out);
}

#define RESHAPE(name)                                                                              \
    {                                                                                              \
        name, ASH_STAGE_STREAM, parse_reshape, next_reshape, free_reshape, NULL                    \
    }

const ash_stage_op ash__stage_reshape_ops[] = {
    RESHAPE("$project"),     RESHAPE("$addFields"),   RESHAPE("$set"), RESHAPE("$unset"),
    RESHAPE("$replaceRoot"), RESHAPE("$replaceWith"), {NULL},
};
