/* SPDX-License-Identifier: Apache-2.0 */
#include "query/match_node.h"

int ash__match_parse_expr(ash_match_parser *p, ash_value arg, ash_match_node *list)
{
    (void)arg;
    (void)list;
    return ash__fail_server(p->err, ASH_EUNSUPPORTED, 238, "$expr is not supported");
}

bool ash__match_test_expr(ash_match_run *run, const ash_match_node *n, ash_doc doc)
{
    (void)run;
    (void)n;
    (void)doc;
    return false;
}
