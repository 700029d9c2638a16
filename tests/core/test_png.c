/* The PNG writer and its compression, read back by a separate inflater in this file. */
#include "core/io/deflate.h"
#include "core/io/png.h"
#include "core/random.h"

#include "unity.h"

#include <stdlib.h>
#include <string.h>

void setUp(void) {}
void tearDown(void) {}

/* ---- inflate: stored blocks and the fixed code, which is all that the writer uses ---- */

typedef struct reader {
    const unsigned char *data;
    size_t               size, bit;
    unsigned char       *out;
    size_t               count, room;
} reader;

static unsigned take(reader *r, int bits) {
    unsigned value = 0;
    for (int i = 0; i < bits; i++, r->bit++) {
        TEST_ASSERT_LESS_THAN(8 * r->size, r->bit);
        value |= (unsigned)(r->data[r->bit / 8] >> r->bit % 8 & 1) << i;
    }
    return value;
}

static unsigned take_code(reader *r, int bits) {
    unsigned value = 0;
    for (int i = 0; i < bits; i++) value = value << 1 | take(r, 1);
    return value;
}

static unsigned take_symbol(reader *r) {
    unsigned code = take_code(r, 7);
    if (code <= 0x17) return code + 256;
    code = code << 1 | take(r, 1);
    if (code >= 0x30 && code <= 0xBF) return code - 0x30;
    if (code >= 0xC0 && code <= 0xC7) return code - 0xC0 + 280;
    return (code << 1 | take(r, 1)) - 0x190 + 144;
}

static void give(reader *r, unsigned char byte) {
    TEST_ASSERT_LESS_THAN(r->room, r->count);
    r->out[r->count++] = byte;
}

static void copy_match(reader *r, unsigned symbol) {
    static const int length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                      31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const int length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const int distance_base[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    TEST_ASSERT_LESS_OR_EQUAL(285, symbol);
    size_t   length = (size_t)length_base[symbol - 257] + take(r, length_bits[symbol - 257]);
    unsigned code = take_code(r, 5);
    TEST_ASSERT_LESS_THAN(30, code);
    size_t distance = (size_t)distance_base[code] + take(r, code < 4 ? 0 : (int)code / 2 - 1);
    TEST_ASSERT_LESS_OR_EQUAL(r->count, distance);
    for (size_t i = 0; i < length; i++) give(r, r->out[r->count - distance]);
}

static void take_stored(reader *r) {
    r->bit = (r->bit + 7) / 8 * 8;
    unsigned length = take(r, 16);
    TEST_ASSERT_EQUAL_UINT(length ^ 0xFFFF, take(r, 16));
    while (length-- > 0) give(r, (unsigned char)take(r, 8));
}

static size_t inflate(const unsigned char *data, size_t size, unsigned char *out, size_t room) {
    reader   r = {data, size, 16, out, 0, room};
    unsigned last;
    TEST_ASSERT_EQUAL_HEX8(0x78, data[0]);
    TEST_ASSERT_EQUAL_INT(0, (data[0] << 8 | data[1]) % 31);
    do {
        last = take(&r, 1);
        unsigned kind = take(&r, 2);
        TEST_ASSERT_TRUE(kind < 2);
        if (kind == 0)
            take_stored(&r);
        else
            for (unsigned symbol; (symbol = take_symbol(&r)) != 256;)
                if (symbol < 256)
                    give(&r, (unsigned char)symbol);
                else
                    copy_match(&r, symbol);
    } while (!last);
    size_t tail = (r.bit + 7) / 8;
    TEST_ASSERT_EQUAL_UINT64(size, tail + 4);
    TEST_ASSERT_EQUAL_HEX32(cp_get_be32(data + tail), cp_adler32(1, out, r.count));
    return r.count;
}

static size_t packed_size(const unsigned char *data, size_t size) {
    cp_bytes       packed = {0};
    unsigned char *back = malloc(size + 1);
    TEST_ASSERT_TRUE(cp_zlib_compress(data, size, &packed));
    TEST_ASSERT_EQUAL_UINT64(size, inflate(packed.data, packed.size, back, size + 1));
    TEST_ASSERT_TRUE(size == 0 || memcmp(back, data, size) == 0);
    size_t result = packed.size;
    cp_bytes_free(&packed);
    free(back);
    return result;
}

/* ---- tests ---- */

static void adler_of_a_known_text(void) {
    TEST_ASSERT_EQUAL_HEX32(0x11E60398, cp_adler32(1, "Wikipedia", 9));
    TEST_ASSERT_EQUAL_HEX32(1, cp_adler32(1, "", 0));
}

static void data_of_every_small_size_are_read_back(void) {
    unsigned char data[300];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * i / 7);
    for (size_t size = 0; size <= sizeof data; size++) packed_size(data, size);
}

static void runs_and_repeats_are_compressed(void) {
    static unsigned char data[100000];
    TEST_ASSERT_LESS_THAN(1000, packed_size(data, sizeof data));
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i % 1000 * 37 >> 3);
    TEST_ASSERT_LESS_THAN(3000, packed_size(data, sizeof data));
}

static void matches_reach_exactly_to_the_end_of_the_window(void) {
    static unsigned char data[140000];
    cp_rng               rng = cp_rng_named(1, "far");
    for (size_t period = 32760; period <= 32776; period++) {
        for (size_t i = 0; i < sizeof data; i++) data[i] = i < period ? (unsigned char)cp_rng_u32(&rng) : data[i - period];
        packed_size(data, sizeof data);
    }
}

