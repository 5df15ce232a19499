/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_IMAGE_H
#define ASH_TESTS_CRASH_IMAGE_H

/* A closed store in memory, of which copies are made fast. */

#include <stddef.h>
#include <stdint.h>

typedef struct image_file {
    char *path; /* below the folder */
    uint8_t *data;
    size_t len;
} image_file;

typedef struct image {
    image_file *files;
    size_t count;
} image;

void image_read(image *m, const char *folder);
void image_release(image *m);
/* Make the folder anew, with one byte of meta.mdb changed. */
void image_write(const image *m, const char *folder, uint64_t offset, uint8_t bits);

#endif
