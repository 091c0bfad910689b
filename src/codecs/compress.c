/* Which module packs blocks by which codec; see compress.h. */
#include "codecs/compress.h"

#include <errno.h>
#include <string.h>

#include "codecs/gzip.h"
#include "codecs/lz4.h"
#include "codecs/snappy.h"
#include "codecs/zstd.h"
#include "core/module.h"

static const struct pack_functions *of_gzip(const void *functions)
{
	return &((const struct gzip_functions *)functions)->block;
}

static const struct pack_functions *of_lz4(const void *functions)
{
	return &((const struct lz4_functions *)functions)->block;
}

static const struct pack_functions *of_snappy(const void *functions)
{
	return &((const struct snappy_functions *)functions)->block;
}

static const struct pack_functions *of_zstd(const void *functions)
{
	return &((const struct zstd_functions *)functions)->block;
}

/* The levels are those where more work gains little on columns that are encoded already. */
static const struct codec {
	const char *name, *module;
	const struct pack_functions *(*of)(const void *functions);
	int level;
	enum pack_codec codec;
} codecs[] = {
	{"lz4", "lz4", of_lz4, 0, PACK_LZ4},
	{"none", NULL, NULL, 0, PACK_NONE},
	{"snappy", "snappy", of_snappy, 0, PACK_SNAPPY},
	{"zlib", "gzip", of_gzip, 1, PACK_ZLIB},
	{"zstd", "zstd", of_zstd, 1, PACK_ZSTD},
};

/* Is it a word of the list? */
static bool is_known(const char *known, const char *codec)
{
	size_t n = strlen(codec);

	for (const char *p = known; *p;) {
		size_t len = strcspn(p, " ");

		if (len == n && !memcmp(p, codec, n))
			return true;
		p += len;
		p += strspn(p, " ");
	}
	return false;
}

int packer_open(struct packer *p, const char *known, const char *codec, struct strbuf *why)
{
	_cleanup_free_ char *first = xstrndup(known, strcspn(known, " "));
	const char *name = codec ? codec : first;

	*p = (struct packer){.codec = PACK_NONE};
	if (!is_known(known, name)) {
		strbuf_addf(why, "no codec '%s' here; there are: %s", name, known);
		return -EINVAL;
	}
	const struct codec *c = codecs;
	while (strcmp(c->name, name) != 0)
		c++;
	p->codec = c->codec;
	if (!c->module)
		return 0;
	const struct module *m = module_load(c->module, why);
	if (!m)
		return -ENOTSUP;
	p->f = c->of(m->functions);
	p->state = p->f->open(c->level);
	if (!p->state) {
		strbuf_addf(why, "no memory for %s", c->name);
		return -ENOMEM;
	}
	return 0;
}

bool packer_add(struct packer *p, const void *data, size_t n, struct strbuf *out)
{
	if (p->f)
		return p->f->pack(p->state, data, n, out);
	strbuf_add(out, data, n);
	return true;
}

int packer_failed(struct strbuf *why)
{
	strbuf_addstr(why, "packing failed");
	return -EIO;
}

void packer_close(struct packer *p)
{
	if (p->f)
		p->f->close(p->state);
	*p = (struct packer){.codec = PACK_NONE};
}

const struct zstd_functions *zstd_module(struct strbuf *why)
{
	const struct module *m = module_load("zstd", why);

	return m ? m->functions : NULL;
}
