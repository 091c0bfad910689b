/* Answers that are kept; see answer_cache.h. */
#include "web/answers/answer_cache.h"

#include <string.h>

#include "codecs/gzip.h"
#include "codecs/zstd.h"
#include "core/module.h"

#define COMPRESS_FROM 1024 /* bytes */

/* ---- answers ----------------------------------------------------------------------------------
 */

struct sent_answer *sent_answer_new(struct web_answer *a)
{
	struct sent_answer *s = xcalloc(1, sizeof(*s));

	*s = (struct sent_answer){
		.refs = 1,
		.status = a->status,
		.type = a->type,
		.file_name = a->file_name,
		.policy = a->policy,
		.location = a->location,
		.link = a->link,
		.retry_s = a->retry_s,
		.size = a->body.len,
		.data = strbuf_take(&a->body),
	};
	a->file_name = a->policy = a->location = a->link = NULL;
	return s;
}

struct sent_answer *sent_answer_ref(struct sent_answer *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void sent_answer_unref(struct sent_answer *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(s->data);
	free(s->file_name);
	free(s->policy);
	free(s->location);
	free(s->link);
	free(s);
}

/* ---- encodings --------------------------------------------------------------------------------
 */

/* Is a name in the list, without q=0? */
static bool accepts(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		p += strspn(p, " \t");
		if (strncmp(p, name, n) != 0 || !strchr(" \t;,", p[n]))
			continue;
		const char *q = p + n + strspn(p + n, " \t");
		if (*q != ';')
			return true;
		q += 1 + strspn(q + 1, " \t");
		/* q=0, q=0.0 and so on mean: not this one */
		return strncmp(q, "q=0", 3) != 0 || strspn(q + 3, ".0") != strcspn(q + 3, " \t,;");
	}
	return false;
}

const char *accepted_encoding(const char *list)
{
	if (!list)
		return NULL;
	return accepts(list, "zstd") ? "zstd" : accepts(list, "gzip") ? "gzip" : NULL;
}

static bool pack_zstd(struct sent_answer *s, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct zstd_functions *z = zstd_module(&why);

	if (!z)
		return false;
	size_t room = z->bound(s->size);
	strbuf_grow(out, room);
	size_t n = z->pack(out->buf, room, s->data, s->size, 3);
	strbuf_cut(out, n);
	return n > 0;
}

static bool pack_gzip(struct sent_answer *s, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct module *m = module_load("gzip", &why);
	const struct gzip_functions *f = m ? m->functions : NULL;
	struct gzip *g = f ? f->open(5) : NULL;

	if (!g)
		return false;
	bool ok = f->add(g, s->data, s->size, true, out);
	f->close(g);
	return ok;
}

static void compress(struct sent_answer *s, const char *encoding)
{
	struct strbuf out = STRBUF_INIT;
	bool ok = !strcmp(encoding, "zstd") ? pack_zstd(s, &out) : pack_gzip(s, &out);

	if (ok && out.len < s->size) {
		free(s->data);
		s->size = out.len;
		s->data = strbuf_take(&out);
		s->encoding = encoding;
	}
	strbuf_release(&out);
}

static bool is_packed_already(const char *type)
{
	return !str_prefix(type, "text/") && !str_prefix(type, "application/json") &&
	       !strstr(type, "+xml") && !str_prefix(type, "application/x-ndjson");
}

void sent_answer_finish(struct sent_answer *s, const char *accept_encoding)
{
	const char *encoding = accepted_encoding(accept_encoding);
	uint64_t hash = hash_bytes(s->data, s->size);

	if (encoding && s->size >= COMPRESS_FROM && !is_packed_already(s->type))
		compress(s, encoding);
	if (s->status == 200)
		snprintf(s->etag, sizeof(s->etag), "\"%016llx%s%s\"", (unsigned long long)hash,
			 s->encoding ? "-" : "", s->encoding ? s->encoding : "");
}

/* ---- keeping ----------------------------------------------------------------------------------
 */

struct kept_answer {
	struct kept_answer *newer, *older;
	uint64_t hash, version;
	size_t key_size, bytes;
	char *key;
	struct sent_answer *answer;
};

void answer_cache_init(struct answer_cache *c, size_t limit)
{
	*c = (struct answer_cache){.lock = PTHREAD_MUTEX_INITIALIZER, .limit = limit};
}

static void unlink_kept(struct answer_cache *c, struct kept_answer *k)
{
	*(k->newer ? &k->newer->older : &c->newest) = k->older;
	*(k->older ? &k->older->newer : &c->oldest) = k->newer;
}

static void link_newest(struct answer_cache *c, struct kept_answer *k)
{
	k->newer = NULL;
	k->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = k;
	c->newest = k;
}

static void forget(struct answer_cache *c, struct kept_answer *k)
{
	struct hash_slot *s = hash_map_first(&c->map, k->hash);

	while (s && s->value != (uintptr_t)k)
		s = hash_map_next(&c->map, s);
	if (s)
		hash_map_remove(&c->map, s);
	unlink_kept(c, k);
	c->bytes -= k->bytes;
	c->count--;
	sent_answer_unref(k->answer);
	free(k->key);
	free(k);
}

void answer_cache_release(struct answer_cache *c)
{
	while (c->oldest)
		forget(c, c->oldest);
	hash_map_release(&c->map);
}

static struct kept_answer *find(struct answer_cache *c, const struct strbuf *key, uint64_t hash)
{
	for (struct hash_slot *s = hash_map_first(&c->map, hash); s;
	     s = hash_map_next(&c->map, s)) {
		struct kept_answer *k = (struct kept_answer *)s->value;

		if (k->key_size == key->len && !memcmp(k->key, key->buf, key->len))
			return k;
	}
	return NULL;
}

struct sent_answer *answer_cache_find(struct answer_cache *c, const struct strbuf *key,
				      uint64_t version)
{
	struct sent_answer *found = NULL;

	pthread_mutex_lock(&c->lock);
	struct kept_answer *k = find(c, key, hash_bytes(key->buf, key->len));
	if (k && k->version != version) {
		forget(c, k);
		k = NULL;
	}
	if (k) {
		unlink_kept(c, k);
		link_newest(c, k);
		found = sent_answer_ref(k->answer);
	}
	*(k ? &c->hits : &c->misses) += 1;
	pthread_mutex_unlock(&c->lock);
	return found;
}

void answer_cache_add(struct answer_cache *c, const struct strbuf *key, uint64_t version,
		      struct sent_answer *s)
{
	uint64_t hash = hash_bytes(key->buf, key->len);
	size_t bytes = s->size + key->len + sizeof(*s) + sizeof(struct kept_answer);

	if (bytes > c->limit / 4)
		return;
	struct kept_answer *k = xcalloc(1, sizeof(*k));
	k->hash = hash;
	k->version = version;
	k->bytes = bytes;
	k->key_size = key->len;
	k->key = xstrndup(key->buf, key->len);
	k->answer = sent_answer_ref(s);
	pthread_mutex_lock(&c->lock);
	struct kept_answer *old = find(c, key, hash);
	if (old)
		forget(c, old);
	hash_map_add(&c->map, hash, (uintptr_t)k);
	link_newest(c, k);
	c->bytes += bytes;
	c->count++;
	while (c->bytes > c->limit)
		forget(c, c->oldest);
	pthread_mutex_unlock(&c->lock);
}
