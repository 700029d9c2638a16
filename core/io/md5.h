/* MD5 (RFC 1321), which identifies published data sets. It does not protect against deliberate changes. */
#pragma once

#include "core/error.h"

#include <stddef.h>

/* As 32 hexadecimal digits and a NUL. After an error the text is empty. */
enum { CP_MD5_TEXT = 33 };
void cp_md5(const void *data, size_t size, char text[CP_MD5_TEXT]);
bool cp_md5_file(const char *path, char text[CP_MD5_TEXT], cp_status *status);
