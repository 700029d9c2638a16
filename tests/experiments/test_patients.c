/* The patient of a scan, and splits by patient. */
#include "experiments/kit/volumes/patients.h"

#include "tests/core/scratch.h"

static cp_status status;

void setUp(void) { status = (cp_status){0}; }
void tearDown(void) {}

static void scan_names_begin_with_the_patient(void) {
    static const char *const scans[][2] = {{"BraTS-GLI-00000-000", "BraTS-GLI-00000"},
                                           {"BraTS-MET-00123-001", "BraTS-MET-00123"},
                                           {"brats-gli-7-1", "brats-gli-7"},
                                           {"TCGA_CS_4941_19960909", "TCGA_CS_4941"},
                                           {"TCGA-DU-A5TR-19970726", "TCGA-DU-A5TR"},
                                           {"brats_2013_pat0001_1", "brats_2013_pat0001"},
                                           {"BRATS_2013_PAT0001_12", "BRATS_2013_PAT0001"},
                                           {"BraTS20_Training_001", "BraTS20_Training_001"},
                                           {"Brats17_TCIA_131_1", "Brats17_TCIA_131"},
                                           {"Brats18_TCIA01_131_2", "Brats18_TCIA01_131"},
                                           {"BraTS19_CBICA_AAB_1", "BraTS19_CBICA_AAB"},
                                           {"Brats18_TCIA01_131", "Brats18_TCIA01_131"},
                                           {"Brats18_TCIA01_131_1_x", "Brats18_TCIA01_131_1_x"},
                                           {"Brats1", "Brats1"},
                                           {"sub-01_ses-1", "sub-01"},
                                           {"sub-01", "sub-01"},
                                           {"subject-01", "subject-01"},
                                           {"BraTS19_2013_10_1", "BraTS19_2013_10"},
                                           {"BraTS2021_00000", "BraTS2021_00000"},
                                           {"BraTS-GLI-00000", "BraTS-GLI-00000"},
                                           {"BraTS-GLI-00000-000x", "BraTS-GLI-00000-000x"},
                                           {"BraTS-GLI-00000-000-1", "BraTS-GLI-00000-000-1"},
                                           {"TCGA_CS_4941", "TCGA_CS_4941"},
                                           {"TCGA_CS_4941_1996", "TCGA_CS_4941_1996"},
                                           {"TCGA_CS_4941_199609091", "TCGA_CS_4941_199609091"},
                                           {"x_pat_1", "x_pat_1"},
                                           {"x_pat1_", "x_pat1_"},
                                           {"x_pat1_pat2_3", "x_pat1_pat2"},
                                           {"", ""},
                                           {"-", "-"}};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(strlen(scans[i][1]), cp_patient_length(scans[i][0]), scans[i][0]);
        TEST_ASSERT_EQUAL_INT(0, strncmp(scans[i][0], scans[i][1], strlen(scans[i][1])));
    }
}

static void splits_have_the_sizes_given_by_their_fractions(void) {
    static const struct {
        int patients, shares[3], counts[3];
    } cases[] = {{220, {70, 10, 20}, {154, 22, 44}}, {110, {70, 10, 20}, {77, 11, 22}},
                 {6, {70, 10, 20}, {4, 1, 1}},       {3, {70, 10, 20}, {1, 1, 1}},
                 {4, {70, 10, 20}, {2, 1, 1}},       {10, {7, 1, 2}, {7, 1, 2}},
                 {4, {10, 45, 45}, {1, 1, 2}},       {3, {1, 1, 1000000}, {1, 1, 1}},
                 {2, {70, 10, 20}, {1, 0, 1}},       {1, {70, 10, 20}, {1, 0, 0}},
                 {2, {0, 0, 100}, {0, 0, 2}},        {5, {0, 1, 99}, {0, 1, 4}},
                 {1, {0, 30, 30}, {0, 1, 0}},        {2000000000, {1, 1, 2}, {500000000, 500000000, 1000000000}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int counts[3];
        cp_patients_counts(cases[i].patients, cases[i].shares, counts);
        TEST_ASSERT_EQUAL_INT_ARRAY(cases[i].counts, counts, 3);
    }
}

static void with_at_least_three_patients_no_split_is_empty_and_no_patient_is_lost(void) {
    static const int shares[][3] = {{70, 10, 20}, {98, 1, 1}, {1, 98, 1}, {1, 1, 1}, {5, 5, 90}};
    for (int n = 3; n < 300; n++)
        for (int i = 0; i < 5; i++) {
            int counts[3];
            cp_patients_counts(n, shares[i], counts);
            TEST_ASSERT_TRUE(counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
            TEST_ASSERT_EQUAL_INT(n, counts[0] + counts[1] + counts[2]);
        }
}

static void shares_are_three_whole_numbers(void) {
    static const char *const wrong[] = {"",      "70",    "70/10",   "70/10/20/1", "70/10/",     "-1/1/1",
                                        "0/0/0", "1/2/x", "1.5/1/1", "1/ 2/3",     "1000001/1/1"};
    int                      shares[3];
    TEST_ASSERT_TRUE(cp_patients_shares("70/10/20", shares, &status));
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){70, 10, 20}), shares, 3);
    TEST_ASSERT_TRUE(cp_patients_shares("0/0/100", shares, &status));
    TEST_ASSERT_EQUAL_INT_ARRAY(((int[]){0, 0, 100}), shares, 3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_ASSERT_FALSE_MESSAGE(cp_patients_shares(wrong[i], shares, &status), wrong[i]);
        says(&status, "is not understood; expected three whole numbers");
    }
}

static void the_split_depends_only_on_the_seed(void) {
    static const int shares[] = {70, 10, 20};
    int              first[110], again[110], other[110], counts[3] = {0}, same = 0;
    TEST_ASSERT_TRUE(cp_patients_split(110, shares, (cp_rng[]){cp_rng_named(1, "patients")}, first, &status));
    TEST_ASSERT_TRUE(cp_patients_split(110, shares, (cp_rng[]){cp_rng_named(1, "patients")}, again, &status));
    TEST_ASSERT_TRUE(cp_patients_split(110, shares, (cp_rng[]){cp_rng_named(2, "patients")}, other, &status));
    TEST_ASSERT_EQUAL_INT_ARRAY(first, again, 110);
    for (int i = 0; i < 110; i++) counts[first[i]]++, same += first[i] == other[i];
    TEST_ASSERT_TRUE(counts[0] == 77 && counts[1] == 11 && counts[2] == 22);
    TEST_ASSERT_TRUE(same < 90); /* by chance 54 % of 110 */
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(scan_names_begin_with_the_patient);
    RUN_TEST(splits_have_the_sizes_given_by_their_fractions);
    RUN_TEST(with_at_least_three_patients_no_split_is_empty_and_no_patient_is_lost);
    RUN_TEST(shares_are_three_whole_numbers);
    RUN_TEST(the_split_depends_only_on_the_seed);
    return UNITY_END();
}
