/* Tests of core/io/inflate: streams by zlib, streams built bit by bit, and streams that must be refused. */
#include "core/io/deflate.h"

#include "support/setup_files.h"

static cp_bytes out;
static size_t   used;

/* From memory of exactly the stream's size, so that the address sanitizer sees a read beyond it. */
static bool inflate(const void *data, size_t size, size_t limit) {
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    cp_bytes_free(&out);
    bool done = cp_inflate(exact, size, limit, &out, &used, "stream", &status);
    free(exact);
    TEST_ASSERT_TRUE(used <= size && out.size <= limit);
    return done;
}

static void gives(const void *data, size_t size, const char *contents) {
    TEST_ASSERT_TRUE_MESSAGE(inflate(data, size, strlen(contents)), status.message);
    TEST_ASSERT_EQUAL_UINT64(strlen(contents), out.size);
    TEST_ASSERT_TRUE(out.size == 0 || memcmp(contents, out.data, out.size) == 0);
    TEST_ASSERT_EQUAL_UINT64(size, used);
    cp_bytes_free(&out);
}

static void refuses(const void *data, size_t size, const char *message) {
    TEST_ASSERT_FALSE_MESSAGE(inflate(data, size, 100000), message);
    TEST_ASSERT_EQUAL_INT(CP_STATUS_DAMAGED, status.kind);
    says(&status, message);
    cp_bytes_free(&out);
}

/* ---- streams bit by bit ---- */

static unsigned char made[600];
static size_t        made_bits;

static void start(void) {
    memset(made, 0, sizeof made);
    made_bits = 0;
}

static void put(unsigned value, int count) {
    for (int i = 0; i < count; i++, made_bits++) made[made_bits / 8] |= (unsigned char)((value >> i & 1) << made_bits % 8);
}

/* A code, its highest bit first. */
static void put_code(unsigned value, int count) {
    for (int i = count - 1; i >= 0; i--) put(value >> i & 1, 1);
}

static size_t made_size(void) { return (made_bits + 7) / 8; }

/* The head of a dynamic block in which code lengths 0, 1, 2 and 18 have codes of two bits: 00, 01, 10, 11. */
static void start_dynamic(int literals, int distances) {
    static const int order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    start();
    put(1, 1), put(2, 2);
    put((unsigned)literals - 257, 5), put((unsigned)distances - 1, 5), put(18 - 4, 4);
    for (int i = 0; i < 18; i++) put(order[i] <= 2 || order[i] == 18 ? 2 : 0, 3);
}

static void put_length(int length) { put_code((unsigned)length, 2); }

/* 11 to 138 unused codes. */
static void put_unused(int count) {
    put_code(3, 2);
    put((unsigned)count - 11, 7);
}

/* ---- valid streams ---- */

static void stored_fixed_and_dynamic_streams_of_zlib_are_read(void) {
    gives("\x01\x03\x00\xfc\xff"
          "abc",
          8, "abc");
    gives("\x03\x00", 2, "");
    gives("\x4b\x4c\x4a\x06\x00", 5, "abc");
    gives("\x4b\x4c\x84\x01\x00", 5, "aaaaaaaaaa");
    static const unsigned char dynamic[] = {0x1d, 0xc6, 0x49, 0x01, 0x00, 0x00, 0x10, 0x40, 0xc0, 0xac, 0xa3, 0x7f,
                                            0x88, 0x3d, 0x3c, 0x20, 0x2a, 0x97, 0x9d, 0x37, 0x5e, 0x1d, 0x0c};
    gives(dynamic, sizeof dynamic, "abaabbbabaababbaababaaaabaaabbbbbaa");
}

static void bytes_after_the_stream_are_left_to_the_caller(void) {
    TEST_ASSERT_TRUE(inflate("\x4b\x4c\x4a\x06\x00"
                             "more, and more than eight bytes",
                             36, 3));
    TEST_ASSERT_EQUAL_UINT64(5, used);
    TEST_ASSERT_TRUE(cp_inflate("\x4b\x4c\x4a\x06\x00", 5, 3, &out, &used, "stream", &status)); /* the next member, appended */
    TEST_ASSERT_EQUAL_UINT64(6, out.size);
    TEST_ASSERT_EQUAL_MEMORY("abcabc", out.data, 6);
    cp_bytes_free(&out);
}

static void a_code_of_a_single_bit_is_enough(void) {
    start_dynamic(257, 1);
    put_unused(138), put_unused(118), put_length(1); /* literals: only the end of the block */
    put_length(0);                                   /* no distances */
    put_code(0, 1);
    gives(made, made_size(), "");
}

