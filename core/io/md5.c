/* MD5. */
#include "core/io/md5.h"
#include "core/io/file.h"

#include <stdio.h>
#include <string.h>

/* floor(2^32 |sin(i + 1)|) */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af,
    0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa,
    0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97,
    0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
static const unsigned char shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t rotated(uint32_t value, int count) {
    return value << count | value >> (32 - count);
}

static void take_block(uint32_t state[4], const unsigned char *block) {
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
    unsigned char        end[128] = {0}; /* the last bytes, a one bit, zeros and the number of bits */
    const unsigned char *p = data;
    size_t               left = size, end_size = size % 64 < 56 ? 64 : 128;
    for (; left >= 64; left -= 64, p += 64) take_block(state, p);
    if (left > 0) memcpy(end, p, left);
    end[left] = 0x80;
    cp_put_le64(end + end_size - 8, (uint64_t)size * 8);
    for (size_t at = 0; at < end_size; at += 64) take_block(state, end + at);
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
