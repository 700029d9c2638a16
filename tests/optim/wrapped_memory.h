/* See the file of this name that all tests share. */
#include "support/wrapped_memory.h"
