/* Tests of core/io/json: the reader, the writer, and both together. */
#include "core/io/json.h"

#include "tests/core/scratch.h"
#include "unity.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static cp_status status;
static cp_json  *root;

void setUp(void) {
    status = (cp_status){0};
    root = NULL;
    scratch_make();
}

void tearDown(void) {
    cp_json_free(root);
    scratch_remove();
}

/* From memory of exactly the text's size, so that the address sanitizer sees a read beyond it. */
static cp_json *parse_bytes(const char *text, size_t size) {
    char *exact = malloc(size ? size : 1);
    memcpy(exact, text, size);
    cp_json *tree = cp_json_parse(exact, size, "test.json", &status);
    free(exact);
    return tree;
}

static const cp_json *parse(const char *text) {
    cp_json_free(root);
    root = parse_bytes(text, strlen(text));
    TEST_ASSERT_NOT_NULL_MESSAGE(root, status.message);
    return root;
}

static void refuses(const char *text, const char *message) {
    TEST_ASSERT_NULL_MESSAGE(parse_bytes(text, strlen(text)), text);
    says(&status, "test.json: JSON, line ");
    parse_bytes(text, strlen(text));
    says(&status, message);
}

static void a_config_is_read_field_by_field(void) {
    parse(" {\"model\": \"wrn\", \"depth\": 10,\n\t\"rate\":1e-3, \"sizes\":[2, 16 ,2],\r\n \"norm\":null, "
          "\"ema\":true, \"sgld\":{\"steps\":20}}\n");
    TEST_ASSERT_EQUAL_STRING("wrn", cp_json_string(cp_json_get(root, "model"), ""));
    TEST_ASSERT_EQUAL_INT64(10, cp_json_integer(cp_json_get(root, "depth"), 0));
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(root, "rate"), 0) == 1e-3);
    TEST_ASSERT_TRUE(cp_json_bool(cp_json_get(root, "ema"), false));
    TEST_ASSERT_EQUAL_INT(CP_JSON_NULL, cp_json_get(root, "norm")->kind);
    TEST_ASSERT_EQUAL_INT64(20, cp_json_integer(cp_json_get(cp_json_get(root, "sgld"), "steps"), 0));
    const cp_json *sizes = cp_json_get(root, "sizes");
    TEST_ASSERT_EQUAL_UINT64(3, sizes->count);
    TEST_ASSERT_EQUAL_INT64(16, cp_json_integer(cp_json_at(sizes, 1), 0));
    TEST_ASSERT_NULL(cp_json_at(sizes, 3));
    TEST_ASSERT_EQUAL_UINT64(11, cp_json_get(root, "model")->offset);
}

static void missing_fields_and_wrong_types_give_the_fallback(void) {
    parse("{\"a\":\"text\",\"b\":2.5,\"c\":[1]}");
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(root, "none"), 7) == 7);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(root, "a"), 7) == 7);
    TEST_ASSERT_EQUAL_INT64(-1, cp_json_integer(cp_json_get(root, "b"), -1));
    TEST_ASSERT_EQUAL_STRING("x", cp_json_string(cp_json_get(root, "b"), "x"));
    TEST_ASSERT_TRUE(cp_json_bool(cp_json_get(root, "a"), true));
    TEST_ASSERT_NULL(cp_json_get(cp_json_get(root, "c"), "key"));
    TEST_ASSERT_NULL(cp_json_get(NULL, "key"));
    TEST_ASSERT_NULL(cp_json_at(root, 0));
}

static void strings_are_decoded_with_every_escape(void) {
    parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\uD83D\\uDE00 \xC3\xA9 \xF0\x9F\x98\x80\"");
    TEST_ASSERT_EQUAL_STRING("\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \xC3\xA9 \xF0\x9F\x98\x80", root->text);
    TEST_ASSERT_EQUAL_STRING("", parse("\"\"")->text);
}

static void integers_are_exact_to_64_bits(void) {
    TEST_ASSERT_TRUE(cp_json_integer(parse("9223372036854775807"), 0) == INT64_MAX);
    TEST_ASSERT_TRUE(cp_json_integer(parse("-9223372036854775808"), 0) == INT64_MIN);
    TEST_ASSERT_TRUE(cp_json_integer(parse("9223372036854775808"), 5) == 5);
    TEST_ASSERT_TRUE(cp_json_integer(parse("3.0"), 5) == 3 && cp_json_integer(parse("3e2"), 5) == 300);
    TEST_ASSERT_TRUE(cp_json_integer(parse("3.5"), 5) == 5 && cp_json_integer(parse("1e300"), 5) == 5);
}

