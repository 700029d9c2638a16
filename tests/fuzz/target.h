/* What every fuzz target offers: to libFuzzer (-Dfuzz=enabled) and to replay.c, which runs it over its corpus without one. */
#ifndef CP_TESTS_FUZZ_TARGET_H
#define CP_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; a wrong result ends in a trap. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
