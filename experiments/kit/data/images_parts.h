/* What the parts of an image set share. */
#ifndef CP_KIT_IMAGES_PARTS_H
#define CP_KIT_IMAGES_PARTS_H

#include "core/io/npz.h"
#include "experiments/kit/data/images.h"

/* Fills a set that is {0} from a file. After false it holds what was read so far, to be freed. */
bool cp_images_read(cp_images *images, const char *path, cp_status *status);

/* What the file tells about its making, if it does; and the class names from there, once the number of classes is known. */
void cp_images_read_made(cp_images *images, const cp_npz *npz);
void cp_images_take_class_names(cp_images *images);

#endif
