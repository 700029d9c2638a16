/* Tests of core/io/nifti: files that nibabel made (tests/golden/make_nifti.py), and files made here and then changed. */
#include "core/io/nifti.h"

#include "support/gzipped.h"
#include "tests/core/scratch.h"

#include <math.h>

static cp_status status;
static cp_nifti  volume;

void setUp(void) {
    status = (cp_status){0};
    scratch_make();
}

void tearDown(void) {
    cp_nifti_free(&volume);
    scratch_remove();
}

/* ---- files of nibabel ---- */

/* Each value encodes its position: slope * (x + 10 y + 100 z + 1000 t) + intercept. */
static void golden_holds(const char *name, int version, cp_dtype dtype, const char *orientation, cp_nifti_frame frame, int rank,
                         const int64_t *dims, double slope, double intercept) {
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", CP_TEST_DATA, name);
    TEST_ASSERT_TRUE_MESSAGE(cp_nifti_read(path, &volume, &status), status.message);
    TEST_ASSERT_EQUAL_INT(version, volume.version);
    TEST_ASSERT_EQUAL_INT(dtype, volume.stored);
    TEST_ASSERT_EQUAL_STRING(orientation, volume.orientation);
    TEST_ASSERT_EQUAL_INT(frame, volume.frame);
    TEST_ASSERT_EQUAL_INT(rank, volume.rank);
    TEST_ASSERT_TRUE(volume.slope == slope && volume.intercept == intercept);
    for (int i = 0; i < CP_NIFTI_RANK; i++) TEST_ASSERT_EQUAL_INT64(i < rank ? dims[i] : 1, volume.dims[i]);
    for (size_t i = 0; i < volume.size; i++) {
        size_t left = i;
        double place = 0, unit = 1;
        for (int axis = 0; axis < CP_NIFTI_RANK; left /= (size_t)volume.dims[axis++], unit *= 10)
            place += unit * (double)(left % (size_t)volume.dims[axis]);
        TEST_ASSERT_TRUE(volume.values[i] == (float)(slope * place + intercept));
    }
    for (int i = 0; i < 3; i++) TEST_ASSERT_TRUE(fabs(volume.spacing[i] - (double[]){1.5, 2, rank == 2 ? 1 : 3}[i]) < 1e-6);
    cp_nifti_free(&volume);
    TEST_ASSERT_NULL(volume.values);
}

static void files_written_by_nibabel_are_read_in_canonical_order(void) {
    golden_holds("nifti_lps.nii.gz", 1, CP_I16, "LPS", CP_NIFTI_SFORM, 3, (int64_t[]){5, 4, 3}, 0.5, -3);
    golden_holds("nifti_big_qform.nii.gz", 1, CP_F64, "PIR", CP_NIFTI_QFORM, 3, (int64_t[]){3, 4, 2}, 1, 0);
    golden_holds("nifti_2.nii.gz", 2, CP_U32, "SRA", CP_NIFTI_SFORM, 4, (int64_t[]){2, 3, 4, 2}, 2, 1);
    golden_holds("nifti_oblique.nii", 1, CP_F32, "ASL", CP_NIFTI_QFORM, 3, (int64_t[]){3, 2, 4}, 1, 0);
    golden_holds("nifti_pair.hdr", 1, CP_U8, "LAS", CP_NIFTI_ASSUMED, 2, (int64_t[]){4, 3}, 1, 0);
    golden_holds("nifti_pair.img", 1, CP_U8, "LAS", CP_NIFTI_ASSUMED, 2, (int64_t[]){4, 3}, 1, 0);
}

/* ---- files made here: int16, shape (3, 2, 2), values 0, 1, 2 ..., axes RAS ---- */

enum { VALUES = 12, SIZE_1 = 352 + 2 * VALUES, SIZE_2 = 544 + 2 * VALUES };
enum { DIM = 40, DATATYPE = 70, BITPIX = 72, PIXDIM = 76, VOX_OFFSET = 108, SLOPE = 112, INTER = 116 }; /* in NIfTI-1 */
enum { QFORM_CODE = 252, SFORM_CODE = 254, QUATERN = 256, QOFFSET = 268, SROW = 280, MAGIC = 344 };

static unsigned char file[SIZE_2];
static size_t        file_size;

static void put16(size_t offset, int value) { cp_put_le16(file + offset, (uint16_t)value); }

