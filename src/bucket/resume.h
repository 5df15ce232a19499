/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_RESUME_H
#define ASH_BUCKET_RESUME_H

#include "bucket/bucket.h"

/* {_id: {resume: token}} */
void ash__resume_filter(bson_t *filter, const char *token);

#endif
