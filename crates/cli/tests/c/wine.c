/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stands in for a process of Wine: holds what its arguments name, says so, and stays until its input ends.
 *
 *   memory          the descriptor of an arena, by its name
 *   FILE            a file of which a page is mapped; it is made if it is not there
 *   open FILE       a descriptor of a file
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words)
{
    for (int at = 1; at < count; at++) {
        int kept = !strcmp(words[at], "memory") || !strcmp(words[at], "open"), fd;
        if (!strcmp(words[at], "memory"))
            fd = memfd_create("ntsync", 0);
        else
            fd = open(words[at + !strcmp(words[at], "open")], O_RDWR | O_CREAT, 0600);
        at += !strcmp(words[at], "open");
        if (fd < 0 || (!kept && (ftruncate(fd, 4096) || mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED))) {
            perror(words[at]);
            return 2;
        }
        if (!kept)
            close(fd);
    }
    puts("held");
    fflush(stdout);
    return read(0, words[0], 1) < 0;
}