static void put_float(size_t offset, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    cp_put_le32(file + offset, bits);
}

static void put_double(size_t offset, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    cp_put_le64(file + offset, bits);
}

static void make(void) {
    memset(file, 0, sizeof file);
    file_size = SIZE_1;
    cp_put_le32(file, 348);
    for (int i = 0; i < 8; i++)
        put16(DIM + 2 * (size_t)i, (int[]){3, 3, 2, 2, 1, 1, 1, 1}[i]), put_float(PIXDIM + 4 * (size_t)i, 1);
    put16(DATATYPE, 4), put16(BITPIX, 16);
    put_float(VOX_OFFSET, 352), put_float(SLOPE, 1);
    put16(SFORM_CODE, 1);
    for (size_t i = 0; i < 3; i++) put_float(SROW + 20 * i, 1);
    memcpy(file + MAGIC, "n+1", 4);
    for (int i = 0; i < VALUES; i++) put16(352 + 2 * (size_t)i, i);
}

static void make_2(void) {
    memset(file, 0, sizeof file);
    file_size = SIZE_2;
    cp_put_le32(file, 540);
    memcpy(file + 4, "n+2\0\r\n\032\n", 8);
    put16(12, 4), put16(14, 16);
    for (int i = 0; i < 8; i++)
        cp_put_le64(file + 16 + 8 * i, (uint64_t[]){3, 3, 2, 2, 1, 1, 1, 1}[i]), put_double(104 + 8 * (size_t)i, 1);
    cp_put_le64(file + 168, 544), put_double(176, 1);
    cp_put_le32(file + 348, 1);
    for (size_t i = 0; i < 3; i++) put_double(400 + 40 * i, 1);
    for (int i = 0; i < VALUES; i++) put16(544 + 2 * (size_t)i, i);
}

/* From memory of exactly that size, plain or compressed. */
static bool parse(size_t size, bool packed) {
    cp_bytes gz = {0};
    TEST_ASSERT_TRUE(!packed || gzip_append(&gz, file, size));
    size_t         given = packed ? gz.size : size;
    unsigned char *exact = malloc(given ? given : 1);
    if (given > 0) memcpy(exact, packed ? gz.data : file, given);
    cp_nifti_free(&volume);
    bool done = cp_nifti_parse(exact, given, "a.nii", &volume, &status);
    TEST_ASSERT_TRUE(done == !status.message[0] && done == (volume.values != NULL));
    free(exact);
    cp_bytes_free(&gz);
    return done;
}

static void equals_the_original(void) {
    for (int packed = 0; packed < 2; packed++) {
        TEST_ASSERT_TRUE_MESSAGE(parse(file_size, packed), status.message);
        TEST_ASSERT_EQUAL_UINT64(VALUES, volume.size);
        for (int i = 0; i < VALUES; i++) TEST_ASSERT_EQUAL_FLOAT((float)i, volume.values[i]);
        TEST_ASSERT_EQUAL_STRING("RAS", volume.orientation);
    }
}

/* Plain and compressed; then the file is made again. */
static void refuses(const char *message) {
    for (int packed = 0; packed < 2; packed++) {
        TEST_ASSERT_FALSE_MESSAGE(parse(file_size, packed), message);
        TEST_ASSERT_EQUAL_STRING_LEN("a.nii: ", status.message, 7);
        says(&status, message);
    }
    file_size == SIZE_2 ? make_2() : make();
}

static void both_versions_are_read_plain_and_compressed(void) {
    make(), equals_the_original();
    TEST_ASSERT_EQUAL_INT(1, volume.version);
    make_2(), equals_the_original();
    TEST_ASSERT_EQUAL_INT(2, volume.version);
}

static void axes_of_length_1_at_the_end_are_not_counted(void) {
    make();
    put16(DIM, 7), equals_the_original();
    TEST_ASSERT_EQUAL_INT(3, volume.rank);
    TEST_ASSERT_EQUAL_INT(5, volume.stored_rank);
    put16(DIM, 5), put16(DIM + 6, 1), put16(DIM + 10, 2), equals_the_original();
    TEST_ASSERT_EQUAL_INT(5, volume.rank);
    put16(DIM, 1), put16(DIM + 2, 12), equals_the_original();
    TEST_ASSERT_EQUAL_INT(2, volume.rank);
    TEST_ASSERT_EQUAL_INT(1, volume.stored_rank);
    TEST_ASSERT_EQUAL_INT64(12, volume.dims[0]);
    put16(DIM, 3), put16(DIM + 2, 1), put16(DIM + 4, 1), put16(DIM + 6, 1);
    TEST_ASSERT_TRUE(parse(354, false)); /* 1 x 1 x 1 */
    TEST_ASSERT_EQUAL_UINT64(1, volume.size);
}

