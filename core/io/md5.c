/* MD5. */
#include "core/io/md5.h"
#include "core/io/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const unsigned char shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t rotated(uint32_t value, int count) { return value << count | value >> (32 - count); }

static void take_block(uint32_t state[4], const uint32_t sines[64], const unsigned char *block) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 64; i++) {
        uint32_t mixed;
        int      word;
        switch (i / 16) {
        case 0: mixed = d ^ (b & (c ^ d)), word = i; break;
        case 1: mixed = c ^ (d & (b ^ c)), word = (5 * i + 1) % 16; break;
        case 2: mixed = b ^ c ^ d, word = (3 * i + 5) % 16; break;
        default: mixed = c ^ (b | ~d), word = 7 * i % 16; break;
        }
        uint32_t next = b + rotated(a + mixed + sines[i] + cp_get_le32(block + 4 * word), shifts[i / 16][i % 4]);
        a = d, d = c, c = b, b = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

void cp_md5(const void *data, size_t size, char text[CP_MD5_TEXT]) {
    uint32_t             state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint32_t             sines[64];
    unsigned char        end[128] = {0}; /* the last bytes, a one bit, zeros and the number of bits */
    const unsigned char *p = data;
    size_t               left = size, end_size = size % 64 < 56 ? 64 : 128;
    for (int i = 0; i < 64; i++) sines[i] = (uint32_t)(fabs(sin(i + 1)) * 0x1p32);
    for (; left >= 64; left -= 64, p += 64) take_block(state, sines, p);
    if (left > 0) memcpy(end, p, left);
    end[left] = 0x80;
    cp_put_le64(end + end_size - 8, (uint64_t)size * 8);
    for (size_t at = 0; at < end_size; at += 64) take_block(state, sines, end + at);
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", (unsigned)(state[i / 4] >> i % 4 * 8 & 255));
}

bool cp_md5_file(const char *path, char text[CP_MD5_TEXT], cp_status *status) {
    cp_bytes file;
    text[0] = '\0';
    if (!cp_file_read(path, PTRDIFF_MAX, &file, status)) return false;
    cp_md5(file.data, file.size, text);
    cp_bytes_free(&file);
    return true;
}