static void numbers_are_read_to_the_last_bit(void) {
    TEST_ASSERT_TRUE(parse("0.1")->number == 0.1);
    TEST_ASSERT_TRUE(parse("-1.7976931348623157e308")->number == -DBL_MAX);
    TEST_ASSERT_TRUE(parse("5E-324")->number == 4.9406564584124654e-324);
    TEST_ASSERT_TRUE(parse("1e-999")->number == 0);
    TEST_ASSERT_TRUE(signbit(parse("-0")->number));
}

static void malformed_texts_are_refused_with_line_and_column(void) {
    refuses("", "(byte 0): expected a value, found the end; is the text truncated?");
    refuses("  \n x", "line 2, column 2 (byte 4): expected a value, found 'x'");
    refuses("[1,]", "(byte 3): expected a value, found ']'");
    refuses("[1 2]", "expected ',' or ']', found '2'");
    refuses("{\"a\":1,}", "expected a key in double quotes, found '}'");
    refuses("{\"a\" 1}", "expected ':', found '1'");
    refuses("{a:1}", "expected a key in double quotes");
    refuses("{\"a\":1", "expected ',' or '}', found the end");
    refuses("1 2", "expected nothing more after the value, found '2'");
    refuses("nul", "expected a value");
    refuses("NaN", "expected a value");
    refuses("+1", "expected a value, found '+'");
    refuses("01", "expected nothing more");
    refuses("1.", "expected a digit, found the end");
    refuses(".5", "expected a value, found '.'");
    refuses("-", "expected a digit");
    refuses("1e", "expected a digit");
    refuses("1e999", "a number beyond the range of double");
    refuses("'a'", "expected a value");
    refuses("/* */ 1", "expected a value");
    refuses("\xEF\xBB\xBF 1", "expected a value, found byte 0xef");
}

static void malformed_strings_are_refused(void) {
    refuses("\"abc", "closing quote of a string, found the end");
    refuses("\"a\nb\"", "found byte 0x0a");
    refuses("\"\\x\"", "after a backslash, found 'x'");
    refuses("\"\\", "after a backslash, found the end");
    refuses("\"\\u12g4\"", "four hexadecimal digits after \\u, found 'g'");
    refuses("\"\\u0000\"", "\\u0000 is not accepted");
    refuses("\"\\ud800\"", "half a surrogate pair");
    refuses("\"\\udc00\"", "half a surrogate pair");
    refuses("\"\\ud800\\u0041\"", "half a surrogate pair");
    refuses("\"\\ud800\\u00\"", "four hexadecimal digits");
    refuses("\"\xFF\"", "a character in UTF-8");
    refuses("\"\xC0\x80\"", "a character in UTF-8");
    refuses("\"\xED\xA0\x80\"", "a character in UTF-8");
    refuses("\"\xF4\x90\x80\x80\"", "a character in UTF-8");
    refuses("\"\xE2\x82", "a character in UTF-8");
    TEST_ASSERT_NULL(parse_bytes("\"a\0b\"", 5));
    says(&status, "found byte 0x00");
}

static void a_duplicate_key_is_refused_in_small_and_large_objects(void) {
    refuses("{\"a\":1,\"b\":2,\"\\u0061\":3}", "(byte 22): the key \"a\" appears twice");
    char   text[4000] = "{";
    size_t used = 1;
    for (int i = 0; i < 100; i++) used += (size_t)sprintf(text + used, "\"k%d\":%d,", i, i);
    strcpy(text + used, "\"z\":0}");
    TEST_ASSERT_EQUAL_INT64(57, cp_json_integer(cp_json_get(parse(text), "k57"), 0));
    strcpy(text + used, "\"k57\":0}");
    refuses(text, "the key \"k57\" appears twice");
}

