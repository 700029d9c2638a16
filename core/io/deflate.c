/* Deflate streams, and the checksums of the formats that contain them.
 *
 * Compression is greedy LZ77 over hash chains, written as one block of the fixed Huffman code. Decompression looks up a code of at most
 * FAST_BITS bits in one step and a longer one bit by bit; it rejects the same codes as zlib. */
#include "core/io/deflate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { END_OF_BLOCK = 256 };

static uint32_t reversed(uint32_t value, int count) {
    uint32_t out = 0;
    for (int i = 0; i < count; i++) out |= (value >> i & 1) << (count - 1 - i);
    return out;
}

/* ---- checksums ---- */

/* CRC-32 takes eight bytes per step: table[k][b] is the effect of byte b followed by k zero bytes. */
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

uint32_t cp_adler32(uint32_t adler, const void *data, size_t size) {
    const unsigned char *p = data;
    uint32_t             a = adler & 0xFFFF, b = adler >> 16;
    while (size > 0) {
        size_t some = size < 5552 ? size : 5552; /* more could overflow b */
        size -= some;
        for (; some > 0; some--) b += a += *p++;
        a %= 65521, b %= 65521;
    }
    return b << 16 | a;
}

/* ---- compression ---- */

enum { WINDOW = 32768, MATCH_MIN = 3, MATCH_MAX = 258, HASH_BITS = 15, CHAIN_MAX = 64, STORED_MAX = 65535 };

/* ---- writing bits, the lowest first ---- */

typedef struct bit_writer {
    cp_bytes *out;
    uint32_t  held;
    int       count;
} bit_writer;

static void put_bits(bit_writer *b, uint32_t value, int count) {
    b->held |= value << b->count;
    b->count += count;
    while (b->count >= 8) {
        cp_bytes_append(b->out, &(unsigned char){(unsigned char)b->held}, 1);
        b->held >>= 8;
        b->count -= 8;
    }
}

/* Huffman codes start with their highest bit. */
static void put_code(bit_writer *b, uint32_t code, int count) { put_bits(b, reversed(code, count), count); }

static void put_symbol(bit_writer *b, int symbol) {
    if (symbol < 144)
        put_code(b, (uint32_t)(0x30 + symbol), 8);
    else if (symbol < 256)
        put_code(b, (uint32_t)(0x190 + symbol - 144), 9);
    else if (symbol < 280)
        put_code(b, (uint32_t)(symbol - 256), 7);
    else
        put_code(b, (uint32_t)(0xC0 + symbol - 280), 8);
}

/* A length or distance is a code and extra bits: `codes` for each number of extra bits, four for lengths, two for distances. */
static void put_match(bit_writer *b, int length, int distance) {
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
    size_t *head;  /* by hash: the latest offset, plus one */
    size_t *older; /* by offset modulo the window: the previous one, plus one */
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
    size_t offset = c->head[hash_of(data + at)];
    for (int i = 0; i < CHAIN_MAX && offset > 0 && at - (offset - 1) <= WINDOW - 1; i++) {
        const unsigned char *old = data + offset - 1;
        size_t               n = 0;
        while (n < max && old[n] == data[at + n]) n++;
        if ((int)n > best) best = (int)n, *distance = (int)(at - (offset - 1));
        if (n == max) break;
        offset = c->older[(offset - 1) % WINDOW];
    }
    return best >= MATCH_MIN ? best : 0;
}

