/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What 32-bit programs load in place of the library that watches writes: nothing, so that their loader has a file to load. */
extern int ntux_watches_64_bit_programs_only;