static void the_longest_match_and_distance_are_copied(void) {
    static unsigned char far_apart[32768 + 258];
    for (size_t i = 0; i < 258; i++) far_apart[i] = far_apart[32768 + i] = (unsigned char)(1 + i * i % 251);
    cp_bytes packed = {0};
    cp_bytes_append(&packed, "\x00\x00\x80\xff\x7f", 5);
    cp_bytes_append(&packed, far_apart, 32768);
    start();
    put(1, 1), put(1, 2);
    put_code(0xC5, 8);      /* length 258 */
    put_code(29, 5);        /* distance 24577 */
    put(32768 - 24577, 13); /* + 8191 */
    put_code(0, 7);
    cp_bytes_append(&packed, made, made_size());
    TEST_ASSERT_TRUE_MESSAGE(inflate(packed.data, packed.size, sizeof far_apart), status.message);
    TEST_ASSERT_EQUAL_UINT64(sizeof far_apart, out.size);
    TEST_ASSERT_EQUAL_MEMORY(far_apart, out.data, sizeof far_apart);
    cp_bytes_free(&packed);
    cp_bytes_free(&out);
}

/* Repeating bytes, few different bytes, all bytes. */
static void data_deflated_by_couplet_are_inflated_again(void) {
    static const size_t sizes[] = {0, 1, 2, 3, 257, 258, 259, 32767, 32768, 32769, 65535, 65536, 200001};
    unsigned char      *data = malloc(200001);
    for (int kind = 0; kind < 3; kind++) {
        uint32_t random = 1;
        for (size_t i = 0; i < 200001; i++) {
            random = random * 1664525 + 1013904223;
            data[i] = kind == 0 ? 7 : (unsigned char)(random >> 24 & (kind == 1 ? 3 : 255));
        }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            cp_bytes packed = {0};
            TEST_ASSERT_TRUE(cp_deflate(data, sizes[i], &packed));
            TEST_ASSERT_TRUE_MESSAGE(inflate(packed.data, packed.size, sizes[i]), status.message);
            TEST_ASSERT_EQUAL_UINT64(packed.size, used);
            TEST_ASSERT_EQUAL_UINT64(sizes[i], out.size);
            TEST_ASSERT_TRUE(sizes[i] == 0 || memcmp(data, out.data, sizes[i]) == 0);
            cp_bytes_free(&packed);
            cp_bytes_free(&out);
        }
    }
    free(data);
}

/* ---- streams that are refused ---- */

static void a_stream_cut_anywhere_is_refused(void) {
    static const unsigned char dynamic[] = {0x1d, 0xc6, 0x49, 0x01, 0x00, 0x00, 0x10, 0x40, 0xc0, 0xac, 0xa3, 0x7f,
                                            0x88, 0x3d, 0x3c, 0x20, 0x2a, 0x97, 0x9d, 0x37, 0x5e, 0x1d, 0x0c};
    for (size_t size = 0; size < sizeof dynamic; size++) refuses(dynamic, size, "the file is truncated");
    for (size_t size = 0; size < 8; size++)
        refuses("\x01\x03\x00\xfc\xff"
                "abc",
                size, "the file is truncated");
    for (size_t size = 0; size < 5; size++) refuses("\x4b\x4c\x84\x01\x00", size, "the file is truncated");
}

static void contents_beyond_the_limit_are_refused(void) {
    for (size_t limit = 0; limit < 10; limit++) {
        TEST_ASSERT_FALSE(inflate("\x4b\x4c\x84\x01\x00", 5, limit));
        says(&status, "it holds more than was declared");
    }
    TEST_ASSERT_FALSE(inflate("\x01\x03\x00\xfc\xff"
                              "abc",
                              8, 2));
    says(&status, "it holds more than was declared");
    cp_bytes zeros = {0}, packed = {0};
    cp_bytes_reserve(&zeros, 1 << 20);
    memset(zeros.data, 0, 1 << 20);
    cp_deflate(zeros.data, 1 << 20, &packed);
    TEST_ASSERT_FALSE(inflate(packed.data, packed.size, 1000));
    says(&status, "it holds more than was declared");
    TEST_ASSERT_TRUE(out.capacity <= 1000);
    cp_bytes_free(&zeros);
    cp_bytes_free(&packed);
    cp_bytes_free(&out);
}

static void impossible_blocks_are_refused(void) {
    refuses("\x07", 1, "a block of an unknown kind");
    refuses("\x01\x03\x00\xfd\xff"
            "abc",
            8, "a stored block whose length and its complement disagree");
    start(), put(1, 1), put(1, 2), put_code(0xC6, 8), put_code(0, 7);
    refuses(made, made_size() + 2, "a code that does not exist"); /* length 286 */
    start(), put(1, 1), put(1, 2), put_code(0x30, 8), put_code(1, 7), put_code(30, 5), put_code(0, 7);
    refuses(made, made_size() + 2, "a code that does not exist"); /* distance 30 */
    start(), put(1, 1), put(1, 2), put_code(0x30, 8), put_code(1, 7), put_code(1, 5), put_code(0, 7);
    refuses(made, made_size(), "a distance beyond the start of the data"); /* distance 2 after one byte */
}

