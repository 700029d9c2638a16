/* MD5 (RFC 1321), which identifies published data sets. It does not protect against deliberate changes. */
#ifndef CP_IO_MD5_H
#define CP_IO_MD5_H

#include "core/error.h"

#include <stdint.h>

typedef struct cp_md5 {
    uint32_t      state[4];
    uint64_t      size;      /* bytes so far */
    unsigned char block[64]; /* the last size % 64 of them */
} cp_md5;

void cp_md5_init(cp_md5 *md5);
void cp_md5_update(cp_md5 *md5, const void *data, size_t size);
void cp_md5_final(cp_md5 *md5, unsigned char digest[16]);

/* As 32 hexadecimal digits and a NUL. */
enum { CP_MD5_TEXT = 33 };
void cp_md5_text(const unsigned char digest[16], char text[CP_MD5_TEXT]);
bool cp_md5_file(const char *path, char text[CP_MD5_TEXT], cp_status *status);

#endif
