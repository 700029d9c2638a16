/* libFuzzer on the JSON reader. Build from the top of the tree, with BUILD the folder that has couplet_config.h:
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -std=c11 -D_POSIX_C_SOURCE=200809L -I. -IBUILD \
 *       tests/fuzz/fuzz_json.c core/io/[!.]*.c core/error.c -lm -lpthread -o fuzz && ./fuzz -max_total_time=120 */
#include "core/io/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_json  *root = cp_json_parse(data, size, "fuzz", &status);
    if (!root == !status.message[0]) __builtin_trap();
    for (const cp_json *node = root; node; node = node->first)
        if (cp_json_integer(node, 0) < 0 && cp_json_number(node, 0) > 0) __builtin_trap();
    cp_json_free(root);
    return 0;
}
