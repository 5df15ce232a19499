/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind what commands and stages need. */
#include "client.h"

#include "query/pipeline/pipeline.h"
#include "wire/needs.h"

#include <string.h>

static void test_wire_needs__each_command_needs_something(void **state)
{
    (void)state;
    size_t count;
    const ash_wire_command_info *list = ash__wire_commands(&count);
    for (size_t i = 0; i < count; i++) {
        const ash_need *need = &list[i].needs;
        bool by_action = need->kind == ASH_NEED_COLLECTION || need->kind == ASH_NEED_DATABASE ||
                         need->kind == ASH_NEED_CLUSTER;
        if (need->kind < ASH_NEED_NOTHING || need->kind > ASH_NEED_OWNER)
            fail_msg("%s needs nothing that is known", list[i].name);
        if (by_action != (need->actions != 0) ||
            (need->kind == ASH_NEED_OWN) != (need->check != NULL))
            fail_msg("%s: kind and rest do not fit", list[i].name);
        /* Or there would be no collection to ask about. */
        if (need->kind == ASH_NEED_COLLECTION && (list[i].flags & ASH_COMMAND_COLLECTION) == 0)
            fail_msg("%s names no collection", list[i].name);
        /* What changes something is for nobody who has not signed in. */
        if (need->kind == ASH_NEED_NOTHING && (list[i].flags & ASH_COMMAND_WRITES) != 0)
            fail_msg("%s writes and needs nothing", list[i].name);
    }
}

static void test_wire_needs__each_stage_is_known(void **state)
{
    (void)state;
    for (const ash_feature *f = ash__pipeline_features(); f->name != NULL; f++)
        if (strcmp(f->support, "refused") != 0 && !ash__need_knows_stage(f->name))
            fail_msg("nobody has said what the stage %s needs", f->name);
    assert_false(ash__need_knows_stage("$neverHeardOf"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_needs__each_command_needs_something),
        cmocka_unit_test(test_wire_needs__each_stage_is_known),
    };
    return cmocka_run_group_tests_name("wire needs", tests, NULL, NULL);
}
