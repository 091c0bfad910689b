/* Codecs and their modules; see compress.h and archive.h. */
#include "codecs/compress.h"

#include <errno.h>
#include <string.h>

#include "codecs/archive.h"
#include "codecs/zstd.h"
#include "core/module.h"

/* Higher levels gain little on columns that are encoded already. */
static const struct codec {
	const char *name, *module;
	int level;
	enum pack_codec codec;
} codecs[] = {
	{"lz4", "lz4", 0, PACK_LZ4},          {"none", NULL, 0, PACK_NONE},
	{"snappy", "snappy", 0, PACK_SNAPPY}, {"zlib", "gzip", 1, PACK_ZLIB},
	{"zstd", "zstd", 1, PACK_ZSTD},
};

static bool is_known(const char *known, const char *codec)
{
	_cleanup_free_ char *list = xasprintf(" %s ", known), *word = xasprintf(" %s ", codec);

	return !strchr(codec, ' ') && strstr(list, word);
}

/* "parquet does not support lz4; use zstd, snappy or none" */
static int refuse(const char *format, const char *known, const char *codec, struct strbuf *why)
{
	strbuf_addf(why, "%s does not support %s; use ", format, codec);
	for (const char *p = known; *p; p++) {
		if (*p != ' ')
			strbuf_addch(why, *p);
		else
			strbuf_addstr(why, strchr(p + 1, ' ') ? ", " : " or ");
	}
	return -EINVAL;
}

int packer_open(struct packer *p, const char *format, const char *known, const char *codec,
		struct strbuf *why)
{
	_cleanup_free_ char *first = xstrndup(known, strcspn(known, " "));
	const char *name = codec ? codec : first;

	*p = (struct packer){.codec = PACK_NONE};
	if (!is_known(known, name))
		return refuse(format, known, name, why);
	const struct codec *c = codecs;
	while (strcmp(c->name, name) != 0)
		c++;
	p->codec = c->codec;
	if (!c->module)
		return 0;
	const struct module *m = module_load(c->module, why);
	if (!m)
		return -ENOTSUP;
	p->f = m->functions;
	p->state = p->f->open(c->level);
	if (!p->state)
		return strbuf_fail(why, -ENOMEM, "out of memory for %s", c->name);
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
	return strbuf_fail(why, -EIO, "compression failed");
}

void packer_close(struct packer *p)
{
	if (p->f)
		p->f->close(p->state);
	*p = (struct packer){.codec = PACK_NONE};
}

const struct archive_functions *archive_module(struct strbuf *why)
{
	const struct module *m = module_load("archive", why);

	return m ? m->functions : NULL;
}

const struct zstd_functions *zstd_module(struct strbuf *why)
{
	const struct module *m = module_load("zstd", why);

	return m ? m->functions : NULL;
}
