/* The value of an option. */
#ifndef CP_KIT_SETTING_H
#define CP_KIT_SETTING_H

#include "experiments/kit/cli/options.h"

typedef struct cp_setting {
    const cp_option *option;
    const char      *text; /* given or default; NULL: neither */
    bool             given;
    int64_t          integer;
    double           real;
    double          *list; /* to be freed */
    int              list_count;
    int              choice;
} cp_setting;

/* Reads the text as the option's kind; false, with what was expected, when it cannot be. */
bool cp_setting_set(cp_setting *setting, const char *text, cp_status *status);

#endif
