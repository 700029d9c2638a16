/* CRC-32, eight bytes a step: table[k][b] is the effect of byte b with k zero bytes behind it. */
#include "core/io/crc32.h"
#include "core/io/bytes.h"

#include <pthread.h>

static uint32_t       table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_fill(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
        table[0][b] = c;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++) table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xFF];
}

uint32_t cp_crc32(uint32_t crc, const void *data, size_t size) {
    pthread_once(&table_once, table_fill);
    const unsigned char *p = data;
    uint32_t             c = ~crc;
    for (; size >= 8; size -= 8, p += 8) {
        uint32_t a = c ^ cp_get_le32(p), b = cp_get_le32(p + 4);
        c = table[7][a & 0xFF] ^ table[6][a >> 8 & 0xFF] ^ table[5][a >> 16 & 0xFF] ^ table[4][a >> 24] ^ table[3][b & 0xFF] ^
            table[2][b >> 8 & 0xFF] ^ table[1][b >> 16 & 0xFF] ^ table[0][b >> 24];
    }
    for (; size > 0; size--) c = c >> 8 ^ table[0][(c ^ *p++) & 0xFF];
    return ~c;
}
