/* Subjects in folder trees: names of all years, pairs that lack a half, copies, links, folders that cannot be read. The program is
 * linked with -Wl,--wrap for the memory calls, to make them fail. */
#include "experiments/kit/volumes/subjects.h"

#include "support/wrapped_memory.h"
#include "tests/core/scratch.h"

enum { BOTH = 1 << CP_SCAN_FLAIR | 1 << CP_SCAN_SEG };

static cp_status    status;
static cp_subjects *found;

/* A tree below the scratch folder, which contains only the folder "tree". */
static void clear(void) {
    char command[600];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s/tree' 2>/dev/null; rm -rf '%s/tree'", scratch_folder, scratch_folder);
    TEST_ASSERT_TRUE(system(command) == 0);
}

void setUp(void) {
    status = (cp_status){0};
    found = NULL;
    calls_allowed = -1;
    scratch_make();
    TEST_ASSERT_EQUAL_INT(0, mkdir(scratch("tree"), 0777));
}

void tearDown(void) {
    calls_allowed = -1;
    cp_subjects_free(found);
    clear();
    scratch_remove();
}

/* An empty file, and the folders above it. */
static void touch(const char *path) {
    char full[600];
    snprintf(full, sizeof full, "%s/tree/%s", scratch_folder, path);
    for (char *p = full + strlen(scratch_folder) + 6; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0777);
        *p = '/';
    }
    FILE *file = fopen(full, "wb");
    TEST_ASSERT_NOT_NULL_MESSAGE(file, full);
    fclose(file);
}