static void extensions_before_the_values_are_skipped(void) {
    make();
    memmove(file + 352 + 16, file + 352, 2 * VALUES);
    memset(file + 352, 0xAB, 16);
    file[348] = 1, put_float(VOX_OFFSET, 352 + 16), file_size += 16;
    equals_the_original();
}

static void only_a_little_padding_may_follow(void) {
    enum { MORE = 65536 };
    unsigned char *longer = calloc(SIZE_1 + MORE + 1, 1);
    make();
    memcpy(longer, file, SIZE_1);
    TEST_ASSERT_TRUE_MESSAGE(cp_nifti_parse(longer, SIZE_1 + MORE, "a.nii", &volume, &status), status.message);
    cp_nifti_free(&volume);
    TEST_ASSERT_FALSE(cp_nifti_parse(longer, SIZE_1 + MORE + 1, "a.nii", &volume, &status));
    says(&status, "the values, (3, 2, 2) of int16, end at byte 376, and 65537 more follow");
    cp_bytes packed = {0};
    TEST_ASSERT_TRUE(gzip_append(&packed, longer, SIZE_1 + MORE + 1));
    TEST_ASSERT_FALSE(cp_nifti_parse(packed.data, packed.size, "a.nii", &volume, &status));
    says(&status, "it holds more than was declared");
    cp_bytes_free(&packed);
    free(longer);
}

/* ---- scaling ---- */

static void values_are_scaled_unless_the_slope_means_none(void) {
    static const struct {
        float slope, intercept, second;
    } cases[] = {{2, 5, 7}, {-0.5f, 0, -0.5f}, {0, 5, 1}, {0, NAN, 1}, {NAN, NAN, 1}, {3e38f, 3e38f, INFINITY}, {1, 1, 2}};
    make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_float(SLOPE, cases[i].slope), put_float(INTER, cases[i].intercept);
        TEST_ASSERT_TRUE_MESSAGE(parse(SIZE_1, false), status.message);
        TEST_ASSERT_TRUE(volume.values[1] == cases[i].second);
    }
}

static void scaling_that_is_not_finite_is_refused(void) {
    static const float cases[][2] = {{NAN, 0}, {INFINITY, 0}, {-INFINITY, NAN}, {1, NAN}, {2, INFINITY}, {NAN, INFINITY}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make();
        put_float(SLOPE, cases[i][0]), put_float(INTER, cases[i][1]);
        refuses("are not finite");
    }
}

/* ---- orientation ---- */

static void set_sform(const float *rows) {
    for (size_t i = 0; i < 12; i++) put_float(SROW + 4 * i, rows[i]);
}

static void first_values_are(float first, float second, const char *orientation, cp_nifti_frame frame) {
    TEST_ASSERT_TRUE_MESSAGE(parse(SIZE_1, false), status.message);
    TEST_ASSERT_EQUAL_FLOAT(first, volume.values[0]);
    TEST_ASSERT_EQUAL_FLOAT(second, volume.values[1]);
    TEST_ASSERT_EQUAL_STRING(orientation, volume.orientation);
    TEST_ASSERT_EQUAL_INT(frame, volume.frame);
}

static void the_affine_follows_the_axes(void) {
    make();
    set_sform((float[]){0, -2, 0, 7, 0, 0, 3, -1, -1, 0, 0, 4});
    first_values_are(5, 2, "ILA", CP_NIFTI_SFORM); /* from (2, 1, 0) on, down the second axis */
    static const double expected[3][4] = {{2, 0, 0, 5}, {0, 3, 0, -1}, {0, 0, 1, 2}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) TEST_ASSERT_TRUE(volume.affine[i][j] == expected[i][j]);
    for (int i = 0; i < 3; i++) TEST_ASSERT_TRUE(volume.spacing[i] == ((double[]){2, 3, 1}[i]));
    for (int i = 0; i < 3; i++) TEST_ASSERT_EQUAL_INT64(((int64_t[]){2, 2, 3}[i]), volume.dims[i]);
}

