/* Energy of the node, and its division among jobs. */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

/* ---- node_energy.c ---- */

struct node_energy;
/* by: "rapl" (packages and memory), "hwmon" (a meter of the node), "ipmi"; NULL: the first of these
 * that works. Negative errno with the reasons in *why. */
int node_energy_open(struct node_energy **ret, const char *root, const char *by,
		     struct strbuf *why);
/* The name of the meter. */
const char *node_energy_by(const struct node_energy *n);
/* Microjoules since it was opened, assuming that power is as last measured. False when nothing was
 * measured yet, or not recently. */
bool node_energy_read(struct node_energy *n, uint64_t now_ns, uint64_t *ret_uj);
void node_energy_close(struct node_energy *n);

/* ---- job_energy.c ---- */

/* Divides a whole by weight: parts are whole numbers that add up to it exactly, each less than one
 * away from its true share. All weights 0: the last part gets everything. */
void share_out(uint64_t whole, const uint64_t *weights, size_t count, uint64_t *parts);
