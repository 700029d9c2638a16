/* Keeps a program that was compiled for one precision from linking to, or starting with, a kit of the other: whoever
 * includes this refers to a name that only the kit of its own precision has. */
#ifndef CP_KIT_PRECISION_H
#define CP_KIT_PRECISION_H

#include "core/real.h"

#if CP_DOUBLE
#define CP_KIT_PRECISION cp_kit_is_double
#else
#define CP_KIT_PRECISION cp_kit_is_float
#endif

extern const char        CP_KIT_PRECISION;
static const char *const cp_kit_needed __attribute__((used)) = &CP_KIT_PRECISION;

#endif