static void the_qform_is_used_if_there_is_no_sform(void) {
    make();
    put16(QFORM_CODE, 1), put_float(QUATERN + 8, 1); /* half a turn about the third axis */
    first_values_are(0, 1, "RAS", CP_NIFTI_SFORM);
    put16(SFORM_CODE, 0);
    first_values_are(5, 4, "LPS", CP_NIFTI_QFORM);
    put_float(PIXDIM, -1);
    first_values_are(11, 10, "LPI", CP_NIFTI_QFORM);
    put_float(PIXDIM, 0);
    first_values_are(5, 4, "LPS", CP_NIFTI_QFORM);
    put_float(PIXDIM + 4, 0), put_float(PIXDIM + 8, -3);
    first_values_are(5, 4, "LPS", CP_NIFTI_QFORM);
    TEST_ASSERT_TRUE(volume.spacing[0] == 1 && volume.spacing[1] == 3);
}

static void without_either_form_the_first_axis_points_to_the_left(void) {
    make();
    put16(SFORM_CODE, 0), put_float(PIXDIM + 4, 4);
    first_values_are(2, 1, "LAS", CP_NIFTI_ASSUMED);
    TEST_ASSERT_TRUE(volume.affine[0][0] == 4 && volume.affine[0][3] == -4);
}

static void an_unusable_form_is_ignored(void) {
    static const float zeros[12] = {0}, flat[12] = {1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0};
    const float        bad[12] = {1, 0, NAN, 0, 0, 1, 0, 0, 0, 0, 1, 0}, far_off[12] = {1, 0, 0, INFINITY, 0, 1, 0, 0, 0, 0, 1, 0};
    const float *const unusable[] = {zeros, flat, bad, far_off};
    for (int i = 0; i < 4; i++) {
        make();
        set_sform(unusable[i]);
        put16(QFORM_CODE, 1), put_float(QUATERN + 8, 1);
        first_values_are(5, 4, "LPS", CP_NIFTI_QFORM);
        put16(QFORM_CODE, 0);
        refuses("the sform is unusable, and there is no usable qform");
    }
    static const struct {
        size_t offset;
        float  value;
    } broken[] = {{QUATERN, 5}, {QUATERN, NAN}, {QOFFSET, INFINITY}, {PIXDIM + 4, NAN}, {PIXDIM + 8, INFINITY}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        make();
        put16(SFORM_CODE, 0), put16(QFORM_CODE, 2), put_float(broken[i].offset, broken[i].value);
        refuses("the qform is unusable");
    }
    make();
    put16(SFORM_CODE, 0), put_float(PIXDIM + 4, NAN);
    refuses("the distances in pixdim are unusable");
}

/* ---- wrong headers ---- */

static void other_files_are_refused(void) {
    make();
    cp_put_le32(file, 349);
    refuses("byte 0: this is not a NIfTI file (sizeof_hdr 348 or 540 in either byte order)");
    file[MAGIC] = 'm';
    refuses("byte 344: the magic \"n+1\" or \"ni1\" is missing; ANALYZE 7.5 files have none");
    memset(file + MAGIC, 0, 4);
    refuses("convert them to NIfTI");
    memcpy(file + MAGIC, "ni1", 4);
    refuses("this is the header of a pair, without its values");
    make_2();
    file[9] = ' ';
    refuses("byte 4: the magic \"n+2\" or \"ni2\" is missing; the file is damaged");
}

