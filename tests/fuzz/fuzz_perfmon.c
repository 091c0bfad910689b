/*
 * One of perfmon's files, told by its first byte: as metadata and samples. What comes out is a
 * sound sample file, whatever went in.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compat/perfmon/perfmon_read.h"
#include "samples/sample_file.h"

static char directory[] = "/tmp/plimsoll-fuzz-XXXXXX";

static void remove_directory(void)
{
	(void)rmdir(directory);
}

static void check_samples(int fd)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	int r;

	REQUIRE(sample_file_open(&f, fd, &why) == 0);
	while ((r = sample_file_next(&f)) > 0)
		if (r == SAMPLE_READING)
			REQUIRE(f.reading.row_count > 0);
	REQUIRE(r == 0 && !f.damaged_places && !f.skipped_readings);
	sample_file_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"cpu_metrics.json", "perf_metrics.json",
					    "nv_gpu_metrics.json", "meta_data.json"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sampled_job found;
	static int made = -1;
	char *id = NULL;

	if (made < 0) {
		made = mkdtemp(directory) ? 0 : -1;
		REQUIRE(made == 0);
		(void)atexit(remove_directory);
	}
	if (!size)
		return 0;
	_cleanup_close_ int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name = names[data[0] % 4];
	int file = openat(top, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(file >= 0 && write(file, data + 1, size - 1) == (ssize_t)size - 1);
	close(file);
	_cleanup_close_ int dir = perfmon_open(directory, &id);
	REQUIRE(dir >= 0 && id);
	int out = memfd_create("fuzz", MFD_CLOEXEC);
	int r = perfmon_read(dir, id, out, &found, &why);
	if (r < 0) {
		REQUIRE(why.len > 0);
		close(out);
	} else {
		REQUIRE(value_get_str(found.meta, "jobid") || value_get(found.meta, "jobid"));
		sampled_job_release(&found);
		check_samples(out);
	}
	(void)unlinkat(top, name, 0);
	free(id);
	return 0;
}
