/* The writer of ONNX files, byte by byte, for a graph of two nodes. Other graphs are read back in tests/models/test_export.c. */
#include "core/io/onnx.h"
#include "couplet_config.h"

#include "support/wrapped_memory.h"
#include "tests/support/setup_files.h"

/* y = LeakyRelu(x * 2) with x of bytes. */
static void write_small(cp_onnx *graph) {
    int x = cp_onnx_cast(graph, cp_onnx_input(graph, "x", CP_U8, 2, (int[]){-1, 300}), CP_F32);
    int two = cp_onnx_reals(graph, 1, (int[]){1}, (cp_real[]){2});
    int product = cp_onnx_node(graph, "Mul", 2, (int[]){x, two}, NULL);
    int flat = cp_onnx_ints(graph, 1, (int[]){-1});
    int all = cp_onnx_node(graph, "R", 2, (int[]){product, flat},
                           (cp_onnx_attr[]){{"i", CP_ONNX_INT, .ints = {-1}},
                                            {"l", CP_ONNX_INTS, .count = 2, .ints = {1, 200}},
                                            {"f", CP_ONNX_FLOAT, .number = 0.5},
                                            {0}});
    cp_onnx_output(graph, "y", all, 1, (int[]){-1});
    cp_onnx_metadata(graph, "k", "v");
}

/* Bytes in hexadecimal and 'text'. */
/* clang-format off */
static const char *const golden[] = {
    "08 07",                                                                /* ir_version: 7 */
    "12 07 'couplet'",                                                      /* producer_name */
    "1a 05 '" CP_VERSION "'",                                               /* producer_version */
    "42 04 0a 00 10 0d",                                                    /* opset_import: domain "", version 13 */
    "3a d3 01",                                                             /* graph, of 211 bytes */
    "12 07 'couplet'",                                                      /*   name */
    "5a 15 0a 01 'x' 12 10 0a 0e",                                          /*   input: name x, type, tensor_type */
    "08 02 12 0a",                                                          /*     elem_type: uint8; shape */
    "0a 03 12 01 'N' 0a 03 08 ac 02",                                       /*       N, 300 */
    "0a 1a 0a 01 'x' 12 01 '2' 1a 01 '2' 22 04 'Cast'",                     /*   node: x -> 2, name, op_type */
    "2a 09 0a 02 'to' 18 01 a0 01 02",                                      /*     attribute to: 1, an INT */
    "2a 0d 08 01 10 01 42 01 '3' 4a 04 00 00 00 40",                        /*   initializer: dims 1, float, name 3, raw_data 2.0 */
    "0a 11 0a 01 '2' 0a 01 '3' 12 01 '4' 1a 01 '4' 22 03 'Mul'",            /*   node: 2, 3 -> 4 */
    "2a 11 08 01 10 07 42 01 '5' 4a 08 ff ff ff ff ff ff ff ff",            /*   initializer: dims 1, int64, name 5, raw_data -1 */
    "0a 3c 0a 01 '4' 0a 01 '5' 12 01 '6' 1a 01 '6' 22 01 'R'",              /*   node: 4, 5 -> 6 */
    "2a 11 0a 01 'i' 18 ff ff ff ff ff ff ff ff ff 01 a0 01 02",            /*     attribute i: -1, an INT */
    "2a 0b 0a 01 'l' 40 01 40 c8 01 a0 01 07",                              /*     attribute l: 1, 200, INTS */
    "2a 0b 0a 01 'f' 15 00 00 00 3f a0 01 01",                              /*     attribute f: 0.5, a FLOAT */
    "0a 10 0a 01 '6' 12 01 'y' 22 08 'Identity'",                           /*   node: 6 -> y */
    "62 10 0a 01 'y' 12 0b 0a 09 08 01 12 05 0a 03 12 01 'N'",              /*   output: name y, float, shape N */
    "72 06 0a 01 'k' 12 01 'v'",                                            /* metadata_props: k, v */
};
/* clang-format on */

static size_t read_line(const char *line, unsigned char *bytes) {
    size_t count = 0;
    while (*line) {
        unsigned value;
        if (*line == '\'') {
            for (line++; *line != '\''; line++) bytes[count++] = (unsigned char)*line;
            line++;
        } else {
            TEST_ASSERT_EQUAL_INT(1, sscanf(line, "%2x", &value));
            bytes[count++] = (unsigned char)value;
            line += 2;
        }
        while (*line == ' ') line++;
    }
    return count;
}

static void the_bytes_are_those_of_the_format(void) {
    cp_onnx       graph = {0};
    unsigned char expected[512];
    size_t        size = 0;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) size += read_line(golden[i], expected + size);
    write_small(&graph);
    TEST_ASSERT_TRUE_MESSAGE(cp_onnx_save(&graph, scratch("small.onnx"), &status), status.message);
    scratch_holds("small.onnx", expected, size);
    cp_onnx_free(&graph);
}

static void a_path_that_cannot_be_written_is_an_error(void) {
    cp_onnx graph = {0};
    write_small(&graph);
    TEST_ASSERT_FALSE(cp_onnx_save(&graph, scratch("no/such.onnx"), &status));
    says(&status, "no/such.onnx");
    cp_onnx_free(&graph);
}

static bool save_small(void) {
    cp_onnx graph = {0};
    write_small(&graph);
    bool saved = cp_onnx_save(&graph, scratch("small.onnx"), &status);
    cp_onnx_free(&graph);
    return saved;
}

static void every_allocation_may_fail(void) {
    memory_stays_out = true;
    for (long granted = 0; granted < 1000; granted++) {
        status = (cp_status){0};
        calls_allowed = granted;
        bool done = save_small();
        calls_allowed = -1;
        if (done) {
            TEST_ASSERT_GREATER_THAN_INT(10, granted);
            return;
        }
        says(&status, "not enough memory");
        TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
    }
    TEST_FAIL_MESSAGE("did not succeed with 1000 calls");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_bytes_are_those_of_the_format);
    RUN_TEST(a_path_that_cannot_be_written_is_an_error);
    RUN_TEST(every_allocation_may_fail);
    return UNITY_END();
}
