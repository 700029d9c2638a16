/* Tests of core/io/npy and core/io/dtype: files as numpy writes them, round trips, and malformed files. */
#include "core/io/npy.h"

#include "tests/core/scratch.h"
#include "unity.h"

#include <float.h>
#include <math.h>

static cp_status status;
static cp_npy    npy;

void setUp(void) {
    status = (cp_status){0};
    npy = (cp_npy){0};
    scratch_make();
}

void tearDown(void) {
    cp_npy_free(&npy);
    scratch_remove();
}

/* ---- building files ---------------------------------------------------------------------------------------------- */

typedef struct sample {
    unsigned char bytes[512];
    size_t        size;
} sample;

/* A file with exactly this header text, and these elements. */
static sample make(int version, const char *header, const void *data, size_t size) {
    sample s = {.bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0}};
    size_t length = strlen(header);
    cp_put_le32(s.bytes + 8, (uint32_t)length); /* the header begins two bytes earlier in version 1 */
    s.size = version == 1 ? 10 : 12;
    memcpy(s.bytes + s.size, header, length);
    s.size += length;
    if (size > 0) memcpy(s.bytes + s.size, data, size);
    s.size += size;
    return s;
}

/* From memory of exactly the file's size, so that the address sanitizer sees a read beyond it. */
static bool parse(const unsigned char *bytes, size_t size) {
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, bytes, size);
    cp_npy_free(&npy);
    bool done = cp_npy_parse(exact, size, "test.npy", &npy, &status);
    free(exact);
    return done;
}

static void reads(sample s) { TEST_ASSERT_TRUE_MESSAGE(parse(s.bytes, s.size), status.message); }

static void refuses(sample s, const char *message) {
    TEST_ASSERT_FALSE_MESSAGE(parse(s.bytes, s.size), message);
    TEST_ASSERT_NULL(npy.data);
    TEST_ASSERT_EQUAL_STRING_LEN("test.npy: ", status.message, 10);
    says(&status, message);
}

static void refuses_header(const char *header, const char *message) { refuses(make(1, header, "\0\0\0\0\0\0\0\0", 8), message); }

static void has_shape(cp_dtype dtype, int rank, const int64_t *dims, size_t size) {
    TEST_ASSERT_EQUAL_STRING(cp_dtype_name(dtype), cp_dtype_name(npy.dtype));
    TEST_ASSERT_EQUAL_INT(rank, npy.rank);
    for (int i = 0; i < rank; i++) TEST_ASSERT_EQUAL_INT64(dims[i], npy.dims[i]);
    TEST_ASSERT_EQUAL_UINT64(size, npy.size);
    TEST_ASSERT_NOT_NULL(npy.data);
}

/* ---- files by numpy 1.24 (numpy.lib.format.write_array) ---------------------------------------------------------- */

#define SPACES_56 "                                                        "
#define SPACES_58 SPACES_56 "  "

static void little_endian_floats_by_numpy_are_read(void) {
    static const unsigned char data[] = {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x3f, 0x00, 0x00, 0x00, 0xc0,
                                         0x00, 0x00, 0x80, 0x7f, 0xc2, 0x16, 0x01, 0x00, 0xd0, 0x0f, 0x49, 0x40};
    const float                expected[] = {0, 1.5f, -2, INFINITY, 1e-40f, 3.14159f};
    sample s = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" SPACES_58 "\n", data, sizeof data);
    TEST_ASSERT_EQUAL_UINT64(152, s.size);
    reads(s);
    has_shape(CP_F32, 2, (int64_t[]){2, 3}, 6);
    TEST_ASSERT_EQUAL_MEMORY(expected, npy.data, sizeof expected);
}

