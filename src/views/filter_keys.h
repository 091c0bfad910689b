/* The keys of filters, for people and programs. */
#pragma once

#include <stdio.h>

#include "store/filter/filter.h"
#include "views/processes/process_list.h"

/* "duration", "size", "text": what a value of the key is. */
int filter_keys_print(enum proc_form form, FILE *f);
