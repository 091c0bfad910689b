/*
 * Loading record files. All files are read side by side in the order of time. Within a file, frames
 * are in causal order: a process starts before it ends, and is reaped after that.
 */
#include "records/accounting.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system/process_stat.h"
#include "records/accounting_internal.h"

void accounting_init(struct accounting *b)
{
	memset(b, 0, sizeof(*b));
}

void accounting_release(struct accounting *b)
{
	for (size_t i = 0; i < b->file_count; i++) {
		record_file_close(&b->files[i].rec);
		free(b->files[i].name);
	}
	for (size_t i = 0; i < b->host_count; i++) {
		free(b->hosts[i].name);
		free(b->hosts[i].boot);
	}
	for (size_t i = 0; i < b->exe_count; i++)
		free(b->exes[i]);
	free(b->files);
	free(b->hosts);
	free(b->processes);
	free(b->unnamed);
	free(b->copies);
	free(b->images);
	free(b->exes);
	free(b->spaces);
	free(b->table);
	hash_map_release(&b->exe_map);
	free(b->threads);
	memset(b, 0, sizeof(*b));
}

/* ---- reading all files ---------------------------------------------------------------------- */

int accounting_add(struct accounting *b, int fd, const char *name, const char *host_dir)
{
	const char *dot = host_dir ? strrchr(host_dir, '.') : NULL;
	struct record_file rec;

	int r = record_file_open(&rec, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	GROW(b->files, b->file_count, b->file_cap);
	b->files[b->file_count] = (struct accounting_file){.rec = rec, .name = xstrdup(name)};
	if (dot && strlen(dot + 1) == 8)
		b->files[b->file_count].host =
			accounting_host(b, host_dir, (size_t)(dot - host_dir), dot + 1);
	else
		b->files[b->file_count].host = accounting_host(b, "unknown", 7, "");
	b->file_count++;
	return 0;
}

int accounting_fetch(struct accounting *b, frame_ref ref, struct record *rec)
{
	struct record_file *f = &b->files[ref >> FILE_SHIFT].rec;

	return record_file_read_at(f, ref & ((1ull << FILE_SHIFT) - 1), rec);
}

struct source {
	struct record r;
	bool live;
};

static int step(struct accounting *b, struct source *sources, size_t i, struct strbuf *why)
{
	int r = record_file_next(&b->files[i].rec, &sources[i].r);

	if (r < 0 && why)
		strbuf_addf(why, "cannot read '%s': %s", b->files[i].name, strerror(-r));
	sources[i].live = r > 0;
	if (r > 0)
		record_digest_add(&b->files[i].digest, &sources[i].r);
	return r;
}

void accounting_drop_file(struct accounting *b, size_t file)
{
	record_file_close(&b->files[file].rec);
	free(b->files[file].name);
	b->file_count--;
	memmove(&b->files[file], &b->files[file + 1], (b->file_count - file) * sizeof(*b->files));
}

static bool is_longer(const struct accounting *b, size_t i, size_t than)
{
	struct record_digest one, other;

	return record_file_digest(b->files[i].rec.fd, &one) == 0 &&
	       record_file_digest(b->files[than].rec.fd, &other) == 0 &&
	       one.records > other.records;
}

/* Drops copies of files, which have the same first record. All files stand behind it. */
static void drop_twins(struct accounting *b, struct source *sources)
{
	for (size_t i = 0; i < b->file_count; i++)
		for (size_t k = i + 1; k < b->file_count;) {
			if (!sources[i].live || !sources[k].live ||
			    b->files[i].digest.id != b->files[k].digest.id) {
				k++;
				continue;
			}
			size_t gone = is_longer(b, k, i) ? i : k;

			accounting_drop_file(b, gone);
			memmove(&sources[gone], &sources[gone + 1],
				(b->file_count - gone) * sizeof(*sources));
			k = i + 1;
		}
}

int accounting_load(struct accounting *b, struct strbuf *why)
{
	_cleanup_free_ struct source *sources = xcalloc(b->file_count, sizeof(*sources));
	int r;

	for (size_t i = 0; i < b->file_count; i++)
		if ((r = step(b, sources, i, why)) < 0)
			return r;
	drop_twins(b, sources);
	for (;;) {
		size_t best = b->file_count;

		for (size_t i = 0; i < b->file_count; i++)
			if (sources[i].live &&
			    (best == b->file_count ||
			     record_get(&sources[i].r, METRIC_BOOTTIME, 0) <
				     record_get(&sources[best].r, METRIC_BOOTTIME, 0)))
				best = i;
		if (best == b->file_count)
			break;
		accounting_take(b, best, &sources[best].r);
		if ((r = step(b, sources, best, why)) < 0)
			return r;
	}
	accounting_sort_copies(b);
	accounting_resolve_unnamed(b);
	accounting_drop_unheard(b);
	accounting_merge_namespaces(b);
	accounting_add_unrecorded(b);
	accounting_resolve_children(b);
	accounting_resolve_times(b);
	return 0;
}

/* Names of record files are unique, so equal names and sizes are equal records, even if the files
 * were moved meanwhile. */
bool accounting_reuse(struct accounting *b, struct accounting *joined)
{
	bool same = b->file_count == joined->file_count && b->keep_threads <= joined->keep_threads;

	for (size_t i = 0; i < b->file_count && same; i++)
		same = b->files[i].rec.limit == joined->files[i].rec.limit &&
		       !strcmp(path_base(b->files[i].name), path_base(joined->files[i].name));
	if (!same)
		return false;
	for (size_t i = 0; i < b->file_count; i++) { /* as the caller knows them */
		char *name = joined->files[i].name;

		joined->files[i].name = b->files[i].name;
		b->files[i].name = name;
	}
	accounting_release(b);
	*b = *joined;
	accounting_init(joined);
	return true;
}

void accounting_find_running(struct accounting *b)
{
	char host[65] = "";

	(void)gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < b->process_count; i++) {
		struct process *p = &b->processes[i];
		struct process_stat stat = {0};
		const uint64_t *f = stat.st.f;

		if (p->merged || p->status >= 0 || p->reaped ||
		    strcmp(b->hosts[p->host].name, host) != 0 ||
		    !process_stat_read("", process_pid(p), &stat))
			continue;
		p->running =
			f[STAT_STATE] != 'Z' && f[STAT_STATE] != 'X' &&
			(!p->starttime_us || f[STAT_STARTTIME] * PL_TICK_US == p->starttime_us);
	}
}
