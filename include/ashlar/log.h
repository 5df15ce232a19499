/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_LOG_H
#define ASHLAR_LOG_H

/* The library never prints.  A program that wants to hear of slow operations, repaired free space
 * or clients that were thrown out sets one callback for the whole process. */

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     static void print_line(void *context, ash_log_level level, const char *line)
 *     {
 *         (void)level;
 *         fprintf(context, "%s\n", line);
 *     }
 *
 *     int main(void)
 *     {
 *         ash_log_set(print_line, stderr, ASH_LOG_WARN);
 *     }
 */

typedef enum ash_log_level {
    ASH_LOG_ERROR,
    ASH_LOG_WARN,
    ASH_LOG_INFO,
    ASH_LOG_DEBUG
} ash_log_level;

/* line: without a newline, valid during the call.  Called from any thread, one call at a time; it
 * must not call back into the library. */
typedef void (*ash_log_fn)(void *context, ash_log_level level, const char *line);

/* Lines above max_level are not made.  fn NULL turns logging off (the default). */
void ash_log_set(ash_log_fn fn, void *context, ash_log_level max_level);

#ifdef __cplusplus
}
#endif
#endif
