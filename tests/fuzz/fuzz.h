/*
 * What a fuzz target has to offer: one function that takes any bytes. libFuzzer calls it when built
 * with clang, driver.c otherwise.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input is. */
#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)
