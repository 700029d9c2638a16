/* What is drawn inside a panel's axes. */
#ifndef CP_KIT_FIGURE_MARKS_H
#define CP_KIT_FIGURE_MARKS_H

#include "experiments/kit/axis.h"
#include "experiments/kit/figure_parts.h"
#include "experiments/kit/svg.h"

typedef struct cp_frame {
    double  left, top, w, h; /* the drawing area */
    cp_axis x, y;
} cp_frame;

double cp_frame_x(const cp_frame *frame, double value); /* NaN where there is no place for it */
double cp_frame_y(const cp_frame *frame, double value);

void cp_marks_back(cp_bytes *out, const cp_panel *panel, const cp_frame *frame);  /* bands of color and images */
void cp_marks_front(cp_bytes *out, const cp_panel *panel, const cp_frame *frame); /* all else */

/* The sample of a series in the legend: its left end and its middle. */
void   cp_marks_sample(cp_bytes *out, const cp_series *series, double x, double y);
double cp_marks_sample_width(const cp_series *series);

#endif
