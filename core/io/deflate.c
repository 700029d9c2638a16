/* Compression: greedy LZ77 over hash chains, written in one block of the fixed Huffman code. */
#include "core/io/deflate.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 32768,
    MATCH_MIN = 3,
    MATCH_MAX = 258,
    HASH_BITS = 15,
    CHAIN_MAX = 64,
    STORED_MAX = 65535,
    END_OF_BLOCK = 256,
};

uint32_t cp_adler32(uint32_t adler, const void *data, size_t size) {
    const unsigned char *p = data;
    uint32_t             a = adler & 0xFFFF, b = adler >> 16;
    while (size > 0) {
        size_t some = size < 5552 ? size : 5552; /* the most before b could overflow */
        size -= some;
        for (; some > 0; some--) b += a += *p++;
        a %= 65521, b %= 65521;
    }
    return b << 16 | a;
}

/* ---- bits, the lowest first ---- */

typedef struct bits {
    cp_bytes *out;
    uint32_t  held;
    int       count;
} bits;

static void put_bits(bits *b, uint32_t value, int count) {
    b->held |= value << b->count;
    b->count += count;
    while (b->count >= 8) {
        cp_bytes_append(b->out, &(unsigned char){(unsigned char)b->held}, 1);
        b->held >>= 8;
        b->count -= 8;
    }
}

/* Huffman codes go with their highest bit first. */
static void put_code(bits *b, uint32_t code, int count) {
    uint32_t reversed = 0;
    for (int i = 0; i < count; i++) reversed |= (code >> i & 1) << (count - 1 - i);
    put_bits(b, reversed, count);
}

static void put_symbol(bits *b, int symbol) {
    if (symbol < 144)
        put_code(b, (uint32_t)(0x30 + symbol), 8);
    else if (symbol < 256)
        put_code(b, (uint32_t)(0x190 + symbol - 144), 9);
    else if (symbol < 280)
        put_code(b, (uint32_t)(symbol - 256), 7);
    else
        put_code(b, (uint32_t)(0xC0 + symbol - 280), 8);
}

/* A length or distance is a code and extra bits: `codes` for each number of extra bits, four for lengths, two for
 * distances. */
static void put_match(bits *b, int length, int distance) {
    if (length == MATCH_MAX) {
        put_symbol(b, 285);
    } else {
        int extra = 0, from = length - MATCH_MIN;
        while (from >> (extra + 3)) extra++;
        put_symbol(b, 257 + 4 * extra + (from >> extra));
        put_bits(b, (uint32_t)from & ((1u << extra) - 1), extra);
    }
    int extra = 0, from = distance - 1;
    while (from >> (extra + 2)) extra++;
    put_code(b, (uint32_t)(2 * extra + (from >> extra)), 5);
    put_bits(b, (uint32_t)from & ((1u << extra) - 1), extra);
}

/* ---- matches ---- */

typedef struct chains {
    size_t *head;  /* by hash: the latest place, plus one */
    size_t *older; /* by place modulo the window: the one before, plus one */
} chains;

static unsigned hash_of(const unsigned char *p) {
    return (unsigned)((p[0] | p[1] << 8 | (uint32_t)p[2] << 16) * 2654435761u >> (32 - HASH_BITS));
}

static void remember(chains *c, const unsigned char *data, size_t size, size_t at) {
    if (size - at < MATCH_MIN) return;
    unsigned hash = hash_of(data + at);
    c->older[at % WINDOW] = c->head[hash];
    c->head[hash] = at + 1;
}

static int longest_match(const chains *c, const unsigned char *data, size_t size, size_t at, int *distance) {
    int    best = 0;
    size_t max = size - at < MATCH_MAX ? size - at : MATCH_MAX;
    if (max < MATCH_MIN) return 0;
    size_t place = c->head[hash_of(data + at)];
    for (int i = 0; i < CHAIN_MAX && place > 0 && at - (place - 1) <= WINDOW - 1; i++) {
        const unsigned char *old = data + place - 1;
        size_t               n = 0;
        while (n < max && old[n] == data[at + n]) n++;
        if ((int)n > best) best = (int)n, *distance = (int)(at - (place - 1));
        if (n == max) break;
        place = c->older[(place - 1) % WINDOW];
    }
    return best >= MATCH_MIN ? best : 0;
}

static bool put_fixed(const unsigned char *data, size_t size, cp_bytes *out) {
    chains c = {calloc((size_t)1 << HASH_BITS, sizeof(size_t)), calloc(WINDOW, sizeof(size_t))};
    bits   b = {.out = out};
    if (!c.head || !c.older) out->failed = true;
    put_bits(&b, 3, 3); /* the last block, fixed code */
    for (size_t at = 0; at < size && !out->failed;) {
        int distance = 0, length = longest_match(&c, data, size, at, &distance);
        if (length)
            put_match(&b, length, distance);
        else
            put_symbol(&b, data[at]);
        for (size_t end = at + (size_t)(length ? length : 1); at < end; at++) remember(&c, data, size, at);
    }
    put_symbol(&b, END_OF_BLOCK);
    put_bits(&b, 0, 7);
    free(c.head);
    free(c.older);
    return !out->failed;
}

static void put_stored(const unsigned char *data, size_t size, cp_bytes *out) {
    do {
        size_t        some = size < STORED_MAX ? size : STORED_MAX;
        unsigned char head[5] = {some == size};
        cp_put_le16(head + 1, (uint16_t)some);
        cp_put_le16(head + 3, (uint16_t)~some);
        cp_bytes_append(out, head, sizeof head);
        cp_bytes_append(out, data, some);
        data += some;
        size -= some;
    } while (size > 0);
}

bool cp_deflate(const void *data, size_t size, cp_bytes *out) {
    size_t before = out->size;
    if (put_fixed(data, size, out) && out->size - before > size + 5 * (size / STORED_MAX + 1)) {
        out->size = before;
        put_stored(data, size, out);
    }
    return !out->failed;
}

bool cp_zlib_compress(const void *data, size_t size, cp_bytes *out) {
    unsigned char tail[4];
    cp_bytes_append(out, "\x78\x01", 2);
    cp_deflate(data, size, out);
    cp_put_be32(tail, cp_adler32(1, data, size));
    return cp_bytes_append(out, tail, sizeof tail);
}