static void nesting_beyond_the_limit_is_refused(void) {
    char deep[2 * CP_JSON_DEPTH + 3];
    memset(deep, '[', CP_JSON_DEPTH);
    memset(deep + CP_JSON_DEPTH, ']', CP_JSON_DEPTH);
    deep[2 * CP_JSON_DEPTH] = '\0';
    parse(deep);
    memset(deep, '[', CP_JSON_DEPTH + 1);
    memset(deep + CP_JSON_DEPTH + 1, ']', CP_JSON_DEPTH + 1);
    deep[2 * CP_JSON_DEPTH + 2] = '\0';
    refuses(deep, "more than 64 levels of objects and arrays");
    size_t size = 1000000;
    char  *open = malloc(size);
    memset(open, '[', size);
    TEST_ASSERT_NULL(parse_bytes(open, size));
    free(open);
}

static void a_text_cut_anywhere_is_refused(void) {
    const char *text = "{\"a\\u00e9\":[1.5e3,true,null],\"b\":{\"c\":\"\\ud83d\\ude00 \xC3\xA9\"}}";
    for (size_t size = 0; size < strlen(text); size++) {
        TEST_ASSERT_NULL(parse_bytes(text, size));
        says(&status, "test.json: JSON, line 1");
    }
}

static void a_byte_changed_anywhere_never_breaks_the_reader(void) {
    char   text[] = "{\"a\\u00e9\":[-1.5e3,true,null],\"b\":{\"c\":\"\\ud83d\\ude00 \xC3\xA9\"}}";
    size_t size = strlen(text);
    int    read = 0;
    for (size_t i = 0; i < size; i++)
        for (int value = 0; value < 256; value++) {
            char kept = text[i];
            text[i] = (char)value;
            cp_json *tree = parse_bytes(text, size);
            TEST_ASSERT_TRUE((tree != NULL) == (status.message[0] == '\0'));
            read += tree != NULL;
            cp_json_free(tree);
            status = (cp_status){0};
            text[i] = kept;
        }
    TEST_ASSERT_GREATER_THAN_INT((int)size, read);
}

static void the_decimal_point_is_a_point_in_any_locale(void) {
    const char *names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    bool        found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) found = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!found) TEST_IGNORE_MESSAGE("no locale with a decimal comma is installed");
    cp_json_writer w = {0};
    double         read = parse("-1.25e1")->number;
    cp_json_put_number(&w, NULL, 0.5);
    bool finished = cp_json_writer_finish(&w, &status);
    setlocale(LC_NUMERIC, "C");
    TEST_ASSERT_TRUE(read == -12.5 && finished);
    TEST_ASSERT_EQUAL_STRING("0.5", (char *)w.out.data);
    cp_json_writer_free(&w);
}

static void put_sample(cp_json_writer *w) {
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "name", "a\"\\\n\x01\xC3\xA9\xFF\xC2\x9B/");
    cp_json_put_array(w, "list");
    cp_json_put_integer(w, NULL, INT64_MIN);
    cp_json_put_integer(w, NULL, INT64_MAX);
    cp_json_put_number(w, NULL, 0.1);
    cp_json_put_number(w, NULL, NAN);
    cp_json_put_number(w, NULL, -INFINITY);
    cp_json_put_bool(w, NULL, true);
    cp_json_put_string(w, NULL, NULL);
    cp_json_put_end(w);
    cp_json_put_object(w, "empty");
    cp_json_put_end(w);
    cp_json_put_array(w, "none");
    cp_json_put_end(w);
    cp_json_put_bool(w, "last", false);
    cp_json_put_end(w);
}

static void one_line_is_written_without_spaces(void) {
    cp_json_writer w = {0};
    put_sample(&w);
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_finish(&w, &status), status.message);
    TEST_ASSERT_EQUAL_STRING("{\"name\":\"a\\\"\\\\\\n\\u0001\xC3\xA9\xEF\xBF\xBD\\u009b/\",\"list\":[-9223372036854775808,"
                             "9223372036854775807,0.1,null,null,true,null],\"empty\":{},\"none\":[],\"last\":false}",
                             (char *)w.out.data);
    cp_json_writer_free(&w);
}