static void big_endian_doubles_by_numpy_are_read(void) {
    static const unsigned char data[] = {0x3f, 0xf0, 0,    0,    0,    0,    0, 0, 0xbf, 0xb9, 0x99, 0x99,
                                         0x99, 0x99, 0x99, 0x9a, 0x7f, 0xf8, 0, 0, 0,    0,    0,    0};
    reads(make(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }  " SPACES_58 "\n", data, sizeof data));
    has_shape(CP_F64, 1, (int64_t[]){3}, 3);
    double values[3];
    memcpy(values, npy.data, sizeof values);
    TEST_ASSERT_TRUE(values[0] == 1.0 && values[1] == -0.1 && isnan(values[2]));
}

static void big_endian_integers_in_version_2_are_read(void) {
    static const unsigned char data[] = {0x80, 0, 0, 0, 0, 0, 0, 7};
    sample s = make(2, "{'descr': '>i4', 'fortran_order': False, 'shape': (2, 1), }" SPACES_56 "\n", data, sizeof data);
    reads(s);
    has_shape(CP_I32, 2, (int64_t[]){2, 1}, 2);
    TEST_ASSERT_EQUAL_INT32(INT32_MIN, ((int32_t *)npy.data)[0]);
    TEST_ASSERT_EQUAL_INT32(7, ((int32_t *)npy.data)[1]);
}

static void bytes_in_version_3_are_read(void) {
    reads(make(3, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }     \n", "\x00\x01\xff", 3));
    has_shape(CP_U8, 1, (int64_t[]){3}, 3);
    TEST_ASSERT_EQUAL_MEMORY("\x00\x01\xff", npy.data, 3);
}

static void a_single_number_has_rank_0(void) {
    reads(make(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (), } \n", "\xfb\xff\xff\xff\xff\xff\xff\xff", 8));
    has_shape(CP_I64, 0, NULL, 1);
    TEST_ASSERT_EQUAL_INT64(-5, *(int64_t *)npy.data);
}

static void half_floats_are_converted_to_reals(void) {
    const double expected[] = {0.5, -65504, 0x1p-24, INFINITY, 0, -0.0, 1};
    reads(make(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (7,), }\n",
               "\x00\x38\xff\xfb\x01\x00\x00\x7c\x00\x00\x00\x80\x00\x3c", 14));
    cp_real *values = cp_npy_to_real(&npy, "test.npy", &status);
    for (int i = 0; i < 7; i++) TEST_ASSERT_TRUE(values[i] == (cp_real)expected[i]);
    TEST_ASSERT_TRUE(signbit(values[5]));
    TEST_ASSERT_TRUE(isnan(cp_f16_value(0x7e00)));
    free(values);
}

static void every_finite_half_survives_conversion_to_float_and_back(void) {
    for (uint32_t bits = 0; bits < 0x10000; bits++)
        if ((bits & 0x7c00) != 0x7c00) TEST_ASSERT_EQUAL_HEX16(bits, cp_f16_bits(cp_f16_value((uint16_t)bits)));
}

static void empty_arrays_are_read(void) {
    reads(make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }\n", NULL, 0));
    has_shape(CP_F64, 2, (int64_t[]){0, 3}, 0);
    cp_real *values = cp_npy_to_real(&npy, "test.npy", &status);
    TEST_ASSERT_NOT_NULL(values);
    free(values);
}

static void fortran_order_is_converted_to_c_order(void) {
    reads(make(1, "{'descr':'>u2','fortran_order':True,'shape':(2,3)}", "\0\1\0\4\0\2\0\5\0\3\0\6", 12));
    has_shape(CP_U16, 2, (int64_t[]){2, 3}, 6);
    TEST_ASSERT_EQUAL_UINT16_ARRAY(((uint16_t[]){1, 2, 3, 4, 5, 6}), npy.data, 6);
    reads(make(1, "{'descr':'|u1','fortran_order':True,'shape':(2,2,3)}", "aedhbfcgiljk", 12));
    const char *file = "aedhbfcgiljk";
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 3; k++)
                TEST_ASSERT_EQUAL_UINT8(file[i + 2 * j + 4 * k], ((uint8_t *)npy.data)[(i * 2 + j) * 3 + k]);
    reads(make(1, "{'descr':'<i4','fortran_order':True,'shape':()}", "\7\0\0\0", 4));
    TEST_ASSERT_EQUAL_INT32(7, *(int32_t *)npy.data);
    reads(make(1, "{'descr':'<i4','fortran_order':True,'shape':(3,0)}", NULL, 0));
    has_shape(CP_I32, 2, (int64_t[]){3, 0}, 0);
}

static void the_header_may_have_any_layout(void) {
    reads(make(1, " { \"shape\" : ( 2 ,1,) ,\n'fortran_order':False,\t'descr':'<i2'}", "\1\0\2\0", 4));
    has_shape(CP_I16, 2, (int64_t[]){2, 1}, 2);
    reads(make(1, "{'descr':'|i1','fortran_order':False,'shape':(2L,)}", "\1\xff", 2));
    has_shape(CP_I8, 1, (int64_t[]){2}, 2);
    reads(make(1, "{'descr':'>u2','fortran_order':False,'shape':(1,1,1,1,1)}", "\1\2", 2));
    has_shape(CP_U16, 5, (int64_t[]){1, 1, 1, 1, 1}, 1);
    TEST_ASSERT_EQUAL_UINT16(0x0102, *(uint16_t *)npy.data);
    reads(make(1, "{'descr':'|b1','fortran_order':False,'shape':(3,)}", "\0\1\2", 3));
    TEST_ASSERT_EQUAL_MEMORY("\0\1\1", npy.data, 3);
}

/* ---- malformed files ------------------------------------------------------------------------------------ */

static void files_other_than_npy_are_refused(void) {
    refuses((sample){{0}, 0}, "this is not a .npy file");
    refuses((sample){"PK\3\4 a zip file", 15}, "byte 0: this is not a .npy file");
    sample s = make(1, "{'descr':'|u1','fortran_order':False,'shape':(1,)}", "x", 1);
    s.bytes[6] = 4;
    refuses(s, "byte 6: .npy version 4.0; versions 1.0, 2.0 and 3.0 can be read");
    s = make(2, "{}", NULL, 0);
    s.bytes[11] = 0x7f;
    refuses(s, "byte 8: a header of ");
    s = make(1, "{}", NULL, 0);
    s.bytes[8] = 3;
    refuses(s, "the header should end at byte 13, the file ends at 12; it is truncated");
}

static void malformed_headers_are_refused_with_the_position(void) {
    refuses_header("", "header, byte 10: expected '{', found the end");
    refuses_header("[]", "expected '{', found '['");
    refuses_header("{}", "the key 'descr' is missing");
    refuses_header("{'descr':'<f8','fortran_order':False}", "the key 'shape' is missing");
    refuses_header("{'descr':'<f8','shape':(1,)}", "the key 'fortran_order' is missing");
    refuses_header("{'descr':'<f8','descr':'<f8'}", "header, byte 26: a second key 'descr'");
    refuses_header("{'color':1}", "header, byte 12: the unknown key 'color'");
    refuses_header("{descr:1}", "expected a key in quotes or '}', found 'd'");
    refuses_header("{'descr", "expected the closing quote of a string, found the end");
    refuses_header("{'de\\scr':1}", "expected the closing quote of a string, found '\\'");
    refuses_header("{'descr' '<f8'}", "expected ':', found '''");
    refuses_header("{'descr':'<f8' 'shape':()}", "expected ',' or '}'");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':()} x", "expected nothing more, found 'x'");
    refuses_header("{'descr':'<f8','fortran_order':0,'shape':()}", "expected True or False, found '0'");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':8}", "expected a shape such as (2, 3), found '8'");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(1)}", "expected the ',' of a tuple, found ')'");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(-1,)}", "expected a dimension (a whole number, not negative)");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(1 2)}", "expected the ',' of a tuple");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(1,2 3)}", "expected ',' or ')'");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(,)}", "expected a dimension");
}