static void find(unsigned needed) {
    cp_subjects_free(found);
    found = cp_subjects_find(scratch("tree"), needed, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(found, status.message);
}

/* Subject `index` and the path of a scan within the tree. */
static void is(int index, const char *name, cp_scan scan, const char *path) {
    TEST_ASSERT_TRUE(index < found->count);
    TEST_ASSERT_EQUAL_STRING(name, found->at[index].name);
    TEST_ASSERT_EQUAL_STRING(path, found->at[index].paths[scan] + strlen(scratch_folder) + strlen("/tree/"));
}

static void the_file_names_of_all_years_are_known(void) {
    static const struct {
        const char *file;
        cp_scan     scan;
    } files[] = {{"a_flair.nii.gz", CP_SCAN_FLAIR}, {"a_t1.nii.gz", CP_SCAN_T1},    {"a_t1ce.nii.gz", CP_SCAN_T1CE},
                 {"a_t2.nii.gz", CP_SCAN_T2},       {"a_seg.nii.gz", CP_SCAN_SEG},  {"b-t2f.nii", CP_SCAN_FLAIR},
                 {"b-t1n.nii", CP_SCAN_T1},         {"b-t1c.nii", CP_SCAN_T1CE},    {"b-t2w.nii", CP_SCAN_T2},
                 {"b-seg.nii", CP_SCAN_SEG},        {"C_FLAIR.HDR", CP_SCAN_FLAIR}, {"C_T1.Nii", CP_SCAN_T1},
                 {"C_t1Gd.nii", CP_SCAN_T1CE},      {"C_T2.NII.GZ", CP_SCAN_T2},    {"C_Seg.hdr", CP_SCAN_SEG}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) touch(files[i].file);
    touch("C_FLAIR.IMG");
    find((1 << CP_SCANS) - 1);
    TEST_ASSERT_EQUAL_INT(3, found->count);
    for (int i = 0; i < 15; i++) is((i / 5 + 1) % 3, i < 5 ? "a" : i < 10 ? "b" : "C", files[i].scan, files[i].file);
    TEST_ASSERT_TRUE(found->left_out.count == 0 && found->unused.count == 0);
}

static void only_the_needed_scans_are_searched(void) {
    touch("a_flair.nii"), touch("a_seg.nii"), touch("a_t1.nii"), touch("a_t1.nii.gz");
    find(BOTH);
    TEST_ASSERT_EQUAL_INT(1, found->count);
    TEST_ASSERT_NULL(found->at[0].paths[CP_SCAN_T1]);
    TEST_ASSERT_EQUAL_INT(0, found->unused.count);
}

static void files_are_found_at_any_depth_and_sorted_by_name(void) {
    touch("z/HGG/x_2/x_2_flair.nii"), touch("z/HGG/x_2/x_2_seg.nii"), touch("x_1_flair.nii"), touch("x_1_seg.nii");
    touch("x-10/deep/deeper/x_10_flair.nii"), touch("x-10/deep/deeper/x_10_seg.nii");
    find(BOTH);
    TEST_ASSERT_EQUAL_INT(3, found->count);
    is(0, "x_1", CP_SCAN_SEG, "x_1_seg.nii");
    is(1, "x_10", CP_SCAN_SEG, "x-10/deep/deeper/x_10_seg.nii");
    is(2, "x_2", CP_SCAN_FLAIR, "z/HGG/x_2/x_2_flair.nii");
}

static void other_files_are_ignored(void) {
    touch("flair"), touch("a_flair.txt"), touch("a_flair.nii.zip"), touch("a.nii"), touch("a_t3.nii"), touch("aflair.nii"),
        touch("_.nii");
    touch("._a_flair.nii"), touch(".hidden/a_flair.nii"), touch(".nii"), touch("a_flair.img");
    find(BOTH);
    TEST_ASSERT_TRUE(found->count == 0 && found->left_out.count == 0);
}

static void a_file_without_a_subject_name_uses_its_folders_name(void) {
    touch("patient 7/flair.nii.gz"), touch("patient 7/SEG.nii.gz"), touch("_flair.nii"), touch("-seg.nii");
    find(BOTH);
    TEST_ASSERT_EQUAL_INT(2, found->count);
    is(0, "patient 7", CP_SCAN_SEG, "patient 7/SEG.nii.gz");
    is(1, "tree", CP_SCAN_FLAIR, "_flair.nii");
}

static void a_subject_that_lacks_a_scan_is_left_out_with_the_reason(void) {
    touch("a_flair.nii"), touch("b_seg.nii"), touch("c_t1.nii"), touch("d_flair.nii"), touch("d_seg.nii");
    find(BOTH);
    TEST_ASSERT_EQUAL_INT(1, found->count);
    TEST_ASSERT_EQUAL_INT(3, found->left_out.count);
    TEST_ASSERT_EQUAL_STRING("has no seg", found->left_out.at[0].text);
    TEST_ASSERT_EQUAL_STRING("has no flair", found->left_out.at[1].text);
    TEST_ASSERT_EQUAL_STRING("c", found->left_out.at[2].name);
    TEST_ASSERT_EQUAL_STRING("has no flair and no seg", found->left_out.at[2].text);
}

static void of_two_files_of_a_scan_one_is_used_and_the_other_reported(void) {
    touch("a_flair.nii"), touch("a_flair.nii.gz"), touch("a_seg.nii.gz");
    find(BOTH);
    is(0, "a", CP_SCAN_FLAIR, "a_flair.nii.gz");
    TEST_ASSERT_EQUAL_INT(1, found->unused.count);
    TEST_ASSERT_NOT_NULL(strstr(found->unused.at[0].text, "tree/a_flair.nii"));
}

static void of_several_folders_the_first_complete_one_is_used(void) {
    touch("1/a_flair.nii"), touch("2/a_flair.nii"), touch("2/a_seg.nii"), touch("3/a_flair.nii"), touch("3/a_seg.nii");
    find(BOTH);
    TEST_ASSERT_EQUAL_INT(1, found->count);
    is(0, "a", CP_SCAN_FLAIR, "2/a_flair.nii");
    is(0, "a", CP_SCAN_SEG, "2/a_seg.nii");
    TEST_ASSERT_EQUAL_INT(3, found->unused.count);
}

static void scans_may_be_in_separate_folders(void) {
    touch("images/a_flair.nii"), touch("labels/a_seg.nii");
    find(BOTH);
    is(0, "a", CP_SCAN_FLAIR, "images/a_flair.nii");
    is(0, "a", CP_SCAN_SEG, "labels/a_seg.nii");
}

static void links_are_followed_and_loops_are_detected(void) {
    char to[600], at[600];
    touch("real/a_flair.nii"), touch("real/a_seg.nii");
    snprintf(at, sizeof at, "%s/tree/real/up", scratch_folder);
    TEST_ASSERT_EQUAL_INT(0, symlink("..", at));
    snprintf(at, sizeof at, "%s/tree/nowhere_flair.nii", scratch_folder);
    TEST_ASSERT_EQUAL_INT(0, symlink("nothing", at));
    snprintf(at, sizeof at, "%s/tree/itself", scratch_folder);
    TEST_ASSERT_EQUAL_INT(0, symlink("itself", at));
    snprintf(to, sizeof to, "%s/tree/real/a_seg.nii", scratch_folder);
    snprintf(at, sizeof at, "%s/tree/real/b_seg.nii", scratch_folder);
    TEST_ASSERT_EQUAL_INT(0, symlink(to, at));
    touch("real/b_flair.nii");
    find(BOTH);
    TEST_ASSERT_EQUAL_INT(2, found->count);
    is(1, "b", CP_SCAN_SEG, "real/b_seg.nii");
    TEST_ASSERT_EQUAL_INT(0, found->unused.count);
}

static void a_folder_that_cannot_be_read_is_reported(void) {
    if (geteuid() == 0) TEST_IGNORE_MESSAGE("root may read any folder");
    touch("closed/a_flair.nii");
    TEST_ASSERT_EQUAL_INT(0, chmod(scratch("tree/closed"), 0));
    find(BOTH);
    TEST_ASSERT_EQUAL_INT(1, found->left_out.count);
    TEST_ASSERT_NOT_NULL(strstr(found->left_out.at[0].text, "denied"));
}

static void a_file_in_place_of_a_folder_is_refused(void) {
    touch("file");
    TEST_ASSERT_NULL(cp_subjects_find(scratch("tree/file"), BOTH, &status));
    says(&status, "tree/file");
    TEST_ASSERT_NULL(cp_subjects_find(scratch("nothing"), BOTH, &status));
    says(&status, "No such file");
    TEST_ASSERT_NULL(cp_subjects_find("", BOTH, &status));
    says(&status, "cannot read the folder");
}

static void an_empty_folder_has_no_subjects(void) {
    find(BOTH);
    TEST_ASSERT_TRUE(found->count == 0 && found->left_out.count == 0 && found->unused.count == 0);
}

static void a_lack_of_memory_is_reported_at_every_allocation(void) {
    touch("1/a_flair.nii"), touch("1/a_seg.nii"), touch("2/a_seg.nii"), touch("b_seg.nii");
    for (long allowed = 0;; allowed++) {
        calls_allowed = allowed;
        cp_subjects *some = cp_subjects_find(scratch("tree"), BOTH, &status);
        bool         failed = calls_allowed < 0;
        calls_allowed = -1;
        cp_subjects_free(some);
        if (some) {
            TEST_ASSERT_FALSE_MESSAGE(failed, "the failed allocation was not reported");
            TEST_ASSERT_TRUE(allowed >= 15);
            return;
        }
        says(&status, "memory");
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_file_names_of_all_years_are_known);
    RUN_TEST(only_the_needed_scans_are_searched);
    RUN_TEST(files_are_found_at_any_depth_and_sorted_by_name);
    RUN_TEST(other_files_are_ignored);
    RUN_TEST(a_file_without_a_subject_name_uses_its_folders_name);
    RUN_TEST(a_subject_that_lacks_a_scan_is_left_out_with_the_reason);
    RUN_TEST(of_two_files_of_a_scan_one_is_used_and_the_other_reported);
    RUN_TEST(of_several_folders_the_first_complete_one_is_used);
    RUN_TEST(scans_may_be_in_separate_folders);
    RUN_TEST(links_are_followed_and_loops_are_detected);
    RUN_TEST(a_folder_that_cannot_be_read_is_reported);
    RUN_TEST(a_file_in_place_of_a_folder_is_refused);
    RUN_TEST(an_empty_folder_has_no_subjects);
    RUN_TEST(a_lack_of_memory_is_reported_at_every_allocation);
    return UNITY_END();
}
