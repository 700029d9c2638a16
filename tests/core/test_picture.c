/* Tests of core/io/picture: PNG files of every kind, made here from samples in the plainest way, PGM and PPM files, and damaged ones. */
#include "core/io/deflate.h"
#include "core/io/picture.h"
#include "core/io/png.h"
#include "core/random.h"

#include "support/setup_files.h"

static cp_bytes   file;
static cp_picture picture;

static bool parse(const void *bytes, size_t size) {
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, bytes, size);
    status = (cp_status){0};
    bool done = cp_picture_parse(exact, size, "a.png", &picture, &status);
    free(exact);
    TEST_ASSERT_TRUE(done == !status.message[0] && done == (picture.pixels != NULL));
    return done;
}

static void refuses(const void *bytes, size_t size, const char *message) {
    TEST_ASSERT_FALSE_MESSAGE(parse(bytes, size), message);
    TEST_ASSERT_EQUAL_STRING_LEN("a.png", status.message, 5);
    says(&status, message);
}

static void is(int height, int width, int channels, int depth, const void *pixels) {
    TEST_ASSERT_NOT_NULL_MESSAGE(picture.pixels, status.message);
    TEST_ASSERT_EQUAL_INT(height, picture.height);
    TEST_ASSERT_EQUAL_INT(width, picture.width);
    TEST_ASSERT_EQUAL_INT(channels, picture.channels);
    TEST_ASSERT_EQUAL_INT(depth, picture.depth);
    TEST_ASSERT_EQUAL_MEMORY(pixels, picture.pixels, (size_t)(height * width * channels * depth / 8));
    cp_picture_free(&picture);
    TEST_ASSERT_NULL(picture.pixels);
}

/* ---- PNG files, from samples ---- */

enum { MAX_SIDE = 17 };

typedef struct kind {
    int  width, height, type, depth;
    bool interlaced, transparent;
    int  filter; /* 5: another one in each row */
    int  colors; /* of the palette; 0: none */
} kind;

static int           samples[MAX_SIDE][MAX_SIDE][4];
static unsigned char palette[256][4];
static int           key[3];

static int samples_of(int type) { return (int[]){1, 0, 3, 1, 2, 0, 4}[type]; }

static void put_chunk(const char *name, const void *data, size_t size) {
    unsigned char word[4];
    cp_put_be32(word, (uint32_t)size);
    cp_bytes_append(&file, word, 4);
    size_t start = file.size;
    cp_bytes_append(&file, name, 4), cp_bytes_append(&file, data, size);
    cp_put_be32(word, cp_crc32(0, file.data + start, size + 4));
    cp_bytes_append(&file, word, 4);
}

static void put_header(kind k) {
    unsigned char head[13] = {0};
    cp_bytes_free(&file);
    cp_bytes_append(&file, CP_PNG_SIGNATURE, 8);
    cp_put_be32(head, (uint32_t)k.width), cp_put_be32(head + 4, (uint32_t)k.height);
    head[8] = (unsigned char)k.depth, head[9] = (unsigned char)k.type, head[12] = k.interlaced;
    put_chunk("IHDR", head, sizeof head);
}

/* The pass, from 1, to which each pixel of an 8 x 8 square belongs: the picture in the standard. */
static const char passes[8][9] = {"16462646", "77777777", "56565656", "77777777", "36463646", "77777777", "56565656", "77777777"};

static bool in_pass(kind k, int pass, int y, int x) { return !k.interlaced || passes[y % 8][x % 8] == '0' + pass; }

static size_t pack_row(kind k, int pass, int y, unsigned char *row) {
    size_t bit = 0;
    memset(row, 0, MAX_SIDE * 8);
    for (int x = 0; x < k.width; x++)
        for (int s = 0; in_pass(k, pass, y, x) && s < samples_of(k.type); s++)
            for (int b = k.depth - 1; b >= 0; b--, bit++)
                row[bit / 8] |= (unsigned char)((samples[y][x][s] >> b & 1) << (7 - bit % 8));
    return (bit + 7) / 8;
}

static int predict(int filter, int left, int up, int corner) {
    int p = left + up - corner, a = abs(p - left), b = abs(p - up), c = abs(p - corner);
    return (int[]){0, left, up, (left + up) / 2, a <= b && a <= c ? left : b <= c ? up : corner}[filter];
}

