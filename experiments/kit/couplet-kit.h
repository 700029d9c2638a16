/* Couplet's experiment kit, and Couplet: what an experiment in one file includes. Each part's own header is its manual. */
#ifndef COUPLET_KIT_H
#define COUPLET_KIT_H

#include "couplet.h"
#include "experiments/kit/cli/options.h"
#include "experiments/kit/cli/program.h"
#include "experiments/kit/data/augment.h"
#include "experiments/kit/data/batches.h"
#include "experiments/kit/data/dataset.h"
#include "experiments/kit/data/images.h"
#include "experiments/kit/data/resize.h"
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/figure/figure.h"
#include "experiments/kit/metrics/calibration.h"
#include "experiments/kit/metrics/metrics.h"
#include "experiments/kit/metrics/stats.h"
#include "experiments/kit/report/report.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/run/run.h"
#include "experiments/kit/run/runs.h"
#include "experiments/kit/run/study.h"
#include "experiments/kit/run/trials.h"
#include "experiments/kit/train/guard.h"
#include "experiments/kit/train/method.h"
#include "experiments/kit/volumes/patients.h"
#include "experiments/kit/volumes/slices.h"
#include "experiments/kit/volumes/subjects.h"

#endif
