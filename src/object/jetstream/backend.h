/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_BACKEND_H
#define ASH_OBJECT_JETSTREAM_BACKEND_H

/* Object stores on JetStream, as the core knows them. */

#include "object/ops.h"

extern const ash_object_backend ash__object_backend_jetstream;

#endif
