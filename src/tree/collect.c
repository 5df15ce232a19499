/* SPDX-License-Identifier: Apache-2.0 */
/* Collection, as the public header has it; tree/content does the work. */
#include "base/options.h"
#include "tree/acl.h"
#include "tree/copy.h"
#include "tree/quota.h"

int ash_tree_collect(ash_tree *tree, const ash_tree_collect_options *opts, const ash_op *op,
                     ash_tree_collect_report *report, ash_error *err)
{
    ash_tree_collect_options o;
    ash_op own = ash__op_of(op);
    ash_tree_collect_report r = ASH_TREE_COLLECT_REPORT_INIT;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0 && own.transaction != NULL)
        rc =
            ash__fail(err, ASH_ESTATE, "collecting is many commits, and cannot be part of another");
    if (rc == 0)
        rc = ash__tree_require_care(tree, &own, err);
    /* What asks whether somebody names a content asks its indexes. */
    if (rc == 0)
        rc = ash__tree_prepare_anew(tree, &own, err);
    if (rc == 0 && !o.dry_run)
        rc = ash__copies_collect(tree, o.min_age_s, &own, err);
    if (rc == 0 && !o.dry_run)
        rc = ash__quotas_collect(tree, &own, err);
    if (rc == 0)
        rc = ash__contents_collect(tree->contents, &o, &own, &r, err);
    if (report != NULL && (rc == 0 || rc == ASH_EINTERRUPTED)) {
        int out = ash__out_copy(report, &r, sizeof r, err);
        rc = rc != 0 ? rc : out;
    }
    return rc;
}
