/* A job in an archive, as submit reads it: tar, metadata, papiex's files and records, with
 * everything that is computed of them; nothing is stored. */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct import_options how = {0};
	struct config config = {0};
	struct import_result got;
	char path[64];

	int fd = memfd_create("job", MFD_CLOEXEC);
	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int r = import_submit(&config, NULL, path, &how, &got, &why);
	REQUIRE(r <= 0);
	/* without the module there is nothing to test, and nothing may pass for tested */
	REQUIRE(r != -ENOSYS);
	REQUIRE(r == 0 || why.len);
	REQUIRE(r < 0 || got.jobid);
	import_result_release(&got);
	close(fd);
	return 0;
}