static void unsupported_files_are_refused_with_advice(void) {
    refuses_header("{'descr':[('a','<f4')],'fortran_order':False,'shape':(1,)}", "an array of records");
    refuses_header("{'descr':'<c8','fortran_order':False,'shape':(1,)}", "'<c8' cannot be read: they are complex numbers; convert");
    refuses_header("{'descr':'|O','fortran_order':False,'shape':(1,)}",
                   "elements of type '|O' cannot be read: they are Python objects, which only");
    refuses_header("{'descr':'<U5','fortran_order':False,'shape':(1,)}",
                   "elements of type '<U5' cannot be read: they are text; conv");
    refuses_header("{'descr':'|S5','fortran_order':False,'shape':(1,)}", "elements of type '|S5' cannot be read: they are text");
    refuses_header("{'descr':'|V8','fortran_order':False,'shape':(1,)}", "'|V8' cannot be read: they are records or raw bytes");
    refuses_header("{'descr':'<M8[ns]','fortran_order':False,'shape':(1,)}", "'<M8[ns]' cannot be read: they are times");
    refuses_header("{'descr':'<','fortran_order':False,'shape':(1,)}", "elements of type '<' cannot be read; convert");
    refuses_header("{'descr':'=f8','fortran_order':False,'shape':(1,)}", "elements of type '=f8' cannot be read");
    refuses_header("{'descr':'|f8','fortran_order':False,'shape':(1,)}", "elements of type '|f8' cannot be read");
    refuses_header("{'descr':'<U\x1b[2J','fortran_order':False,'shape':(1,)}",
                   "elements of type '<U?[2J' cannot be read: they are text");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(1,1,1,1,1,1)}", "more than 5 axes; reshape it");
    sample s = make(1, "{'descr':'<f8','fortran_order':False,'shape':(1,)}", "\0\0\0\0\0\0\0\0", 8);
    s.bytes[20] = '\0';
    refuses(s, "cannot be read");
}

