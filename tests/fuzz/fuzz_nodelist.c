/* Lists of hosts: the first byte says whether the rest is a bracket list or a node file. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "jobs/host_list.h"

/* A file of this process's own; a list is read by its name. */
static int read_as_file(struct host_list *l, const uint8_t *data, size_t size, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("/tmp/plimsoll-fuzz-nodes-%d", (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
	int r = host_list_read(l, path, why);
	(void)unlink(path);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_host_list_ struct host_list l = {0};

	if (!size)
		return 0;
	/* lists come from the environment: they end at the first NUL */
	_cleanup_free_ char *text = xstrndup((const char *)data + 1, size - 1);
	int r = data[0] == '1' ? read_as_file(&l, data + 1, size - 1, &why)
			       : host_list_parse(&l, text, &why);
	REQUIRE(r == 0 ? l.count > 0 && l.count <= HOST_LIST_MAX : l.count == 0 && why.len > 0);
	REQUIRE(r == 0 || r == -EINVAL || r == -E2BIG);
	for (size_t i = 0; i < l.count; i++)
		REQUIRE(host_list_name_valid(l.names[i], strlen(l.names[i])));
	if (l.count)
		REQUIRE(host_list_find(&l, l.names[l.count - 1]) >= 0);
	return 0;
}