static void types_other_than_numbers_are_refused_by_name(void) {
    static const struct {
        int         code, bits;
        const char *name;
    } types[] = {{1, 1, "single bits"},
                 {32, 64, "complex64"},
                 {128, 24, "RGB24"},
                 {1536, 128, "float128"},
                 {1792, 128, "complex128"},
                 {2048, 256, "complex256"},
                 {2304, 32, "RGBA32"},
                 {0, 0, "datatype 0 does not exist"},
                 {3, 16, "datatype 3 does not exist"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        make();
        put16(DATATYPE, types[i].code), put16(BITPIX, types[i].bits);
        refuses(types[i].name);
    }
    put16(BITPIX, 8);
    refuses("bitpix is 8, but datatype 4 (int16) has 16 bits");
}

static void wrong_dims_are_refused(void) {
    static const int ranks[] = {0, 8, -1, 0x0300};
    make();
    for (int i = 0; i < 4; i++) {
        put16(DIM, ranks[i]);
        refuses("dim[0], the number of axes, is ");
    }
    put16(DIM + 2, 0);
    refuses("dim[1] is 0; a length from 1 on was expected");
    put16(DIM + 4, -2);
    refuses("dim[2] is -2");
    put16(DIM, 6), put16(DIM + 12, 2);
    refuses("dim[6] is 2; beyond axis 5 lengths other than 1 cannot be read");
    put16(DIM + 2, 4);
    for (int packed = 0; packed < 2; packed++) {
        TEST_ASSERT_FALSE(parse(SIZE_1, packed));
        says(&status, "the values, (4, 2, 2) of int16 from byte 352 on, should end at byte 384; there are 376 bytes");
    }
    for (size_t i = 1; i < 6; i++) put16(DIM + 2 * i, 32767);
    put16(DIM, 5);
    refuses("is larger than memory can be");
}

static void sizes_beyond_64_bits_are_refused(void) {
    static const uint64_t dims[][3] = {
        {1ull << 62, 2, 2}, {1ull << 32, 1ull << 32, 1}, {1ull << 31, 1ull << 31, 1}, {1ull << 61, 1, 1}};
    make_2();
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 3; k++) cp_put_le64(file + 24 + 8 * k, dims[i][k]);
        refuses("is larger than memory can be");
    }
    cp_put_le64(file + 24, 1ull << 63);
    refuses("dim[1] is -9223372036854775808");
    cp_put_le64(file + 16, 1ull << 32 | 3);
    refuses("dim[0], the number of axes, is 4294967299");
    cp_put_le64(file + 168, (1ull << 63) - 10);
    refuses("vox_offset, where the values begin, is ");
    cp_put_le64(file + 168, UINT64_MAX);
    refuses("vox_offset, where the values begin, is -1");
    if (sizeof(size_t) < 8) return; /* the next shape is too large there already */
    cp_put_le64(file + 168, (1ull << 61) - 1), cp_put_le64(file + 24, (1ull << 60) - 1), cp_put_le64(file + 32, 1),
        cp_put_le64(file + 40, 2);
    TEST_ASSERT_FALSE(parse(SIZE_2, false));
    says(&status, "is truncated");
    TEST_ASSERT_FALSE(parse(SIZE_2, true));
    says(&status, "compressed bytes cannot hold the");
}

static void wrong_offsets_are_refused(void) {
    static const float offsets[] = {0, 348, 351, -352, 352.5f, NAN, INFINITY, -INFINITY, 1e30f};
    make();
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        put_float(VOX_OFFSET, offsets[i]);
        refuses("vox_offset, where the values begin, is ");
    }
    put_float(VOX_OFFSET, 353);
    TEST_ASSERT_FALSE(parse(SIZE_1, false));
    says(&status, "from byte 353 on, should end at byte 377; there are 376 bytes: the file is truncated");
    make_2();
    cp_put_le64(file + 168, 543);
    refuses("vox_offset, where the values begin, is 543; a whole number from 544 on was expected");
}

/* The shape is compared with the number of bytes before memory is allocated. */
static void a_zip_bomb_is_refused_by_its_size(void) {
    make();
    for (size_t i = 1; i < 4; i++) put16(DIM + 2 * i, 500);
    TEST_ASSERT_FALSE(parse(SIZE_1, true));
    says(&status, "compressed bytes cannot hold the 250000352 that the header's shape (500, 500, 500) of int16 needs");
}

static void damage_after_the_header_is_also_found(void) {
    cp_bytes packed = {0};
    make();
    TEST_ASSERT_TRUE(gzip_append(&packed, file, SIZE_1));
    packed.data[packed.size - 8] ^= 1;
    TEST_ASSERT_FALSE(cp_nifti_parse(packed.data, packed.size, "a.nii", &volume, &status));
    says(&status, "the checksum of the contents is wrong");
    packed.data[packed.size - 8] ^= 1;
    TEST_ASSERT_TRUE(cp_bytes_append(&packed, "garbage", 7));
    TEST_ASSERT_FALSE(cp_nifti_parse(packed.data, packed.size, "a.nii", &volume, &status));
    says(&status, "neither a member nor zeros follow");
    packed.size = 0;
    TEST_ASSERT_TRUE(gzip_append(&packed, file, 100) && gzip_append(&packed, file + 100, SIZE_1 - 100));
    TEST_ASSERT_TRUE_MESSAGE(cp_nifti_parse(packed.data, packed.size, "a.nii", &volume, &status), status.message);
    TEST_ASSERT_EQUAL_FLOAT(11, volume.values[11]);
    cp_bytes_free(&packed);
}

