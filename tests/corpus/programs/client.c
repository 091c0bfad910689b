/*
 * client SECONDS HOST PORT | client SECONDS PATH: asks a server (server.py) one question after the
 * other, and waits for each answer, by TCP or by a Unix socket.
 */
#include "work.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

static int call(char **argv)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int by_tcp = *word_of(argv, 3) != '\0';
	int fd = socket(by_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0), rc;

	if (by_tcp) {
		in.sin_port = htons((uint16_t)atoi(argv[3]));
		if (inet_pton(AF_INET, argv[2], &in.sin_addr) != 1)
			errx(2, "%s is no address", argv[2]);
		rc = connect(fd, (struct sockaddr *)&in, sizeof(in));
	} else {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", word_of(argv, 2));
		rc = connect(fd, (struct sockaddr *)&un, sizeof(un));
	}
	if (rc != 0)
		err(1, "connect to %s", argv[2]);
	return fd;
}

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	int fd = call(argv);
	char answer[4096];

	while (now() < end) {
		if (write(fd, "question\n", 9) != 9 || read(fd, answer, sizeof(answer)) <= 0)
			err(1, "the server went away");
		compute(1);
	}
	return 0;
}
