/* The list of other tools' databases; see databases.h. */
#include "store/import/databases.h"

#include <errno.h>

#define DATABASE(symbol) extern const struct database database_##symbol;
#include "store/import/databases.def"
#undef DATABASE

static const struct database *const databases[] = {
#define DATABASE(symbol) &database_##symbol,
#include "store/import/databases.def"
#undef DATABASE
	NULL,
};

const struct database *database_of(struct store *s)
{
	const struct database *found = NULL;

	for (const struct database *const *d = databases; *d && !found; d++)
		found = (*d)->recognises(s) ? *d : NULL;
	strbuf_reset(&s->error);
	return found;
}

int database_open(struct store **ret, const struct database **ret_database, const char *url,
		  struct strbuf *why)
{
	int r = store_open(ret, url, STORE_FOREIGN, why);

	if (r < 0 || (*ret_database = database_of(*ret)))
		return r;
	strbuf_addf(why, "'%s' is not a database of", (*ret)->where);
	for (const struct database *const *d = databases; *d; d++)
		strbuf_addf(why, "%s %s", d == databases ? "" : " or", (*d)->tool);
	store_close(*ret);
	*ret = NULL;
	return -EPROTO;
}
