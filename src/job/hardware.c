/* What a host is made of; see hardware.h. */
#include "job/hardware.h"

#include "job/facts.h"

struct value *hardware_facts(const char *root)
{
	(void)root;
	return host_facts();
}