static void a_file_cut_anywhere_is_refused(void) {
    for (int version = 1; version <= 2; version++)
        for (int packed = 0; packed < 2; packed++) {
            version == 1 ? make() : make_2();
            for (size_t size = 0; size < file_size; size++) {
                TEST_ASSERT_FALSE(parse(size, packed));
                says(&status, "a.nii: ");
            }
        }
}

/* Most changed bytes change the result, such as a value or a direction; none breaks the reader. */
static void a_byte_changed_anywhere_never_breaks_the_reader(void) {
    for (int version = 1; version <= 2; version++) {
        version == 1 ? make() : make_2();
        put16(version == 1 ? QFORM_CODE : 344, 1);
        for (size_t i = 0; i < file_size; i++)
            for (int flip = 0; flip < 9; flip++) {
                unsigned char changed = flip < 8 ? (unsigned char)(1 << flip) : 0xFF;
                file[i] ^= changed;
                for (int packed = 0; packed < 2; packed++) {
                    if (parse(file_size, packed)) TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * VALUES, volume.size);
                    status = (cp_status){0};
                }
                file[i] ^= changed;
            }
    }
}

/* ---- files and pairs ---- */

static void write_pair(const char *header, const char *values) {
    make();
    memcpy(file + MAGIC, "ni1", 4), put_float(VOX_OFFSET, 0);
    for (int half = 0; half < 2; half++) {
        const char          *name = half ? values : header;
        const unsigned char *data = half ? file + 352 : file;
        size_t               size = half ? 2 * VALUES : 348;
        cp_bytes             packed = {0};
        TEST_ASSERT_TRUE(gzip_append(&packed, data, size));
        bool gz = strlen(name) > 6;
        scratch_write(name, gz ? packed.data : data, gz ? packed.size : size);
        cp_bytes_free(&packed);
    }
}

static void either_name_of_a_pair_works(void) {
    static const char *const pairs[][2] = {{"a.hdr", "a.img"},       {"a.hdr", "a.img.gz"}, {"a.hdr.gz", "a.img"},
                                           {"a.hdr.gz", "a.img.gz"}, {"A.HDR", "A.IMG"},    {"A.HDR", "A.IMG.GZ"}};
    for (int i = 0; i < 6; i++) {
        write_pair(pairs[i][0], pairs[i][1]);
        for (int half = 0; half < 2; half++) {
            TEST_ASSERT_TRUE_MESSAGE(cp_nifti_read(scratch(pairs[i][half]), &volume, &status), status.message);
            TEST_ASSERT_EQUAL_FLOAT(11, volume.values[11]);
            cp_nifti_free(&volume);
        }
        scratch_files(true);
    }
}

static void values_of_a_pair_that_look_compressed_are_read_as_they_are(void) {
    write_pair("a.hdr", "a.img");
    put16(352, 0x8b1f);
    scratch_write("a.img", file + 352, 2 * VALUES);
    TEST_ASSERT_TRUE_MESSAGE(cp_nifti_read(scratch("a.img"), &volume, &status), status.message);
    TEST_ASSERT_EQUAL_FLOAT((float)(0x8b1f - 0x10000), volume.values[0]);
    cp_nifti_free(&volume);
}

static void refuses_file(const char *name, const char *message, cp_status_kind kind) {
    TEST_ASSERT_FALSE_MESSAGE(cp_nifti_read(scratch(name), &volume, &status), message);
    TEST_ASSERT_NULL(volume.values);
    TEST_ASSERT_EQUAL_INT(kind, status.kind);
    says(&status, message);
}