static void put_pixels(kind k) {
    cp_bytes raw = {0}, packed = {0};
    size_t   bits = (size_t)(samples_of(k.type) * k.depth), pixel = bits < 8 ? 1 : bits / 8;
    for (int pass = 1; pass <= (k.interlaced ? 7 : 1); pass++) {
        unsigned char rows[2][MAX_SIDE * 8] = {{0}}, out[MAX_SIDE * 8 + 1];
        for (int y = 0, now = 0; y < k.height; y++) {
            size_t size = pack_row(k, pass, y, rows[now]);
            if (!size) continue;
            out[0] = (unsigned char)(k.filter < 5 ? k.filter : y % 5);
            for (size_t i = 0; i < size; i++) {
                unsigned char *row = rows[now], *above = rows[!now];
                int            left = i >= pixel ? row[i - pixel] : 0, corner = i >= pixel ? above[i - pixel] : 0;
                out[i + 1] = (unsigned char)(row[i] - predict(out[0], left, above[i], corner));
            }
            cp_bytes_append(&raw, out, size + 1);
            now = !now;
        }
    }
    cp_zlib_compress(raw.data, raw.size, &packed);
    size_t half = packed.size / 2; /* pixels in three chunks, one of them empty */
    put_chunk("IDAT", packed.data, half);
    put_chunk("IDAT", "", 0);
    put_chunk("IDAT", packed.data + half, packed.size - half);
    cp_bytes_free(&raw), cp_bytes_free(&packed);
}

static void put_colors(kind k) {
    unsigned char colors[256 * 3], keys[6], opacities[256];
    for (int i = 0; i < k.colors; i++) memcpy(colors + 3 * i, palette[i], 3), opacities[i] = palette[i][3];
    if (k.colors) put_chunk("PLTE", colors, (size_t)k.colors * 3);
    for (int s = 0; s < 3; s++) keys[2 * s] = (unsigned char)(key[s] >> 8), keys[2 * s + 1] = (unsigned char)key[s];
    if (k.transparent && k.type == 3) put_chunk("tRNS", opacities, (size_t)(k.colors + 1) / 2); /* the others are opaque */
    if (k.transparent && k.type != 3) put_chunk("tRNS", keys, k.type == 2 ? 6 : 2);
}

static void make(kind k) {
    put_header(k);
    put_chunk("gAMA", "\0\0\xb1\x8f", 4); /* means nothing to the reader */
    put_colors(k);
    put_pixels(k);
    put_chunk("IEND", "", 0);
    TEST_ASSERT_FALSE(file.failed);
}

static void draw(kind k, cp_rng *rng) {
    int top = k.type == 3 ? k.colors : 1 << k.depth;
    for (int s = 0; s < 3; s++) key[s] = (int)cp_rng_below(rng, (uint32_t)top);
    for (int i = 0; i < 256; i++)
        for (int c = 0; c < 4; c++) palette[i][c] = c == 3 && i >= (k.colors + 1) / 2 ? 255 : (unsigned char)cp_rng_u32(rng);
    for (int y = 0; y < MAX_SIDE; y++)
        for (int x = 0; x < MAX_SIDE; x++)
            for (int s = 0, usual = cp_rng_below(rng, 3) == 0; s < 4; s++)
                samples[y][x][s] = s < 3 && usual && cp_rng_below(rng, 9) ? key[s] : (int)cp_rng_below(rng, (uint32_t)top);
}

/* What the reader must give, by the definitions. */
static void check(kind k) {
    static uint8_t  bytes[MAX_SIDE * MAX_SIDE * 4];
    static uint16_t words[MAX_SIDE * MAX_SIDE * 4];
    int             count = samples_of(k.type), channels = (k.type == 3 ? 3 : count) + k.transparent, top = (1 << k.depth) - 1;
    size_t          n = 0;
    for (int y = 0; y < k.height; y++)
        for (int x = 0; x < k.width; x++) {
            const int *at = samples[y][x];
            bool       is_key = at[0] == key[0] && (count == 1 || (at[1] == key[1] && at[2] == key[2]));
            for (int c = 0; c < channels; c++, n++) {
                int value = k.type == 3 ? palette[at[0]][c] : c < count ? at[c] * 255 / top : is_key ? 0 : 255;
                bytes[n] = (uint8_t)value;
                words[n] = (uint16_t)(c < count ? at[c] : is_key ? 0 : 65535);
            }
        }
    make(k);
    TEST_ASSERT_TRUE_MESSAGE(parse(file.data, file.size), status.message);
    is(k.height, k.width, channels, k.depth == 16 ? 16 : 8, k.depth == 16 ? (void *)words : bytes);
}