static void noise_is_stored_uncompressed(void) {
    static unsigned char data[150000];
    cp_rng               rng = cp_rng_named(1, "noise");
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)cp_rng_u32(&rng);
    TEST_ASSERT_LESS_OR_EQUAL(sizeof data + 3 * 5 + 6, packed_size(data, sizeof data));
}

static int unfilter(int filter, int byte, int left, int up, int corner) {
    int p = left + up - corner, a = abs(p - left), b = abs(p - up), c = abs(p - corner);
    int guess[] = {0, left, up, (left + up) / 2, a <= b && a <= c ? left : b <= c ? up : corner};
    return (byte + guess[filter]) & 255;
}

static void check_pixels(const cp_image *image, const unsigned char *packed, size_t size) {
    size_t         stride = (size_t)(image->width * image->channels), pixel = (size_t)image->channels;
    unsigned char *rows = malloc((stride + 1) * (size_t)image->height + 1), *out = calloc(stride * (size_t)image->height, 1);
    TEST_ASSERT_EQUAL_UINT64((stride + 1) * (size_t)image->height,
                             inflate(packed, size, rows, (stride + 1) * (size_t)image->height + 1));
    for (size_t y = 0; y < (size_t)image->height; y++)
        for (size_t x = 0; x < stride; x++) {
            unsigned char *to = out + y * stride + x;
            int            left = x >= pixel ? to[-(long)pixel] : 0, up = y ? to[-(long)stride] : 0,
                corner = x >= pixel && y ? to[-(long)(stride + pixel)] : 0;
            TEST_ASSERT_LESS_THAN(5, rows[y * (stride + 1)]);
            *to = (unsigned char)unfilter(rows[y * (stride + 1)], rows[y * (stride + 1) + 1 + x], left, up, corner);
        }
    TEST_ASSERT_EQUAL_MEMORY(image->pixels, out, stride * (size_t)image->height);
    free(rows);
    free(out);
}

static void check_image(const cp_image *image) {
    cp_bytes  png = {0};
    cp_status status = {0};
    int       chunks = 0;
    TEST_ASSERT_TRUE_MESSAGE(cp_png_encode(image, &png, &status), status.message);
    TEST_ASSERT_EQUAL_MEMORY("\x89PNG\r\n\x1a\n", png.data, 8);
    for (size_t at = 8; at < png.size; chunks++) {
        size_t               length = cp_get_be32(png.data + at);
        const unsigned char *name = png.data + at + 4, *data = name + 4;
        TEST_ASSERT_EQUAL_MEMORY(chunks == 0 ? "IHDR" : chunks == 1 ? "IDAT" : "IEND", name, 4);
        TEST_ASSERT_EQUAL_HEX32(cp_crc32(0, name, length + 4), cp_get_be32(data + length));
        if (chunks == 0) {
            TEST_ASSERT_EQUAL_UINT32(image->width, cp_get_be32(data));
            TEST_ASSERT_EQUAL_UINT32(image->height, cp_get_be32(data + 4));
            TEST_ASSERT_EQUAL_HEX8(image->channels == 3 ? 2 : 0, data[9]);
        }
        if (chunks == 1) check_pixels(image, data, length);
        at += length + 12;
    }
    TEST_ASSERT_EQUAL_INT(3, chunks);
    cp_bytes_free(&png);
}

static void images_are_read_back_with_every_pixel(void) {
    static unsigned char pixels[61 * 47 * 3];
    cp_rng               rng = cp_rng_named(2, "pixels");
    for (int channels = 1; channels <= 3; channels += 2)
        for (int kind = 0; kind < 3; kind++) {
            for (size_t i = 0; i < sizeof pixels; i++)
                pixels[i] = (unsigned char)(kind == 0 ? cp_rng_u32(&rng) : kind == 1 ? i / 5 + i % 61 : 200);
            check_image(&(cp_image){61, 47, channels, pixels});
            check_image(&(cp_image){1, 47, channels, pixels});
            check_image(&(cp_image){61, 1, channels, pixels});
            check_image(&(cp_image){1, 1, channels, pixels});
        }
}

static void impossible_images_are_refused(void) {
    cp_bytes  out = {0};
    cp_status status = {0};
    TEST_ASSERT_FALSE(cp_png_encode(&(cp_image){0, 3, 1, (const unsigned char *)"x"}, &out, &status));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "0 x 3"));
    TEST_ASSERT_FALSE(cp_png_encode(&(cp_image){1, 1, 2, (const unsigned char *)"xy"}, &out, NULL));
    TEST_ASSERT_FALSE(cp_png_encode(&(cp_image){1, 1, 1, NULL}, &out, NULL));
    TEST_ASSERT_FALSE(cp_png_encode(&(cp_image){1 << 30, 1 << 30, 3, (const unsigned char *)"x"}, &out, NULL));
    cp_bytes_free(&out);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(adler_of_a_known_text);
    RUN_TEST(data_of_every_small_size_are_read_back);
    RUN_TEST(runs_and_repeats_are_compressed);
    RUN_TEST(matches_reach_exactly_to_the_end_of_the_window);
    RUN_TEST(noise_is_stored_uncompressed);
    RUN_TEST(images_are_read_back_with_every_pixel);
    RUN_TEST(impossible_images_are_refused);
    return UNITY_END();
}
