/* Exercise 9: the expected calibration error. Fill in the two functions; `docs/course/check 9` tells how far you are. */
#include <math.h>

enum { BINS = 15 };

/* The bin of a confidence, 0 to 14. Bin b is (b / 15, (b + 1) / 15]: its upper end belongs to it, its lower end does not.
 * A confidence of 0 lies in no such bin and is counted in bin 0. */
int bin_of(double confidence) {
    (void)confidence;
    return 0; /* write it here */
}

/* The sum over the bins of (share of all predictions that lie in it) * |accuracy in it - mean confidence in it|. right[i] is 1
 * where prediction i was right and 0 where it was wrong. A bin without predictions adds nothing; the ECE of none is 0. */
double calibration_error(int n, const double *confidence, const int *right) {
    (void)n, (void)confidence, (void)right;
    return 0; /* write it here */
}
