/* SPDX-License-Identifier: Apache-2.0 */
/* libmongoc starts itself before main(), and warns on standard error when a killed process of the
 * same number left its counters behind.  Whoever types a command on a folder has no use for that:
 * an entry of .preinit_array runs before the constructors of all libraries.  Where a C library does
 * not know such entries, nothing is lost but the silence. */
#ifdef ASH_HAVE_MONGO
#include "store/mongo/mongo.h"

typedef void start_function(void);
__attribute__((section(".preinit_array"), used)) static start_function *const before_libraries =
    ash__mongo_hush;
#else
typedef int ash__nothing_to_hush;
#endif
