/* couplet report: the page of some runs. */
#include "experiments/kit/report/report.h"
#include "experiments/kit/report/report_parts.h"

#include <stdio.h>

static const cp_option options[] = {{.name = "out",
                                     .kind = CP_OPTION_TEXT,
                                     .value = "FILE.html",
                                     .incidental = true,
                                     .help = "the page to write, an older one is replaced; default: report.html, in "
                                             "the run's folder when there is one run"},
                                    {0}};

static void tell_json(const char *out, int count, const cp_report_tally *tally) {
    cp_json_writer w = {0};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "report", out);
    cp_json_put_integer(&w, "runs", count);
    cp_json_put_integer(&w, "unfinished", tally->unfinished);
    cp_json_put_integer(&w, "damaged", tally->damaged);
    cp_json_put_end(&w);
    if (cp_json_writer_finish(&w, NULL)) printf("%s\n", (const char *)w.out.data);
    cp_json_writer_free(&w);
}

static void tell(const char *out, int count, const cp_report_tally *tally) {
    if (count == 1) {
        const char *state = tally->unfinished ? ", which is not finished" : tally->damaged ? ", which is damaged" : "";
        printf("Report of one run%s: %s\n", state, out);
        return;
    }
    printf("Report of %d runs", count);
    if (tally->unfinished) printf(", %d not finished", tally->unfinished);
    if (tally->damaged) printf(", %d damaged", tally->damaged);
    printf(": %s\n", out);
}

static int run(const cp_options *o) {
    enum { MAX = 1000 };
    cp_status       status = {0};
    cp_report_tally tally;
    const char     *folders[MAX], *out = cp_option_text(o, "out");
    int             count = cp_argument_count(o);
    for (int i = 0; i < count; i++) folders[i] = cp_argument(o, i);
    cp_report_path path = {"report.html"};
    if (count == 1) path = cp_report_file(&(cp_report_run){.folder = folders[0]}, "report.html", "");
    if (!out) out = path.s;
    if (!cp_report_make(folders, count, out, &tally, &status)) {
        cp_complain(o, "%s", status.message);
        return CP_EXIT_FAILED;
    }
    if (cp_option_flag(o, "json"))
        tell_json(out, count, &tally);
    else if (!cp_option_flag(o, "quiet"))
        tell(out, count, &tally);
    if (tally.damaged == 0) return CP_EXIT_OK;
    cp_complain(o, "the page is written, but a run is damaged: %s", tally.first_damage.message);
    return CP_EXIT_FAILED;
}

const cp_command cp_command_report = {
    .name = "report",
    .purpose = "one HTML page from the folders of runs",
    .arguments = "DIR...",
    .details = "The page shows what was run, the table and the figures of each run, and needs no network. Several runs "
               "of one experiment are compared: a table has the options in which they differ beside their results, and "
               "figures of the same name have the same axes. Runs that are not finished or cannot be read are marked so; "
               "after damage the exit code is 1.",
    .example = "runs/synthetic-* --out report.html",
    .options = options,
    .without = "seed",
    .min_arguments = 1,
    .max_arguments = 1000,
    .run = run,
};
