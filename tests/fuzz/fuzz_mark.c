/* A mark file: its header, its slots, the regions that they make. Names are printable in the end.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/text/text.h"
#include "records/mark_log.h"

static void check_regions(const struct mark_log *l, const struct mark_regions *r)
{
	REQUIRE(r->count + r->too_deep <= l->count);
	for (size_t i = 0; i < r->count; i++) {
		const struct mark_region *v = &r->v[i];

		REQUIRE(v->name < l->name_count && v->depth < MARK_DEPTH_MAX);
		REQUIRE(v->end_ns == 0 || v->end_ns >= v->begin_ns);
		REQUIRE(v->cpu_ns >= -1);
		if (v->parent == MARK_NONE) {
			REQUIRE(v->depth == 0);
			continue;
		}
		REQUIRE(v->parent < i && r->v[v->parent].depth == v->depth - 1);
		REQUIRE(r->v[v->parent].tid == v->tid);
		REQUIRE(r->v[v->parent].begin_ns <= v->begin_ns);
	}
	for (size_t i = 0; i < l->name_count; i++) {
		const char *name = l->names[i];

		REQUIRE(utf8_valid(name, strlen(name)));
		for (; *name; name++)
			REQUIRE((unsigned char)*name >= 32 && *name != 127);
	}
}

/* A masked copy has the same marks. */
static void check_masked(int fd, const struct mark_log *l)
{
	struct mark_log again = {0};
	int to = memfd_create("masked", MFD_CLOEXEC);

	REQUIRE(to >= 0 && mark_file_mask(fd, to) == 0);
	off_t size = lseek(to, 0, SEEK_END);
	int e = mark_log_add(&again, to, 0, (uint64_t)size);
	if (size)
		REQUIRE(e == 0 && again.count == l->count && again.name_count <= l->name_count);
	else
		REQUIRE(l->count == 0);
	mark_log_release(&again);
	close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mark_log l = {0};
	struct mark_regions r = {0};
	struct mark_file f;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	int e = mark_log_add(&l, fd, 0, size);
	if (size >= sizeof(struct plimsoll_mark_header))
		REQUIRE((mark_file_parse(data, &f) == 0) == (e == 0));
	check_masked(fd, &l);
	/* the same file again: nothing may go wrong, as for a process with two */
	if (e == 0)
		REQUIRE(mark_log_add(&l, fd, 0, size) == 0);
	mark_log_regions(&l, &r);
	check_regions(&l, &r);
	mark_regions_release(&r);
	mark_log_release(&l);
	close(fd);
	return 0;
}