static void pretty_text_has_lines_and_reads_as_the_same(void) {
    cp_json_writer w = {.pretty = true};
    put_sample(&w);
    TEST_ASSERT_TRUE(cp_json_writer_finish(&w, &status));
    const char *text = (char *)w.out.data;
    TEST_ASSERT_NOT_NULL(strstr(text, "{\n  \"name\": \"a"));
    TEST_ASSERT_NOT_NULL(strstr(text, "\n  \"list\": [\n    -9223372036854775808,\n    9223"));
    TEST_ASSERT_NOT_NULL(strstr(text, "\n  \"empty\": {},\n  \"none\": [],\n  \"last\": false\n}"));
    parse(text);
    TEST_ASSERT_EQUAL_STRING("a\"\\\n\x01\xC3\xA9\xEF\xBF\xBD\xC2\x9B/", cp_json_string(cp_json_get(root, "name"), ""));
    TEST_ASSERT_EQUAL_STRING("9223372036854775807", cp_json_at(cp_json_get(root, "list"), 1)->text);
    cp_json_writer_free(&w);
}

static void numbers_survive_writing_and_reading(void) {
    static const double values[] = {0.0, -0.0, 1.0 / 3, DBL_MAX, DBL_MIN, 5e-324, 1e22, 123456789012345680.0, FLT_MAX};
    uint64_t            bits = 88172645463325252u;
    for (size_t i = 0; i < 2000; i++) {
        double value = values[i % (sizeof values / sizeof *values)];
        if (i >= sizeof values / sizeof *values) {
            bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
            memcpy(&value, &bits, sizeof value);
        }
        cp_json_writer w = {0};
        cp_json_put_array(&w, NULL);
        cp_json_put_number(&w, NULL, value);
        cp_json_put_end(&w);
        TEST_ASSERT_TRUE(cp_json_writer_finish(&w, &status));
        parse((char *)w.out.data);
        double again = cp_json_number(cp_json_at(root, 0), NAN);
        TEST_ASSERT_TRUE(isfinite(value) ? memcmp(&again, &value, sizeof value) == 0 : isnan(again));
        cp_json_writer_free(&w);
    }
}

static void a_copy_of_parsed_json_reads_the_same(void) {
    static const char text[] =
        "{\"a\":[1,2.5,-9223372036854775807,1e+300,{}],\"b\":{\"c\":null,\"d\":[true,false,[]]},\"e\":\"\\u00e9\\n\"}";
    cp_json_writer w = {0}, again = {0};
    cp_json_put_copy(&w, NULL, parse(text));
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_finish(&w, &status), status.message);
    cp_json_put_object(&again, NULL);
    cp_json_put_copy(&again, "within", parse((const char *)w.out.data));
    cp_json_put_end(&again);
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_finish(&again, &status), status.message);
    parse((const char *)again.out.data);
    const cp_json *copy = cp_json_get(root, "within"), *numbers = cp_json_get(copy, "a");
    TEST_ASSERT_EQUAL_INT64(-9223372036854775807, cp_json_integer(cp_json_at(numbers, 2), 0));
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(numbers, 1), 0) == 2.5 && cp_json_number(cp_json_at(numbers, 3), 0) == 1e300);
    TEST_ASSERT_TRUE(cp_json_at(numbers, 4)->kind == CP_JSON_OBJECT && cp_json_at(numbers, 4)->count == 0);
    TEST_ASSERT_EQUAL_STRING("\xc3\xa9\n", cp_json_string(cp_json_get(copy, "e"), ""));
    TEST_ASSERT_TRUE(cp_json_get(cp_json_get(copy, "b"), "c")->kind == CP_JSON_NULL);
    TEST_ASSERT_TRUE(cp_json_bool(cp_json_at(cp_json_get(cp_json_get(copy, "b"), "d"), 0), false));
    cp_json_writer_free(&w), cp_json_writer_free(&again);
}

static void whole_arrays_are_written_and_a_writer_is_printed_and_freed(void) {
    cp_json_writer w = {0};
    char          *text = NULL;
    size_t         size;
    FILE          *file = open_memstream(&text, &size);
    cp_json_put_object(&w, NULL);
    cp_json_put_integers(&w, "a", (int[]){1, -2}, 2);
    cp_json_put_numbers(&w, "b", (double[]){0.5, NAN}, 2);
    cp_json_put_strings(&w, "c", (const char *const[]){"x", NULL}, 2);
    cp_json_put_integers(&w, "d", NULL, 0);
    TEST_ASSERT_FALSE(cp_json_writer_print(&(cp_json_writer){0}, file, &status));
    says(&status, "no value");
    cp_json_put_end(&w);
    TEST_ASSERT_TRUE(cp_json_writer_print(&w, file, &status));
    TEST_ASSERT_NULL(w.out.data);
    fclose(file);
    TEST_ASSERT_EQUAL_STRING("{\"a\":[1,-2],\"b\":[0.5,null],\"c\":[\"x\",null],\"d\":[]}\n", text);
    free(text);
}

