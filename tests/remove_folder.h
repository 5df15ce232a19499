/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_REMOVE_FOLDER_H
#define ASH_TESTS_REMOVE_FOLDER_H

/* With all that is in it, as far as that can be removed; links are not followed. */
void remove_folder(const char *folder);

#endif
