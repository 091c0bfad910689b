/* What the files that load features share. */
#pragma once

#include "core/metrics/metric.h"
#include "store/analysis/features.h"

/* Does it make sense to add up or compare this metric? Not for numbers that identify something. */
bool feature_is_counted(enum metric_id id);
/* NAN for NULL. */
double stmt_get_feature(struct stmt *st, int i);
