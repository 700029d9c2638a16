/* Couplet's experiment kit, and Couplet: what an experiment in one file includes. Each part's own header is its manual. */
#ifndef COUPLET_KIT_H
#define COUPLET_KIT_H

#include "couplet.h"
#include "experiments/kit/augment.h"
#include "experiments/kit/batches.h"
#include "experiments/kit/calibration.h"
#include "experiments/kit/dataset.h"
#include "experiments/kit/figure.h"
#include "experiments/kit/guard.h"
#include "experiments/kit/images.h"
#include "experiments/kit/metrics.h"
#include "experiments/kit/objective.h"
#include "experiments/kit/options.h"
#include "experiments/kit/patients.h"
#include "experiments/kit/program.h"
#include "experiments/kit/progress.h"
#include "experiments/kit/report.h"
#include "experiments/kit/resize.h"
#include "experiments/kit/run.h"
#include "experiments/kit/runs.h"
#include "experiments/kit/slices.h"
#include "experiments/kit/study.h"
#include "experiments/kit/subjects.h"
#include "experiments/kit/table.h"
#include "experiments/kit/trials.h"

#endif
