/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Compresses and decompresses megabytes with 7-Zip's LZMA2, by several threads each, and compares. Usage: round MEGABYTES THREADS TIMES
 *
 * It is compiled twice: with 7-Zip's sources for Windows over libntux-win, and with its own emulation of events and semaphores by pthread.
 * Prints a sum of what was compressed, and the milliseconds of the fastest time, to compress and to decompress.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "Alloc.h"
#include "Lzma2DecMt.h"
#include "Lzma2Enc.h"

enum { MEGABYTE = 1 << 20 };

struct bytes {
    Byte *base;
    size_t length, at;
};

struct reader {
    ISeqInStream face;
    struct bytes bytes;
};

struct writer {
    ISeqOutStream face;
    struct bytes bytes;
};

static SRes give(ISeqInStreamPtr face, void *to, size_t *length) {
    struct bytes *from = &((struct reader *)(uintptr_t)face)->bytes;
    size_t left = from->length - from->at;
    if (*length > left)
        *length = left;
    memcpy(to, from->base + from->at, *length);
    from->at += *length;
    return SZ_OK;
}

static size_t keep(ISeqOutStreamPtr face, const void *from, size_t length) {
    struct bytes *to = &((struct writer *)(uintptr_t)face)->bytes;
    if (length > to->length - to->at)
        return 0;
    memcpy(to->base + to->at, from, length);
    to->at += length;
    return length;
}

static void fail(const char *what, long code) {
    fprintf(stderr, "round: %s: %ld\n", what, code);
    exit(1);
}

/* Words of a few hundred, so that there is something to find; the same in each run. */
static void fill(Byte *base, size_t length) {
    uint64_t state = 1;
    for (size_t at = 0; at < length; at++) {
        if (at % 7 == 0)
            state = state * 6364136223846793005u + 1442695040888963407u;
        base[at] = (Byte)(97 + ((state >> 40) % 300 * (at % 7 + 3)) % 23);
    }
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static Byte compress_all(struct reader *from, struct writer *to, int threads) {
    CLzma2EncHandle encoder = Lzma2Enc_Create(&g_Alloc, &g_BigAlloc);
    CLzma2EncProps asked;
    Lzma2EncProps_Init(&asked);
    asked.lzmaProps.level = 1;
    asked.lzmaProps.btMode = 1;
    asked.lzmaProps.numThreads = 2;
    asked.blockSize = MEGABYTE;
    asked.numBlockThreads_Max = threads;
    asked.numTotalThreads = 2 * threads;
    SRes result = Lzma2Enc_SetProps(encoder, &asked);
    if (result != SZ_OK)
        fail("Lzma2Enc_SetProps", result);
    Byte properties = Lzma2Enc_WriteProperties(encoder);
    result = Lzma2Enc_Encode2(encoder, &to->face, NULL, NULL, &from->face, NULL, 0, NULL);
    if (result != SZ_OK)
        fail("Lzma2Enc_Encode2", result);
    Lzma2Enc_Destroy(encoder);
    return properties;
}

static void decompress_all(Byte properties, struct reader *from, struct writer *to, int threads) {
    CLzma2DecMtHandle decoder = Lzma2DecMt_Create(&g_Alloc, &g_MidAlloc);
    CLzma2DecMtProps asked;
    Lzma2DecMtProps_Init(&asked);
    asked.numThreads = (unsigned)threads;
    UInt64 taken = 0;
    int is_parallel = 0;
    SRes result = Lzma2DecMt_Decode(decoder, properties, &asked, &to->face, NULL, 1, &from->face, &taken, &is_parallel, NULL);
    if (result != SZ_OK)
        fail("Lzma2DecMt_Decode", result);
    if (!is_parallel && threads > 1)
        fail("one thread alone decompressed", threads);
    Lzma2DecMt_Destroy(decoder);
}

int main(int count, char **arguments) {
    if (count != 4)
        fail("arguments: megabytes, threads, times", count);
    size_t length = (size_t)atoi(arguments[1]) * MEGABYTE;
    int threads = atoi(arguments[2]);
    struct reader plain = {{give}, {malloc(length), length, 0}};
    struct writer packed = {{keep}, {malloc(length + MEGABYTE), length + MEGABYTE, 0}};
    struct writer again = {{keep}, {malloc(length), length, 0}};
    fill(plain.bytes.base, length);
    double compressing = 1e9, decompressing = 1e9;
    for (int time = atoi(arguments[3]); time > 0; time--) {
        plain.bytes.at = packed.bytes.at = again.bytes.at = 0;
        double begin = now_ms();
        Byte properties = compress_all(&plain, &packed, threads);
        double middle = now_ms();
        struct reader from = {{give}, {packed.bytes.base, packed.bytes.at, 0}};
        decompress_all(properties, &from, &again, threads);
        double end = now_ms();
        if (again.bytes.at != length || memcmp(again.bytes.base, plain.bytes.base, length) != 0)
            fail("another text", (long)again.bytes.at);
        compressing = middle - begin < compressing ? middle - begin : compressing;
        decompressing = end - middle < decompressing ? end - middle : decompressing;
    }
    uint64_t sum = 0;
    for (size_t at = 0; at < packed.bytes.at; at++)
        sum = sum * 31 + packed.bytes.base[at];
    printf("%zu bytes to %zu, sum %016llx, %.0f ms, %.0f ms\n", length, packed.bytes.at, (unsigned long long)sum, compressing,
           decompressing);
    return 0;
}
