/* The reader of pictures: reads the input as a file; as a PNG file whose checksums, which no fuzzer would guess, are corrected; and as
 * the header and the rows of a PNG file made from it. */
#include "core/io/deflate.h"
#include "core/io/picture.h"
#include "core/io/png.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static void read_picture(const uint8_t *data, size_t size) {
    cp_status  status = {0};
    cp_picture p;
    bool       done = cp_picture_parse(data, size, "fuzz", &p, &status);
    if (done != !status.message[0] || done != (p.pixels != NULL)) __builtin_trap();
    if (!done) return;
    if (p.height < 1 || p.width < 1 || p.channels < 1 || p.channels > 4 || (p.depth != 8 && p.depth != 16)) __builtin_trap();
    uint32_t crc =
        cp_crc32(0, p.pixels, (size_t)p.height * (size_t)p.width * (size_t)(p.channels * p.depth / 8)); /* reads all pixels */
    if (crc != cp_crc32(crc, NULL, 0)) __builtin_trap();
    cp_picture_free(&p);
}

static void correct_checksums(uint8_t *png, size_t size) {
    for (size_t at = 8, length; at + 12 <= size; at += length + 12) {
        length = cp_get_be32(png + at);
        if (length > size - at - 12) return;
        cp_put_be32(png + at + 8 + length, cp_crc32(0, png + at + 4, length + 4));
    }
}

static void append_chunk(cp_bytes *png, const char *name, const void *data, size_t size) {
    uint8_t word[4] = {0};
    cp_put_be32(word, (uint32_t)size);
    cp_bytes_append(png, word, 4), cp_bytes_append(png, name, 4), cp_bytes_append(png, data, size);
    cp_bytes_append(png, word, 4);
}

/* The first bytes choose sides of at most 15, the kind, and the lengths of the palette and the transparency. */
static void read_made(const uint8_t *data, size_t size) {
    cp_bytes png = {0}, packed = {0};
    if (size < 6) return;
    uint8_t header[13] = {0, 0, 0, data[0] & 15, 0, 0, 0, data[0] >> 4, data[1] & 31, data[1] >> 5, 0, 0, data[2] & 1};
    size_t  colors = data[3] % 64 * 3u, opacities = data[4] % 64u;
    data += 5, size -= 5;
    if (colors + opacities > size) return;
    if (!cp_zlib_compress(data + colors + opacities, size - colors - opacities, &packed)) abort();
    cp_bytes_append(&png, CP_PNG_SIGNATURE, 8);
    append_chunk(&png, "IHDR", header, sizeof header);
    if (colors) append_chunk(&png, "PLTE", data, colors);
    if (opacities) append_chunk(&png, "tRNS", data + colors, opacities);
    append_chunk(&png, "IDAT", packed.data, packed.size);
    append_chunk(&png, "IEND", "", 0);
    if (png.failed) abort();
    correct_checksums(png.data, png.size);
    read_picture(png.data, png.size);
    cp_bytes_free(&png), cp_bytes_free(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    read_picture(data, size);
    correct_checksums(copy, size);
    read_picture(copy, size);
    free(copy);
    read_made(data, size);
    return 0;
}
