/* What the parts of an image set share. */
#ifndef CP_KIT_IMAGES_PARTS_H
#define CP_KIT_IMAGES_PARTS_H

#include "experiments/kit/images.h"

/* Fills a set that is {0} from a file. After false it holds what was read so far, to be freed. */
bool cp_images_read(cp_images *images, const char *path, cp_status *status);

#endif
