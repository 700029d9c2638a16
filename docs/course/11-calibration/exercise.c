/* Exercise 11: the expected calibration error. Fill in the two functions; `docs/course/check 11` says what is still wrong. */
#include <math.h>

enum { BINS = 15 };

/* The bin of a confidence, 0 to 14. Bin b is (b / 15, (b + 1) / 15]: its upper end belongs to it, its lower end does
 * not. A confidence of 0 is in no such bin and is counted in bin 0. */
int bin_of(double confidence) {
    (void)confidence;
    return 0; /* write it here */
}

/* The sum over the bins of (fraction of all predictions in the bin) * |accuracy in the bin - mean confidence in the
 * bin|. right[i] is 1 if prediction i was right and 0 if it was wrong. A bin without predictions adds nothing; the ECE
 * of no predictions is 0. */
double calibration_error(int n, const double *confidence, const int *right) {
    (void)n, (void)confidence, (void)right;
    return 0; /* write it here */
}
