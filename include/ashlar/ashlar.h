/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_ASHLAR_H
#define ASHLAR_ASHLAR_H

/* All of Ashlar. */

#include <ashlar/bucket.h>
#include <ashlar/digest.h>
#include <ashlar/error.h>
#include <ashlar/lock.h>
#include <ashlar/log.h>
#include <ashlar/maintain.h>
#include <ashlar/object.h>
#include <ashlar/store.h>
#include <ashlar/tree.h>

#endif
