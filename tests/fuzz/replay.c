/* Runs a fuzz target over the files of its corpus, so that inputs found by a fuzzer stay tested. Each input is also cut in
 * the middle. The address sanitizer detects reads beyond an input, since its memory has exactly the input's size. */
#include "core/io/file.h"
#include "tests/fuzz/target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run(const unsigned char *bytes, size_t size) {
    unsigned char *exact = malloc(size ? size : 1);
    if (!exact) abort();
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int count, char **args) {
    int  runs = 0, failures = 0;
    DIR *folder = count == 2 ? opendir(args[1]) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char      path[4096];
        cp_status status = {0};
        cp_bytes  bytes;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", args[1], entry->d_name);
        runs++;
        if (!cp_file_read(path, 1 << 20, &bytes, &status)) {
            printf("%s: FAIL\n", status.message);
            failures++;
            continue;
        }
        printf("%s\n", path);
        fflush(stdout); /* the last line names the file if the target traps */
        run(bytes.data, bytes.size);
        run(bytes.data, bytes.size / 2);
        cp_bytes_free(&bytes);
    }
    if (folder) closedir(folder);
    if (runs == 0) {
        printf("there are no files to run over in %s: FAIL\n", count == 2 ? args[1] : "the folder that was not given");
        runs = failures = 1;
    }
    printf("%d Tests %d Failures 0 Ignored\n", runs, failures);
    return failures > 0;
}
