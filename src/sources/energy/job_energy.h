/* Energy of the node, from whoever measures it, and its parts. */
#ifndef PL_SOURCES_ENERGY_JOB_ENERGY_H
#define PL_SOURCES_ENERGY_JOB_ENERGY_H

#include <stdint.h>

#include "core/strbuf.h"

/* ---- node_energy.c ----------------------------------------------------------------------------
 */

struct node_energy;
/* by: "rapl" (packages and memory), "hwmon" (a meter of the node), "ipmi"; NULL: the first of these
 * that is there. Negative errno with the reasons in *why. */
int node_energy_open(struct node_energy **ret, const char *root, const char *by,
		     struct strbuf *why);
/* By whom. */
const char *node_energy_by(const struct node_energy *n);
/* Microjoules since it was opened. Power is taken to be what it was when last measured. False when
 * nothing was measured yet, or not for long. */
bool node_energy_read(struct node_energy *n, uint64_t now_ns, uint64_t *ret_uj);
void node_energy_close(struct node_energy *n);

/* ---- job_energy.c -----------------------------------------------------------------------------
 */

/* Shares a whole out by weight: parts are whole numbers that sum up to it exactly, each less than
 * one away from its true share. All weights 0: the last part has it all. */
void share_out(uint64_t whole, const uint64_t *weights, size_t count, uint64_t *parts);

#endif
