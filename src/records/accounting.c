/*
 * Joining records into processes and images. Files of one host are read side by side in the order
 * of time; within a file the order of the frames is the order of events that caused each other: a
 * process starts before it ends, and is reaped after that.
 */
#include "records/accounting.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/procparse.h"
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
	free(b->exe_table);
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

/* Copies: all files stand behind their first record, which tells. */
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
	accounting_add_dark_images(b);
	accounting_resolve_children(b);
	accounting_resolve_times(b);
	return 0;
}

void accounting_find_running(struct accounting *b)
{
	char path[64], host[65] = "";

	(void)gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < b->process_count; i++) {
		struct process *p = &b->processes[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;

		if (p->merged || p->status >= 0 || p->reaped ||
		    strcmp(b->hosts[p->host].name, host) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", process_pid(p));
		if (fs_read(AT_FDCWD, path, 4096, &text) < 0 ||
		    !clock_parse_stat(text.buf, text.len, &st) || st.last < STAT_STARTTIME)
			continue;
		p->running =
			st.f[STAT_STATE] != 'Z' && st.f[STAT_STATE] != 'X' &&
			(!p->starttime_us || st.f[STAT_STARTTIME] * PL_TICK_US == p->starttime_us);
	}
}
