/* Tests of core/io/csv. */
#include "core/io/csv.h"

#include "support/setup_files.h"

static cp_csv csv;

static bool parse(const char *text, size_t size) {
    char *exact = malloc(size ? size : 1);
    memcpy(exact, text, size);
    status = (cp_status){0};
    bool done = cp_csv_parse(exact, size, "a.csv", &csv, &status);
    free(exact);
    TEST_ASSERT_TRUE(done == !status.message[0] && done == (csv.cells != NULL));
    return done;
}

static void gives(const char *text, size_t rows, size_t columns, const char *const *cells) {
    TEST_ASSERT_TRUE_MESSAGE(parse(text, strlen(text)), status.message);
    TEST_ASSERT_EQUAL_UINT64(rows, csv.rows);
    TEST_ASSERT_EQUAL_UINT64(columns, csv.columns);
    for (size_t i = 0; i < rows * columns; i++) TEST_ASSERT_EQUAL_STRING(cells[i], csv.cells[i]);
}

static void refuses(const char *text, size_t size, const char *message) {
    TEST_ASSERT_FALSE_MESSAGE(parse(text, size), message);
    says(&status, message);
}

#define CELLS(...)                                                                                                                 \
    (const char *const[]) { __VA_ARGS__ }

static void rows_of_cells_are_read(void) {
    gives("a,b\n1,2\n", 2, 2, CELLS("a", "b", "1", "2"));
    cp_csv_free(&csv);
    gives(" a , b\r\n\r\n1,\r\n \n,", 3, 2, CELLS("a", "b", "1", "", "", ""));
    TEST_ASSERT_EQUAL_UINT64(1, csv.lines[0]);
    TEST_ASSERT_EQUAL_UINT64(3, csv.lines[1]);
    TEST_ASSERT_EQUAL_UINT64(5, csv.lines[2]);
    cp_csv_free(&csv);
    gives("\xef\xbb\xbfone", 1, 1, CELLS("one"));
    cp_csv_free(&csv);
}

static void quoted_cells_hold_anything(void) {
    gives("\"a,\"\"b\"\"\n\",\"\" , c \"d\"\ne,\"f\",g", 2, 3, CELLS("a,\"b\"\n", "", "c \"d\"", "e", "f", "g"));
    TEST_ASSERT_EQUAL_UINT64(3, csv.lines[1]);
    cp_csv_free(&csv);
}

static void semicolons_and_tabs_separate_too(void) {
    gives("a;b,c;d\n1;2,5;3", 2, 3, CELLS("a", "b,c", "d", "1", "2,5", "3"));
    cp_csv_free(&csv);
    gives("a\tb\n\t2\n", 2, 2, CELLS("a", "b", "", "2"));
    cp_csv_free(&csv);
    gives("\"a;;\",b\nc,d", 2, 2, CELLS("a;;", "b", "c", "d"));
    cp_csv_free(&csv);
}

static void many_rows_are_read(void) {
    cp_bytes text = {0};
    for (int i = 0; i < 5000; i++) {
        char line[40];
        snprintf(line, sizeof line, "%d,\"%d\"\n", i, -i);
        cp_bytes_text(&text, line);
    }
    TEST_ASSERT_TRUE(parse((const char *)text.data, text.size));
    TEST_ASSERT_EQUAL_UINT64(5000, csv.rows);
    TEST_ASSERT_EQUAL_STRING("-4999", cp_csv_cell(&csv, 4999, 1));
    cp_csv_free(&csv);
    cp_bytes_free(&text);
}

static void columns_are_found_by_name(void) {
    scratch_write("in.csv", "File,LABEL\n", 11);
    TEST_ASSERT_TRUE_MESSAGE(cp_csv_read(scratch("in.csv"), &csv, &status), status.message);
    TEST_ASSERT_EQUAL_INT(1, cp_csv_column(&csv, "label"));
    TEST_ASSERT_EQUAL_INT(-1, cp_csv_column(&csv, "split"));
    cp_csv_free(&csv);
    TEST_ASSERT_FALSE(cp_csv_read(scratch("nothing.csv"), &csv, &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
}

static void what_is_no_csv_is_refused_with_the_line(void) {
    refuses("", 0, "a.csv: the file is empty");
    refuses("\n \r\n", 4, "a.csv: the file is empty");
    refuses("a,b\0c", 5, "a.csv is not a text file");
    refuses("a,b\n\n1\n", 7, "a.csv, line 3: 1 cells were found, 2 were expected");
    refuses("a,b\n1,2,3", 9, "a.csv, line 2: 3 cells were found, 2 were expected");
    refuses("a\n\"b\n\nc", 7, "a.csv, line 2: a cell begins with a quote that is never closed");
    refuses("a\n\"b\"c\n", 7, "a.csv, line 2: text follows the closing quote");
    refuses("\"", 1, "never closed");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(rows_of_cells_are_read);
    RUN_TEST(quoted_cells_hold_anything);
    RUN_TEST(semicolons_and_tabs_separate_too);
    RUN_TEST(many_rows_are_read);
    RUN_TEST(columns_are_found_by_name);
    RUN_TEST(what_is_no_csv_is_refused_with_the_line);
    return UNITY_END();
}