static bool put_fixed(const unsigned char *data, size_t size, cp_bytes *out) {
    chains     c = {calloc((size_t)1 << HASH_BITS, sizeof(size_t)), calloc(WINDOW, sizeof(size_t))};
    bit_writer b = {.out = out};
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

/* ---- decompression ---- */

enum {
    FAST_BITS = 10,
    CODE_BITS = 15, /* of the longest code */
    LITERALS = 288,
    DISTANCES = 32,
    LITERALS_USED = 286, /* the fixed code has more, which must not occur */
    DISTANCES_USED = 30,
    LENGTH_CODES = 19,
    STEP_MIN = 1 << 15, /* bytes by which the output grows */
};

/* ---- reading bits, the lowest first ---- */

typedef struct bit_reader {
    const unsigned char *next, *end;
    uint64_t             held;
    int                  count;  /* held */
    int                  padded; /* of these, or used already: zeros after the end of the data */
} bit_reader;

/* Afterwards 56 bits are held, more than any step takes. False when bits after the end have been used. */
static inline bool refill(bit_reader *b) {
    if (b->end - b->next >= 8) {
        b->held |= cp_get_le64(b->next) << b->count;
        int bytes = (63 - b->count) >> 3;
        b->next += bytes;
        b->count += 8 * bytes;
        return true;
    }
    while (b->count <= 56) {
        if (b->next < b->end)
            b->held |= (uint64_t)*b->next++ << b->count;
        else
            b->padded += 8;
        b->count += 8;
    }
    return b->padded <= b->count;
}

static inline unsigned take(bit_reader *b, int count) {
    unsigned value = (unsigned)(b->held & ((UINT64_C(1) << count) - 1));
    b->held >>= count;
    b->count -= count;
    return value;
}

/* Returns whole bytes to the input and drops the rest of the current one. */
static bool align_to_byte(bit_reader *b) {
    if (b->padded > b->count) return false;
    b->next -= (b->count - b->padded) / 8;
    b->held = 0;
    b->count = b->padded = 0;
    return true;
}

/* ---- codes ---- */

typedef struct code {
    uint16_t fast[1 << FAST_BITS]; /* by the next bits: symbol and length as `symbol << 4 | length`; 0: longer, or no code */
    uint16_t count[CODE_BITS + 1]; /* of symbols by length */
    uint16_t symbols[LITERALS];    /* by length, then by number */
} code;

/* Whether the lengths make a complete code. `sparse` also allows a single code of one bit, and no codes at all. */
static bool code_make(code *c, const unsigned char *lengths, int symbols, bool sparse) {
    uint16_t index[CODE_BITS + 2] = {0}, next[CODE_BITS + 2] = {0};
    int      left = 1, longest = 0;
    memset(c, 0, sizeof *c);
    for (int i = 0; i < symbols; i++) c->count[lengths[i]]++;
    c->count[0] = 0;
    for (int length = 1; length <= CODE_BITS; length++) {
        left = 2 * left - c->count[length];
        if (left < 0) return false;
        if (c->count[length]) longest = length;
        index[length + 1] = (uint16_t)(index[length] + c->count[length]);
        next[length + 1] = (uint16_t)((next[length] + c->count[length]) << 1);
    }
    if (left > 0 && !(sparse && longest <= 1)) return false;
    for (int i = 0; i < symbols; i++) {
        int length = lengths[i];
        if (length == 0) continue;
        c->symbols[index[length]++] = (uint16_t)i;
        unsigned first = reversed(next[length]++, length);
        for (unsigned at = first; length <= FAST_BITS && at < 1u << FAST_BITS; at += 1u << length)
            c->fast[at] = (uint16_t)(i << 4 | length);
    }
    return true;
}

/* -1: the bits are not a code. */
static int take_long(bit_reader *b, const code *c) {
    int value = 0, first = 0, index = 0;
    for (int length = 1; length <= CODE_BITS; length++) {
        value |= (int)(b->held >> (length - 1) & 1);
        int count = c->count[length];
        if (value - first < count) {
            take(b, length);
            return c->symbols[index + value - first];
        }
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    return -1;
}

static inline int take_symbol(bit_reader *b, const code *c) {
    unsigned entry = c->fast[b->held & ((1 << FAST_BITS) - 1)];
    if (!entry) return take_long(b, c);
    take(b, entry & 15);
    return (int)(entry >> 4);
}

/* ---- blocks: functions return what is wrong, or NULL ---- */

typedef struct stream {
    bit_reader in;
    cp_bytes  *out;
    size_t     start; /* the size of `out` before */
    size_t     limit;
    code       literals, distances;
} stream;

static const char truncated[] = "the data end too early; the file is truncated";
static const char no_memory[] = "not enough memory for its contents";
static const char too_long[] = "it holds more than was declared";

/* Room for `more` bytes. */
static const char *make_room(stream *s, size_t more) {
    size_t made = s->out->size - s->start;
    if (more > s->limit - made) return too_long;
    size_t step = s->limit - made < STEP_MIN ? s->limit - made : STEP_MIN;
    return cp_bytes_reserve(s->out, more > step ? more : step) ? NULL : no_memory;
}

static const char *read_stored(stream *s) {
    bit_reader *in = &s->in;
    if (!align_to_byte(in) || in->end - in->next < 4) return truncated;
    size_t size = cp_get_le16(in->next);
    if (size != (cp_get_le16(in->next + 2) ^ 0xFFFFu)) return "a stored block whose length and its complement disagree";
    in->next += 4;
    if ((size_t)(in->end - in->next) < size) return truncated;
    const char *problem = make_room(s, size);
    if (problem) return problem;
    cp_bytes_append(s->out, in->next, size);
    in->next += size;
    return NULL;
}

static void fixed_codes(stream *s) {
    unsigned char lengths[LITERALS];
    for (int i = 0; i < LITERALS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    code_make(&s->literals, lengths, LITERALS, false);
    memset(lengths, 5, DISTANCES);
    code_make(&s->distances, lengths, DISTANCES, false);
}

/* The lengths of both codes, run-length encoded in a code of their own. */
static const char *read_lengths(stream *s, unsigned char *lengths, int wanted) {
    static const unsigned char base[] = {3, 3, 11}, extra[] = {2, 3, 7}; /* of symbols 16, 17, 18 */
    for (int i = 0; i < wanted;) {
        if (!refill(&s->in)) return truncated;
        int symbol = take_symbol(&s->in, &s->literals);
        if (symbol < 0) return "a code that does not exist, in a table of code lengths";
        if (symbol < 16) {
            lengths[i++] = (unsigned char)symbol;
            continue;
        }
        int repeat = base[symbol - 16] + (int)take(&s->in, extra[symbol - 16]);
        if (symbol == 16 && i == 0) return "a repeated code length with none before it";
        if (repeat > wanted - i) return "more code lengths than there are codes";
        memset(lengths + i, symbol == 16 ? lengths[i - 1] : 0, (size_t)repeat);
        i += repeat;
    }
    return NULL;
}

static const char *dynamic_codes(stream *s) {
    static const unsigned char order[LENGTH_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    unsigned char              lengths[LITERALS + DISTANCES] = {0};
    if (!refill(&s->in)) return truncated;
    int literals = 257 + (int)take(&s->in, 5), distances = 1 + (int)take(&s->in, 5), given = 4 + (int)take(&s->in, 4);
    if (literals > LITERALS_USED || distances > DISTANCES_USED) return "more codes than the format has";
    for (int i = 0; i < given; i++) {
        if (!refill(&s->in)) return truncated;
        lengths[order[i]] = (unsigned char)take(&s->in, 3);
    }
    if (!code_make(&s->literals, lengths, LENGTH_CODES, false)) return "an impossible code for code lengths";
    memset(lengths, 0, LENGTH_CODES);
    const char *problem = read_lengths(s, lengths, literals + distances);
    if (problem) return problem;
    if (lengths[END_OF_BLOCK] == 0) return "a code without an end of block";
    if (!code_make(&s->literals, lengths, literals, true)) return "an impossible code for literals";
    return code_make(&s->distances, lengths + literals, distances, true) ? NULL : "an impossible code for distances";
}

static inline void copy_match(unsigned char *to, size_t distance, size_t length) {
    const unsigned char *from = to - distance;
    if (distance >= length)
        memcpy(to, from, length);
    else if (distance == 1)
        memset(to, *from, length);
    else
        while (length--) *to++ = *from++;
}

static const unsigned short length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                             31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const unsigned char length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const unsigned short distance_base[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                               33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                               1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

/* Literals and matches until the end of the block. Bits and sizes are in local variables, for speed. */
static const char *read_symbols(stream *s) {
    cp_bytes   *out = s->out;
    bit_reader  in = s->in;
    size_t      size = out->size, room = 0;
    const char *problem = NULL;
    for (;;) {
        if (!refill(&in)) {
            problem = truncated;
            break;
        }
        int    symbol = take_symbol(&in, &s->literals);
        size_t length = 1, distance = 0;
        if (symbol == END_OF_BLOCK) break;
        if (symbol > END_OF_BLOCK) {
            int kind = symbol - END_OF_BLOCK - 1;
            if (symbol >= LITERALS_USED) symbol = -1;
            length = symbol < 0 ? 0 : length_base[kind] + take(&in, length_extra[kind]);
            kind = take_symbol(&in, &s->distances);
            if (kind >= DISTANCES_USED) kind = -1;
            distance = kind < 0 ? 0 : distance_base[kind] + take(&in, kind < 4 ? 0 : kind / 2 - 1);
            if (kind < 0) symbol = -1;
        }
        if (symbol < 0) {
            problem = "a code that does not exist";
            break;
        }
        if (distance > size - s->start) {
            problem = "a distance beyond the start of the data";
            break;
        }
        if (length > room) {
            out->size = size;
            if ((problem = make_room(s, length))) break;
            room = out->capacity - size < s->limit - (size - s->start) ? out->capacity - size : s->limit - (size - s->start);
        }
        if (distance)
            copy_match(out->data + size, distance, length);
        else
            out->data[size] = (unsigned char)symbol;
        size += length;
        room -= length;
    }
    out->size = size;
    s->in = in;
    return problem;
}

static const char *read_blocks(stream *s) {
    const char *problem = NULL;
    for (bool last = false; !last && !problem;) {
        if (!refill(&s->in)) return truncated;
        last = take(&s->in, 1);
        switch (take(&s->in, 2)) {
        case 0: problem = read_stored(s); break;
        case 1: fixed_codes(s), problem = read_symbols(s); break;
        case 2:
            problem = dynamic_codes(s);
            if (!problem) problem = read_symbols(s);
            break;
        default: problem = "a block of an unknown kind"; break;
        }
    }
    if (s->in.padded > s->in.count) return truncated; /* zeros after the end were decoded */
    align_to_byte(&s->in);
    return problem;
}

bool cp_inflate(const void *data, size_t size, size_t limit, cp_bytes *out, size_t *used, const char *name, cp_status *status) {
    const unsigned char *bytes = size ? data : (const void *)""; /* data may be NULL then */
    stream               s = {.in = {.next = bytes, .end = bytes + size}, .out = out, .start = out->size, .limit = limit};
    const char          *problem = read_blocks(&s);
    *used = (size_t)(s.in.next - bytes);
    if (!problem) return true;
    if (problem == no_memory) return cp_fail(status, "%.300s: %s", name, problem);
    return cp_damaged(status, "%.300s: compressed data, about byte %zu of %zu: %s", name, *used, size, problem);
}

bool cp_zlib_expand(const void *data, size_t size, size_t wanted, cp_bytes *out, const char *name, cp_status *status) {
    const unsigned char *bytes = data;
    size_t               used = 0, before = out->size;
    if (size < 2 || (bytes[0] & 15) != 8 || bytes[0] >> 4 > 7 || (bytes[0] << 8 | bytes[1]) % 31 || bytes[1] & 32)
        return cp_damaged(status, "%.300s: a header of zlib without a dictionary was expected", name);
    if (!cp_inflate(bytes + 2, size - 2, wanted, out, &used, name, status)) return false;
    if (out->size - before < wanted)
        return cp_damaged(status, "%.300s: the contents are %zu bytes; %zu were expected", name, out->size - before, wanted);
    return (size - 2 - used >= 4 && cp_get_be32(bytes + 2 + used) == cp_adler32(1, out->data + before, wanted)) ||
           cp_damaged(status, "%.300s: the checksum of the contents is wrong or missing; the file is damaged", name);
}
