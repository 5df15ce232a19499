/* SPDX-License-Identifier: Apache-2.0 */
/* Options in seconds, as the npm package has them, become settings in milliseconds. */
#include "lock/lock.h"

#include "base/options.h"

#include <math.h>

/* Longer than anything lives, and small enough to be added to a clock. */
#define SECONDS_MAX 1e9

static int take_seconds(double seconds, const char *name, int64_t inherited_ms, int64_t *out,
                        ash_error *err)
{
    if (!(seconds >= 0)) /* not `< 0`, which lets a NaN pass */
        return ash__fail(err, ASH_EINVAL, "option %s must be a number of seconds, 0 or more", name);
    if (seconds > SECONDS_MAX)
        seconds = SECONDS_MAX;
    *out = seconds == 0 ? inherited_ms : (int64_t)ceil(seconds * 1000);
    return 0;
}

int ash__lock_settings_from(const ash_lock_options *o, const ash_lock_settings *inherited,
                            ash_lock_settings *out, ash_error *err)
{
    *out = *inherited;
    out->meta = NULL;
    int rc = take_seconds(o->lock_expiration_s, "lock_expiration_s", inherited->life_ms,
                          &out->life_ms, err);
    if (rc == 0)
        rc = take_seconds(o->time_out_s, "time_out_s", inherited->time_out_ms, &out->time_out_ms,
                          err);
    if (rc == 0)
        rc = take_seconds(o->polling_interval_s, "polling_interval_s", inherited->poll_ms,
                          &out->poll_ms, err);
    if (rc == 0)
        rc = take_seconds(o->lease_s, "lease_s", inherited->lease_ms, &out->lease_ms, err);
    /* The package's readers wait for two polling intervals; see docs/LOCKS.md, Grace. */
    int64_t grace = o->polling_interval_s > 0 ? 2 * out->poll_ms : inherited->grace_ms;
    if (rc == 0)
        rc = take_seconds(o->grace_s, "grace_s", grace, &out->grace_ms, err);
    if (rc != 0)
        return rc;
    /* The package's rule: a life outlasts the interval at which the others look. */
    int64_t shortest = out->poll_ms + out->poll_ms / 10;
    if (out->life_ms > 0 && out->life_ms < shortest)
        out->life_ms = shortest;
    if (o->meta_data != NULL)
        out->meta = bson_copy(o->meta_data);
    else if (inherited->meta != NULL)
        out->meta = bson_copy(inherited->meta);
    return 0;
}
