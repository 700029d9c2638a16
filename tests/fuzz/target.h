/* The function of every fuzz target, for libFuzzer (-Dfuzz=enabled) and for replay.c, which runs it over its corpus without
 * a fuzzer. */
#ifndef CP_TESTS_FUZZ_TARGET_H
#define CP_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; traps if a result is wrong. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
