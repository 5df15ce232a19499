/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_AUDIT_EVENT_H
#define ASH_AUDIT_EVENT_H

#include "audit/audit.h"
#include "base/buffer.h"

/* Appends its line, with its end. */
void ash__audit_line(const ash_audit_event *event, int64_t now_wall_ms, ash_buffer *out);

#endif