static void every_kind_gives_its_pixels(void) {
    static const int sides[] = {1, 2, 3, 4, 5, 7, 8, 9, MAX_SIDE};
    cp_rng           rng = cp_rng_named(1, "pictures");
    for (int type = 0; type <= 6; type++)
        for (int depth = 1; depth <= 16; depth *= 2) {
            if (!samples_of(type) || (depth < 8 && type != 0 && type != 3) || (depth == 16 && type == 3)) continue;
            for (int variant = 0; variant < 4 * 6; variant++)
                for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
                    kind k = {.width = sides[i],
                              .height = sides[cp_rng_below(&rng, 9)],
                              .type = type,
                              .depth = depth,
                              .interlaced = variant & 1,
                              .transparent = variant & 2 && type < 4,
                              .filter = variant / 4};
                    if (type == 3) k.colors = 1 + (int)cp_rng_below(&rng, 1u << depth);
                    draw(k, &rng);
                    check(k);
                }
        }
}

static void what_the_writer_writes_is_read(void) {
    static unsigned char pixels[23 * 11 * 3];
    cp_rng               rng = cp_rng_named(2, "pixels");
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)(cp_rng_u32(&rng) % 3 + i / 7);
    for (int channels = 1; channels <= 3; channels += 2) {
        cp_bytes_free(&file);
        TEST_ASSERT_TRUE(cp_png_encode(&(cp_image){23, 11, channels, pixels}, &file, &status));
        scratch_write("in.png", file.data, file.size);
        TEST_ASSERT_TRUE_MESSAGE(cp_picture_read(scratch("in.png"), &picture, &status), status.message);
        is(11, 23, channels, 8, pixels);
    }
    TEST_ASSERT_FALSE(cp_picture_read(scratch("nothing.png"), &picture, &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
}

/* ---- damaged PNG files ---- */

static void a_file_cut_or_changed_anywhere_is_refused(void) {
    cp_rng rng = cp_rng_named(3, "damage");
    for (int type = 0; type <= 3; type += 3) {
        kind k = {
            .width = 5, .height = 4, .type = type, .depth = 4, .colors = type ? 9 : 0, .transparent = true, .interlaced = true};
        draw(k, &rng);
        make(k);
        for (size_t size = 0; size < file.size; size++) refuses(file.data, size, "byte ");
        for (size_t i = 0; i < file.size; i++)
            for (int bit = 0; bit < 8; bit++) {
                file.data[i] ^= (unsigned char)(1 << bit);
                refuses(file.data, file.size, "byte ");
                file.data[i] ^= (unsigned char)(1 << bit);
            }
    }
}

/* Contents that are wrong although the checksums are right. */
static void change(size_t at, unsigned char value) {
    make((kind){.width = 3, .height = 2, .depth = 8, .type = 3, .colors = 4});
    file.data[at] = value;
    cp_put_be32(file.data + 29, cp_crc32(0, file.data + 12, 17));
}

static void impossible_headers_are_refused(void) {
    static const struct {
        size_t        at;
        unsigned char value;
        const char   *message;
    } wrong[] = {{12, 'i', "the first chunk must be an IHDR"},
                 {19, 0, "width and height from 1 to"},
                 {16, 0x80, "width and height from 1 to"},
                 {23, 0, "width and height from 1 to"},
                 {25, 1, "color type 0, 2, 3, 4 or 6"},
                 {25, 7, "color type 0, 2, 3, 4 or 6"},
                 {24, 16, "no such bit depth"},
                 {24, 3, "no such bit depth"},
                 {24, 255, "no such bit depth"},
                 {26, 1, "compression method 0"},
                 {27, 1, "filter method 0"},
                 {28, 2, "interlace method 0 or 1"},
                 {16, 0x7f, "are more than the 1073741824 bytes"},
                 {18, 0x80, "too short for the pixels"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        change(wrong[i].at, wrong[i].value);
        refuses(file.data, file.size, wrong[i].message);
    }
}

/* A gray picture of 2 x 1 with these chunks between its header and IEND. */
typedef struct part {
    const char *name, *data;
    size_t      size;
} part;

#define PIXELS "\x78\x01\1\3\0\xfc\xff\0ab\x01\x27\0\xc4" /* filter 0, 'a', 'b', stored */
#define DATA(bytes) bytes, sizeof bytes - 1

static void put_parts(int type, int depth, int count, const part *parts) {
    put_header((kind){.width = 2, .height = 1, .type = type, .depth = depth});
    for (int i = 0; i < count; i++) put_chunk(parts[i].name, parts[i].data, parts[i].size);
    put_chunk("IEND", "", 0);
}

static void chunks_out_of_order_or_of_wrong_sizes_are_refused(void) {
    static const struct {
        int         type, depth, count;
        part        parts[4];
        const char *message;
    } wrong[] = {
        {0, 8, 0, {{0}}, "byte 33: the file ends without pixels"},
        {0, 8, 2, {{"IDAT", DATA(PIXELS)}, {"tRNS", DATA("ab")}}, "must come before the pixels"},
        {0, 8, 3, {{"IDAT", DATA("")}, {"tEXt", DATA("")}, {"IDAT", DATA(PIXELS)}}, "must follow each other"},
        {0, 8, 2, {{"NEED", DATA("")}, {"IDAT", DATA(PIXELS)}}, "an unknown chunk that is needed"},
        {0, 8, 2, {{"PLTE", DATA("abc")}, {"IDAT", DATA(PIXELS)}}, "a gray image has no palette"},
        {0, 8, 2, {{"tRNS", DATA("a")}, {"IDAT", DATA(PIXELS)}}, "transparency (tRNS) of another length"},
        {0, 8, 3, {{"tRNS", DATA("ab")}, {"tRNS", DATA("ab")}, {"IDAT", DATA(PIXELS)}}, "a second list of transparent colors"},
        {4, 8, 2, {{"tRNS", DATA("ab")}, {"IDAT", DATA(PIXELS)}}, "has no transparent color"},
        {3, 8, 1, {{"IDAT", DATA(PIXELS)}}, "the palette (PLTE) must come before"},
        {3, 8, 2, {{"tRNS", DATA("a")}, {"PLTE", DATA("abc")}}, "before its palette"},
        {3, 8, 2, {{"PLTE", DATA("abcd")}, {"IDAT", DATA(PIXELS)}}, "a palette (PLTE) of 1 to"},
        {3, 1, 2, {{"PLTE", DATA("abcdefghi")}, {"IDAT", DATA(PIXELS)}}, "a palette (PLTE) of 1 to"},
        {3, 8, 3, {{"PLTE", DATA("abc")}, {"PLTE", DATA("abc")}, {"IDAT", DATA(PIXELS)}}, "a second palette"},
        {3, 8, 2, {{"PLTE", DATA("abc")}, {"IDAT", DATA(PIXELS)}}, "row 0 has a color beyond the palette of 1"},
        {0, 8, 1, {{"IDAT", DATA("\x78")}}, "a header of zlib"},
        {0, 8, 1, {{"IDAT", DATA("\x78\x02\1")}}, "a header of zlib"},
        {0, 8, 1, {{"IDAT", DATA("\x78\xbb\1\1")}}, "a header of zlib"},
        {0, 16, 1, {{"IDAT", DATA(PIXELS)}}, "the contents are 3 bytes; 5 were expected"},
        {0, 4, 1, {{"IDAT", DATA(PIXELS)}}, "it holds more than was declared"},
        {0, 8, 1, {{"IDAT", PIXELS, sizeof PIXELS - 2}}, "the checksum of the contents is wrong or missing"},
        {0, 8, 1, {{"IDAT", DATA("\x78\x01\1\3\0\xfc\xff\0ab\x01\x27\0\xc5")}}, "the checksum of the contents is wrong"},
        {0, 8, 1, {{"IDAT", DATA("\x78\x01\1\3\0\xfc\xff\5ab\x01\x36\0\xc9")}}, "row 0 has filter 5"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_parts(wrong[i].type, wrong[i].depth, wrong[i].count, wrong[i].parts);
        refuses(file.data, file.size, wrong[i].message);
    }
    put_parts(0, 8, 1, &(part){"IDAT", DATA(PIXELS)});
    cp_bytes_append(&file, "more", 4); /* what follows the end does not belong to the picture */
    TEST_ASSERT_TRUE_MESSAGE(parse(file.data, file.size), status.message);
    is(1, 2, 1, 8, "ab");
}

/* ---- PGM and PPM ---- */

static void gray_and_color_maps_are_read(void) {
    TEST_ASSERT_TRUE(parse(DATA("P5 3 2 255\nabc\n\r\0")));
    is(2, 3, 1, 8, "abc\n\r\0");
    TEST_ASSERT_TRUE(parse(DATA("P6\n# by hand # twice\n2\t1\r\n# more\n255 abcdef, and what follows")));
    is(1, 2, 3, 8, "abcdef");
    TEST_ASSERT_TRUE(parse(DATA("P2 3 1 15 0 7#seven\n15")));
    is(1, 3, 1, 8, "\0\x77\xff");
    TEST_ASSERT_TRUE(parse(DATA("P2 3 1 2\n0 1 2\n")));
    is(1, 3, 1, 8, "\0\x80\xff");
    TEST_ASSERT_TRUE(parse(DATA("P3\n1 1\n65535\n1 256 65535")));
    is(1, 1, 3, 16, (uint16_t[]){1, 256, 65535});
    TEST_ASSERT_TRUE(parse(DATA("P5 2 1 65535 \1\2\xff\xfe")));
    is(1, 2, 1, 16, (uint16_t[]){0x102, 0xfffe});
    TEST_ASSERT_TRUE(parse(DATA("P5 2 1 256 \1\0\0\1")));
    is(1, 2, 1, 16, (uint16_t[]){65535, 256});
}

static void damaged_maps_are_refused(void) {
    static const char whole[] = "P6 2 2 255\nabcdefghijkl", plain[] = "P3 1 1 255 10 20 3";
    for (size_t size = 0; size + 1 < sizeof whole; size++) refuses(whole, size, "byte ");
    for (size_t size = 0; size + 2 < sizeof plain; size++) refuses(plain, size, "byte ");
    refuses(DATA("P5 0 1 255 "), "byte 3: a number from 1 to 2147483647 was expected");
    refuses(DATA("P5 99999999999999999999 1 255 "), "byte 3: a number from 1 to");
    refuses(DATA("P5 x 1 255 "), "byte 3: a number");
    refuses(DATA("P5 1 1 65536 a"), "byte 7: a number from 1 to 65535");
    refuses(DATA("P5 1 1 0 a"), "byte 7: a number from 1 to 65535");
    refuses(DATA("P5 1 1 255x"), "byte 10: a blank was expected");
    refuses(DATA("P5 1 1 9 \12"), "byte 9: a value exceeds the maximum");
    refuses(DATA("P2 1 1 9 10"), "byte 9: a number from 0 to 9");
    refuses(DATA("P2 1 1 9 -1"), "byte 9: a number from 0 to 9");
    refuses(DATA("P2 2000000000 1 255 1"), "are more than the 1073741824 bytes");
    refuses(DATA("P6 30000 1000 255 1"), "the file ends before its last value");
    refuses(DATA("P4 1 1 a"), "neither a PNG nor a PGM nor a PPM file");
}

static void other_formats_are_named_with_the_conversion(void) {
    char dicom[132] = "";
    memcpy(dicom + 128, "DICM", 4);
    refuses(DATA("\xff\xd8\xff\xe0"),
            "a.png is a JPEG file; PNG, PGM and PPM can be read. ImageMagick converts it: mogrify -format png a.png");
    refuses(DATA("GIF89a"), "is a GIF file");
    refuses(DATA("RIFF....WEBP"), "is a WebP file");
    refuses(DATA("II*\0...."), "is a TIFF file");
    refuses(dicom, sizeof dicom, "is a DICOM file");
    refuses(DATA(""), "byte 0: this is neither a PNG nor a PGM nor a PPM file");
    refuses(DATA("text"), "neither a PNG nor");
}

static void files_are_known_as_pictures_by_their_endings(void) {
    TEST_ASSERT_TRUE(cp_picture_named("a.png") && cp_picture_named("a.b/c.PGM") && cp_picture_named("x.ppm") &&
                     cp_picture_named("x.pnm"));
    TEST_ASSERT_FALSE(cp_picture_named(".png") || cp_picture_named("png") || cp_picture_named("a.png.txt") || cp_picture_named(""));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(files_are_known_as_pictures_by_their_endings);
    RUN_TEST(every_kind_gives_its_pixels);
    RUN_TEST(what_the_writer_writes_is_read);
    RUN_TEST(a_file_cut_or_changed_anywhere_is_refused);
    RUN_TEST(impossible_headers_are_refused);
    RUN_TEST(chunks_out_of_order_or_of_wrong_sizes_are_refused);
    RUN_TEST(gray_and_color_maps_are_read);
    RUN_TEST(damaged_maps_are_refused);
    RUN_TEST(other_formats_are_named_with_the_conversion);
    cp_bytes_free(&file);
    return UNITY_END();
}
