/* Tests of core/io/md5: the examples of RFC 1321, from memory and from a file. */
#include "core/io/md5.h"

#include "support/setup_files.h"

static const struct {
    const char *data, *md5;
} answers[] = {
    {"", "d41d8cd98f00b204e9800998ecf8427e"},
    {"a", "0cc175b9c0f1b6a831c399e269772661"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
    {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890", "57edf4a22be3c955ac49da2e2107b67a"},
};
enum { ANSWERS = sizeof answers / sizeof *answers };

static void the_results_match_the_examples_of_the_standard(void) {
    for (int i = 0; i < ANSWERS; i++) {
        char text[CP_MD5_TEXT];
        cp_md5(answers[i].data, strlen(answers[i].data), text);
        TEST_ASSERT_EQUAL_STRING(answers[i].md5, text);
    }
}

/* `head -c N /dev/zero | md5sum` */
static void data_around_the_ends_of_blocks_are_padded_right(void) {
    static const struct {
        size_t      size;
        const char *md5;
    } zeros[] = {
        {55, "c9ea3314b91c9fd4e38f9432064fd1f2"}, {56, "e3c4dd21a9171fd39d208efa09bf7883"},
        {63, "65cecfb980d72fde57d175d6ec1c3f64"}, {64, "3b5d3c7d207e37dceeedd301e35e2e58"},
        {65, "1ef5e829303a139ce967440e0cdca10c"}, {100000, "0019d23bef56a136a1891211d7007f6f"},
    };
    static unsigned char data[100000];
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        char text[CP_MD5_TEXT];
        cp_md5(data, zeros[i].size, text);
        TEST_ASSERT_EQUAL_STRING(zeros[i].md5, text);
        scratch_write("zeros", data, zeros[i].size);
        TEST_ASSERT_TRUE_MESSAGE(cp_md5_file(scratch("zeros"), text, &status), status.message);
        TEST_ASSERT_EQUAL_STRING(zeros[i].md5, text);
    }
}

static void a_missing_file_has_no_md5(void) {
    char text[CP_MD5_TEXT] = "?";
    TEST_ASSERT_FALSE(cp_md5_file(scratch("missing"), text, &status));
    TEST_ASSERT_EQUAL_STRING("", text);
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    says(&status, "missing: cannot open it for reading");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_results_match_the_examples_of_the_standard);
    RUN_TEST(data_around_the_ends_of_blocks_are_padded_right);
    RUN_TEST(a_missing_file_has_no_md5);
    return UNITY_END();
}