static void shapes_that_do_not_match_the_file_are_refused(void) {
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(2,)}",
                   "8 bytes of elements follow the header, shape (2,) of F64 needs 16; the file is truncated");
    refuses_header("{'descr':'<f4','fortran_order':False,'shape':()}",
                   "8 bytes of elements follow the header, shape () of F32 needs 4; the file is damaged or holds more");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(9223372036854775807,)}", "is larger than memory can be");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(9223372036854775808,)}", "expected a dimension below 2^63");
    refuses_header("{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296,2)}", "is larger than memory can be");
    refuses_header("{'descr':'|u1','fortran_order':False,'shape':(0,4294967296,4294967296)}", "is larger than memory can be");
}

static void a_file_cut_anywhere_is_refused(void) {
    for (int version = 1; version <= 3; version++) {
        sample s = make(version, "{'descr':'>i4','fortran_order':False,'shape':(2,3)} \n", "abcdefghijklmnopqrstuvwx", 24);
        reads(s);
        while (s.size-- > 0) refuses(s, "");
    }
}

static void a_byte_changed_anywhere_never_breaks_the_reader(void) {
    sample s = make(1, "{'descr':'<i4','fortran_order':False,'shape':(2,3)} \n", "abcdefghijklmnopqrstuvwx", 24);
    for (size_t i = 0; i < s.size; i++)
        for (int value = 0; value < 256; value++) {
            sample changed = s;
            changed.bytes[i] = (unsigned char)value;
            bool read = parse(changed.bytes, changed.size);
            TEST_ASSERT_TRUE(read == (status.message[0] == '\0') && read == (npy.data != NULL));
            TEST_ASSERT_TRUE(!read || npy.size * cp_dtype_size(npy.dtype) == 24);
            status = (cp_status){0};
        }
}

static void unreadable_paths_are_named(void) {
    TEST_ASSERT_FALSE(cp_npy_read(scratch("missing.npy"), &npy, &status));
    says(&status, "missing.npy: cannot open it");
    TEST_ASSERT_FALSE(cp_npy_read(scratch_folder, &npy, &status));
    says(&status, "Is a directory");
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void every_type_and_shape_survives_writing_and_reading(void) {
    static const struct {
        int     rank;
        int64_t dims[CP_NPY_RANK];
        size_t  count;
    } shapes[] = {
        {0, {0}, 1},      {1, {0}, 0}, {1, {1}, 1}, {1, {7}, 7}, {2, {3, 0}, 0}, {3, {2, 1, 3}, 6}, {5, {1, 2, 3, 2, 1}, 12},
        {1, {9001}, 9001}};
    static unsigned char data[9001 * 8];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + i / 256);
    for (int type = 0; type < CP_DTYPES; type++) {
        if (type == CP_BF16) continue;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            size_t bytes = shapes[i].count * cp_dtype_size((cp_dtype)type);
            if (type == CP_BOOL)
                for (size_t k = 0; k < bytes; k++) data[k] &= 1;
            TEST_ASSERT_TRUE_MESSAGE(cp_npy_write(scratch("a.npy"), (cp_dtype)type, shapes[i].rank, shapes[i].dims, data, &status),
                                     status.message);
            TEST_ASSERT_TRUE_MESSAGE(cp_npy_read(scratch("a.npy"), &npy, &status), status.message);
            has_shape((cp_dtype)type, shapes[i].rank, shapes[i].dims, shapes[i].count);
            TEST_ASSERT_TRUE(bytes == 0 || memcmp(data, npy.data, bytes) == 0);
            cp_npy_free(&npy);
        }
    }
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
}

