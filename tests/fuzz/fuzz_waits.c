/* What /proc says of sleeping threads and of sockets. */
#include "fuzz.h"

#include <string.h>

#include "sources/waits/waits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *what;
	struct wait_sockets sockets = {.diag = -1};
	struct wait_syscall call;

	if (wait_parse_syscall(text, size, &call)) {
		enum wait_call kind = wait_call_of(call.number, &what);

		REQUIRE((kind == CALL_NONE) == (what == NULL));
		REQUIRE(!call.running || call.number == -1);
	}
	enum wait_reason reason = wait_by_wchan(text, size, &what);
	REQUIRE((reason == WAIT_UNKNOWN) == (what == NULL));
	wait_sockets_parse_inet(&sockets, text, size, true);
	for (size_t i = 0; i < sockets.count; i++) {
		const struct wait_socket *s = &sockets.list[i];

		REQUIRE(s->inode && s->peer != s->inode);
		REQUIRE(s->place == SOCKET_REMOTE || s->place == SOCKET_LOCAL);
		REQUIRE(memchr(s->name, 0, sizeof(s->name)) && *s->name);
	}
	wait_sockets_release(&sockets);
	return 0;
}