static void a_missing_half_or_file_is_reported(void) {
    write_pair("a.hdr", "a.img");
    remove(scratch("a.img"));
    refuses_file("a.hdr", "a.hdr is one file of a pair; the other one, .img or .img.gz next to it, is missing", CP_STATUS_MISSING);
    write_pair("a.hdr", "a.img");
    remove(scratch("a.hdr"));
    refuses_file("a.img", "a.img is one file of a pair; the other one, .hdr or .hdr.gz next to it, is missing", CP_STATUS_MISSING);
    refuses_file("a.nii.gz", "a.nii.gz: cannot open it for reading", CP_STATUS_MISSING);
    refuses_file(".", "Is a directory", CP_STATUS_FAILED);
}

static void pairs_that_do_not_match_are_refused(void) {
    write_pair("a.hdr", "a.img");
    scratch_write("a.img", file, 2 * VALUES - 1);
    refuses_file("a.hdr", "a.img: the values, (3, 2, 2) of int16 from byte 0 on, should end at byte 24; there are 23",
                 CP_STATUS_DAMAGED);
    char *longer = calloc(70000, 1);
    scratch_write("a.img", longer, 70000);
    refuses_file("a.hdr", "a.img: the file is larger than the 65560 bytes allowed here", CP_STATUS_FAILED);
    free(longer);
    scratch_write("b.nii", file, 348);
    refuses_file("b.nii", "this is the header of a pair (by its magic); it should be named .hdr", CP_STATUS_DAMAGED);
    scratch_write("c.hdr", "", 0);
    refuses_file("c.hdr", "c.hdr: byte 0: this is not a NIfTI file", CP_STATUS_DAMAGED);
}

static void files_are_recognized_by_contents_and_names_by_extension(void) {
    static const char *const good[] = {"a.nii", "a.nii.gz", "A.NII.GZ", "x/a.hdr", "a.hdr.gz", "a.img", "a.IMG.gz"};
    static const char *const bad[] = {"nii", ".nii", "a.gz", "a.nii.bz2", "a.npy", "", ".hdr", "a.nii.gz.txt"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) TEST_ASSERT_TRUE_MESSAGE(cp_nifti_named(good[i]), good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) TEST_ASSERT_FALSE_MESSAGE(cp_nifti_named(bad[i]), bad[i]);
    make();
    cp_bytes packed = {0};
    TEST_ASSERT_TRUE(gzip_append(&packed, file, SIZE_1));
    scratch_write("packed.nii", packed.data, packed.size);
    scratch_write("any", file, SIZE_1);
    for (int i = 0; i < 2; i++) {
        TEST_ASSERT_TRUE_MESSAGE(cp_nifti_read(scratch(i ? "any" : "packed.nii"), &volume, &status), status.message);
        cp_nifti_free(&volume);
    }
    cp_bytes_free(&packed);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(files_written_by_nibabel_are_read_in_canonical_order);
    RUN_TEST(both_versions_are_read_plain_and_compressed);
    RUN_TEST(axes_of_length_1_at_the_end_are_not_counted);
    RUN_TEST(extensions_before_the_values_are_skipped);
    RUN_TEST(only_a_little_padding_may_follow);
    RUN_TEST(values_are_scaled_unless_the_slope_means_none);
    RUN_TEST(scaling_that_is_not_finite_is_refused);
    RUN_TEST(the_affine_follows_the_axes);
    RUN_TEST(the_qform_is_used_if_there_is_no_sform);
    RUN_TEST(without_either_form_the_first_axis_points_to_the_left);
    RUN_TEST(an_unusable_form_is_ignored);
    RUN_TEST(other_files_are_refused);
    RUN_TEST(types_other_than_numbers_are_refused_by_name);
    RUN_TEST(wrong_dims_are_refused);
    RUN_TEST(sizes_beyond_64_bits_are_refused);
    RUN_TEST(wrong_offsets_are_refused);
    RUN_TEST(a_zip_bomb_is_refused_by_its_size);
    RUN_TEST(damage_after_the_header_is_also_found);
    RUN_TEST(a_file_cut_anywhere_is_refused);
    RUN_TEST(a_byte_changed_anywhere_never_breaks_the_reader);
    RUN_TEST(either_name_of_a_pair_works);
    RUN_TEST(values_of_a_pair_that_look_compressed_are_read_as_they_are);
    RUN_TEST(a_missing_half_or_file_is_reported);
    RUN_TEST(pairs_that_do_not_match_are_refused);
    RUN_TEST(files_are_recognized_by_contents_and_names_by_extension);
    return UNITY_END();
}
