/* SPDX-License-Identifier: Apache-2.0 */
/* Who signed in by HTTP, or could not, for the audit log: in the words of MongoDB's events. */
#include "audit/audit.h"
#include "base/server_codes.h"
#include "http/gate/visitor.h"

#include <string.h>

void ash__gate_tell(const ash_gate *g, const ash_exchange *x, const ash_attempt_name *who,
                    const char *mechanism, bool failed, int64_t besides)
{
    ash_builder param = ASH_BUILDER_INIT;
    if (!ash__audit_wants(g->audit, ASH_AUDIT_AUTHENTICATION))
        return;
    ash__builder_begin(&param);
    ash__builder_string(&param, "user", who->user,
                        (uint32_t)strnlen(who->user, ASH_USER_NAME_BYTES));
    ash__builder_text(&param, "db", who->db);
    ash__builder_text(&param, "mechanism", mechanism);
    if (besides > 0)
        ash__builder_int64(&param, "failedBesides", besides);
    ash__builder_end(&param);
    ash_audit_event e = {.kind = ASH_AUDIT_AUTHENTICATION,
                         .type = "authenticate",
                         .local = x->local,
                         .remote = x->remote,
                         .user = failed ? NULL : who->user,
                         .db = failed ? NULL : who->db,
                         .param = ash__builder_doc(&param),
                         .result = failed ? ASH_MONGO_AUTHENTICATION_FAILED : 0};
    ash__audit_write(g->audit, &e);
    ash__builder_release(&param);
}