static void a_distance_does_not_reach_into_earlier_contents(void) {
    start(), put(1, 1), put(1, 2), put_code(1, 7), put_code(0, 5), put_code(0, 7); /* distance 1 at the beginning */
    cp_bytes_append(&out, "before", 6);
    TEST_ASSERT_FALSE(cp_inflate(made, made_size(), 100, &out, &used, "stream", &status));
    says(&status, "stream: compressed data, about byte");
    cp_bytes_free(&out);
}

static void impossible_codes_are_refused(void) {
    start(), put(1, 1), put(2, 2), put(287 - 257, 5), put(0, 5), put(0, 4);
    refuses(made, 80, "more codes than the format has");
    start(), put(1, 1), put(2, 2), put(0, 5), put(30, 5), put(0, 4);
    refuses(made, 80, "more codes than the format has");
    start(), put(1, 1), put(2, 2), put(0, 5), put(0, 5), put(0, 4);
    refuses(made, 80, "an impossible code for code lengths"); /* none */
    put(1, 3);
    refuses(made, 80, "an impossible code for code lengths"); /* one of one bit */
    put(1, 3), put(1, 3);
    refuses(made, 80, "an impossible code for code lengths"); /* three of one bit */

    start_dynamic(257, 1), put_unused(138), put_unused(120);
    refuses(made, 80, "a code without an end of block");
    start_dynamic(257, 1), put_unused(138), put_unused(138);
    refuses(made, 80, "more code lengths than there are codes");
    start_dynamic(257, 1), put_length(1), put_length(1), put_unused(138), put_unused(116), put_length(1), put_length(0);
    refuses(made, 80, "an impossible code for literals"); /* three of one bit */
    start_dynamic(257, 1), put_length(2), put_unused(138), put_unused(117), put_length(1), put_length(0);
    refuses(made, 80, "an impossible code for literals"); /* 11 has no meaning */
    start_dynamic(257, 2), put_unused(138), put_unused(118), put_length(1), put_length(2), put_length(1);
    refuses(made, 80, "an impossible code for distances");

    start_dynamic(257, 1), put_unused(138), put_unused(118), put_length(1), put_length(0), put_code(1, 1);
    refuses(made, 80, "a code that does not exist"); /* only 0 exists */
    start_dynamic(258, 1), put_unused(138), put_unused(118), put_length(1), put_length(1), put_length(0), put_code(1, 1);
    refuses(made, 80, "a code that does not exist"); /* a match without any distance code */
}

static void the_first_code_length_cannot_repeat_another(void) {
    start(), put(1, 1), put(2, 2), put(0, 5), put(0, 5), put(0, 4);
    put(1, 3), put(1, 3), put(0, 3), put(0, 3); /* codes for 16 and 17 */
    put_code(0, 1), put(0, 2);
    refuses(made, 80, "a repeated code length with none before it");
}

static void bits_changed_anywhere_never_break_the_reader(void) {
    const char *text = "she sells sea shells by the sea shore; the shells she sells are sea shells, she is sure";
    cp_bytes    packed = {0};
    TEST_ASSERT_TRUE(cp_deflate(text, strlen(text), &packed));
    for (size_t bit = 0; bit < 8 * packed.size; bit++) {
        packed.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        bool done = inflate(packed.data, packed.size, 1000);
        TEST_ASSERT_TRUE(done == (status.message[0] == '\0'));
        status = (cp_status){0};
        packed.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    cp_bytes_free(&packed);
    cp_bytes_free(&out);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(stored_fixed_and_dynamic_streams_of_zlib_are_read);
    RUN_TEST(bytes_after_the_stream_are_left_to_the_caller);
    RUN_TEST(a_code_of_a_single_bit_is_enough);
    RUN_TEST(the_longest_match_and_distance_are_copied);
    RUN_TEST(data_deflated_by_couplet_are_inflated_again);
    RUN_TEST(a_stream_cut_anywhere_is_refused);
    RUN_TEST(contents_beyond_the_limit_are_refused);
    RUN_TEST(impossible_blocks_are_refused);
    RUN_TEST(a_distance_does_not_reach_into_earlier_contents);
    RUN_TEST(impossible_codes_are_refused);
    RUN_TEST(the_first_code_length_cannot_repeat_another);
    RUN_TEST(bits_changed_anywhere_never_break_the_reader);
    return UNITY_END();
}
