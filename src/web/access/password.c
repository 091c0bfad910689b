/* Passwords; see password.h. */
#include "web/access/password.h"

#include "core/module.h"

const struct password_functions *password_load(struct strbuf *why)
{
	const struct module *m = module_load("password", why);

	return m ? m->functions : NULL;
}