static void a_writer_used_wrongly_reports_the_mistake(void) {
    cp_json_writer w = {0};
    TEST_ASSERT_FALSE(cp_json_writer_finish(&w, &status));
    says(&status, "no value was written");
    cp_json_writer_free(&w);
    cp_json_put_object(&w, NULL);
    TEST_ASSERT_FALSE(cp_json_writer_finish(&w, &status));
    says(&status, "was not closed");
    cp_json_writer_free(&w);
    cp_json_put_object(&w, NULL);
    cp_json_put_null(&w, NULL);
    cp_json_put_end(&w);
    TEST_ASSERT_FALSE(cp_json_writer_finish(&w, &status));
    says(&status, "without a key in an object");
    cp_json_writer_free(&w);
    cp_json_put_null(&w, "key");
    TEST_ASSERT_FALSE(cp_json_writer_finish(&w, &status));
    says(&status, "a key outside an object");
    cp_json_writer_free(&w);
    cp_json_put_null(&w, NULL);
    cp_json_put_null(&w, NULL);
    TEST_ASSERT_FALSE(cp_json_writer_finish(&w, &status));
    says(&status, "a second value");
    cp_json_writer_free(&w);
    cp_json_put_end(&w);
    TEST_ASSERT_FALSE(cp_json_writer_finish(&w, &status));
    says(&status, "an end without");
    cp_json_writer_free(&w);
    for (int i = 0; i <= CP_JSON_DEPTH; i++) cp_json_put_array(&w, NULL);
    for (int i = 0; i <= CP_JSON_DEPTH; i++) cp_json_put_end(&w);
    TEST_ASSERT_FALSE(cp_json_writer_save(&w, scratch("never.json"), &status));
    says(&status, "too many levels of objects");
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
}

static void a_file_is_saved_with_a_newline_and_read_back(void) {
    cp_json_writer w = {0};
    cp_json_put_integer(&w, NULL, 42);
    TEST_ASSERT_TRUE(cp_json_writer_save(&w, scratch("n.json"), &status));
    scratch_holds("n.json", "42\n", 3);
    root = cp_json_read(scratch("n.json"), &status);
    TEST_ASSERT_EQUAL_INT64(42, cp_json_integer(root, 0));
    TEST_ASSERT_NULL(cp_json_read(scratch("missing.json"), &status));
    says(&status, "missing.json");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_config_is_read_field_by_field);
    RUN_TEST(missing_fields_and_wrong_types_give_the_fallback);
    RUN_TEST(strings_are_decoded_with_every_escape);
    RUN_TEST(integers_are_exact_to_64_bits);
    RUN_TEST(numbers_are_read_to_the_last_bit);
    RUN_TEST(malformed_texts_are_refused_with_line_and_column);
    RUN_TEST(malformed_strings_are_refused);
    RUN_TEST(a_duplicate_key_is_refused_in_small_and_large_objects);
    RUN_TEST(nesting_beyond_the_limit_is_refused);
    RUN_TEST(a_text_cut_anywhere_is_refused);
    RUN_TEST(a_byte_changed_anywhere_never_breaks_the_reader);
    RUN_TEST(the_decimal_point_is_a_point_in_any_locale);
    RUN_TEST(one_line_is_written_without_spaces);
    RUN_TEST(pretty_text_has_lines_and_reads_as_the_same);
    RUN_TEST(numbers_survive_writing_and_reading);
    RUN_TEST(a_copy_of_parsed_json_reads_the_same);
    RUN_TEST(whole_arrays_are_written_and_a_writer_is_printed_and_freed);
    RUN_TEST(a_writer_used_wrongly_reports_the_mistake);
    RUN_TEST(a_file_is_saved_with_a_newline_and_read_back);
    return UNITY_END();
}