static void a_file_is_written_according_to_the_format(void) {
    static const char front[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }";
    TEST_ASSERT_TRUE(cp_npy_write(scratch("a.npy"), CP_I32, 1, (int64_t[]){1}, (int32_t[]){-2}, &status));
    cp_bytes bytes;
    TEST_ASSERT_TRUE(cp_file_read(scratch("a.npy"), SIZE_MAX, &bytes, &status));
    TEST_ASSERT_EQUAL_UINT64(128 + 4, bytes.size);
    TEST_ASSERT_EQUAL_MEMORY(front, bytes.data, sizeof front - 1);
    for (size_t i = sizeof front - 1; i < 127; i++) TEST_ASSERT_EQUAL_HEX8(' ', bytes.data[i]);
    TEST_ASSERT_EQUAL_MEMORY("\n\xfe\xff\xff\xff", bytes.data + bytes.size - 5, 5);
    cp_bytes_free(&bytes);
}

static void values_that_cannot_be_written_are_refused(void) {
    int64_t dims[6] = {1, 1, 1, 1, 1, 1};
    TEST_ASSERT_FALSE(cp_npy_write(scratch("a"), CP_F32, 6, dims, "", &status));
    says(&status, "a shape of rank 0 to 5");
    TEST_ASSERT_FALSE(cp_npy_write(scratch("a"), CP_F32, 1, (int64_t[]){-1}, "", &status));
    says(&status, "no dimension negative");
    TEST_ASSERT_FALSE(cp_npy_write(scratch("a"), CP_BF16, 1, dims, "", &status));
    says(&status, "convert them to F32 first");
    TEST_ASSERT_FALSE(cp_npy_write(scratch("no/a"), CP_U8, 1, dims, "", &status));
    says(&status, "check the path");
    if (access("/dev/full", W_OK) == 0) {
        TEST_ASSERT_FALSE(cp_npy_write("/dev/full", CP_U8, 1, dims, "", &status));
        says(&status, "No space left");
    }
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool one_int32(cp_dtype dtype, const void *value, int32_t *out) {
    return cp_elements_to_int32(dtype, value, 1, out, "labels.npy", &status);
}

static void every_type_is_converted_to_numbers(void) {
    struct {
        cp_dtype    dtype;
        const void *value;
    } cases[] = {
        {CP_BOOL, (uint8_t[]){1}}, {CP_U8, (uint8_t[]){1}},        {CP_I8, (int8_t[]){1}},          {CP_I16, (int16_t[]){1}},
        {CP_U16, (uint16_t[]){1}}, {CP_F16, (uint16_t[]){0x3c00}}, {CP_BF16, (uint16_t[]){0x3f80}}, {CP_I32, (int32_t[]){1}},
        {CP_U32, (uint32_t[]){1}}, {CP_F32, (float[]){1}},         {CP_F64, (double[]){1}},         {CP_I64, (int64_t[]){1}},
        {CP_U64, (uint64_t[]){1}},
    };
    TEST_ASSERT_EQUAL_INT(CP_DTYPES, sizeof cases / sizeof *cases);
    for (int i = 0; i < CP_DTYPES; i++) {
        cp_real real = 0;
        int32_t narrow = 0;
        TEST_ASSERT_TRUE(cp_elements_to_real(cases[i].dtype, cases[i].value, 1, &real, "", &status) && real == 1);
        TEST_ASSERT_TRUE(one_int32(cases[i].dtype, cases[i].value, &narrow) && narrow == 1);
    }
    cp_real minus_three = 0;
    TEST_ASSERT_TRUE(cp_elements_to_real(CP_BF16, (uint16_t[]){0xc040}, 1, &minus_three, "", &status) && minus_three == -3);
}

static void numbers_that_do_not_fit_an_integer_are_refused(void) {
    int32_t narrow;
    TEST_ASSERT_FALSE(one_int32(CP_I64, (int64_t[]){INT64_C(1) << 31}, &narrow));
    says(&status, "labels.npy: element 0 is 2147483648, which does not fit into a 32-bit integer");
    TEST_ASSERT_TRUE(one_int32(CP_I64, (int64_t[]){INT32_MIN}, &narrow) && narrow == INT32_MIN);
    TEST_ASSERT_FALSE(one_int32(CP_I64, (int64_t[]){-(INT64_C(1) << 32)}, &narrow));
    TEST_ASSERT_FALSE(one_int32(CP_U32, (uint32_t[]){UINT32_MAX}, &narrow));
    TEST_ASSERT_FALSE(one_int32(CP_U64, (uint64_t[]){UINT64_MAX}, &narrow));
    TEST_ASSERT_FALSE(one_int32(CP_F32, (float[]){0.5f}, &narrow));
    TEST_ASSERT_FALSE(one_int32(CP_F32, (float[]){NAN}, &narrow));
    TEST_ASSERT_FALSE(one_int32(CP_F64, (double[]){-INFINITY}, &narrow));
}

static void doubles_beyond_the_range_of_real_are_refused_and_infinities_kept(void) {
    cp_real out[3];
    double  values[] = {INFINITY, NAN, 1e300};
    TEST_ASSERT_TRUE(cp_elements_to_real(CP_F64, values, 2, out, "x.npy", &status));
    TEST_ASSERT_TRUE(isinf(out[0]) && isnan(out[1]));
    bool fits = cp_elements_to_real(CP_F64, values, 3, out, "x.npy", &status);
    TEST_ASSERT_EQUAL_INT(sizeof(cp_real) == sizeof(double), fits);
    if (!fits) says(&status, "x.npy: element 2 is 1.0000000000000001e+300, which does not fit into float");
}

static void labels_are_read_from_a_file(void) {
    TEST_ASSERT_TRUE(cp_npy_write(scratch("y.npy"), CP_I64, 1, (int64_t[]){3}, (int64_t[]){0, -7, 9}, &status));
    TEST_ASSERT_TRUE(cp_npy_read(scratch("y.npy"), &npy, &status));
    int32_t *labels = cp_npy_to_int32(&npy, "y.npy", &status);
    TEST_ASSERT_EQUAL_INT32_ARRAY(((int32_t[]){0, -7, 9}), labels, 3);
    free(labels);
    ((int64_t *)npy.data)[1] = INT64_MAX;
    TEST_ASSERT_NULL(cp_npy_to_int32(&npy, "y.npy", &status));
    says(&status, "y.npy: element 1 is");
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(little_endian_floats_by_numpy_are_read);
    RUN_TEST(big_endian_doubles_by_numpy_are_read);
    RUN_TEST(big_endian_integers_in_version_2_are_read);
    RUN_TEST(bytes_in_version_3_are_read);
    RUN_TEST(a_single_number_has_rank_0);
    RUN_TEST(half_floats_are_converted_to_reals);
    RUN_TEST(every_finite_half_survives_conversion_to_float_and_back);
    RUN_TEST(empty_arrays_are_read);
    RUN_TEST(fortran_order_is_converted_to_c_order);
    RUN_TEST(the_header_may_have_any_layout);
    RUN_TEST(files_other_than_npy_are_refused);
    RUN_TEST(malformed_headers_are_refused_with_the_position);
    RUN_TEST(unsupported_files_are_refused_with_advice);
    RUN_TEST(shapes_that_do_not_match_the_file_are_refused);
    RUN_TEST(a_file_cut_anywhere_is_refused);
    RUN_TEST(a_byte_changed_anywhere_never_breaks_the_reader);
    RUN_TEST(unreadable_paths_are_named);
    RUN_TEST(every_type_and_shape_survives_writing_and_reading);
    RUN_TEST(a_file_is_written_according_to_the_format);
    RUN_TEST(values_that_cannot_be_written_are_refused);
    RUN_TEST(every_type_is_converted_to_numbers);
    RUN_TEST(numbers_that_do_not_fit_an_integer_are_refused);
    RUN_TEST(doubles_beyond_the_range_of_real_are_refused_and_infinities_kept);
    RUN_TEST(labels_are_read_from_a_file);
    return UNITY_END();
}
