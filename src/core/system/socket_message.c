/* All of a message over a socket; see socket_message.h. */
#include "core/system/socket_message.h"

#include <errno.h>
#include <sys/socket.h>

bool send_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

bool receive_all(int fd, void *data, size_t n)
{
	char *p = data;

	while (n) {
		ssize_t got = recv(fd, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}
