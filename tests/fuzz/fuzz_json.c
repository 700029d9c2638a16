/* The JSON reader. */
#include "core/io/json.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cp_status status = {0};
    cp_json  *root = cp_json_parse(data, size, "fuzz", &status);
    if (!root == !status.message[0]) __builtin_trap();
    for (const cp_json *node = root; node; node = node->first)
        if (cp_json_integer(node, 0) < 0 && cp_json_number(node, 0) > 0) __builtin_trap();
    cp_json_free(root);
    return 0;
}
