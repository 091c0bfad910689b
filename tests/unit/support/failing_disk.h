/* Tests with a directory of their own on a disk that fails when it is told to. */
#pragma once

#include "faults.h"
#include "unit.h"

static inline int disk_setup(void **state)
{
	fault_clear();
	return scratch_setup(state);
}

static inline int disk_teardown(void **state)
{
	fault_clear();
	fault_disk(NULL);
	return scratch_teardown(state);
}
