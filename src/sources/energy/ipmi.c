/*
 * Power of the whole node as its management controller measures it: by DCMI "Get Power Reading"
 * over /dev/ipmi0, else by a command. A controller takes milliseconds to seconds, and sometimes
 * never answers: a slow source, and a command is killed after a time-out. A way that does not work
 * is not tried again; one that did not answer in time is.
 *
 * A controller measures about once a second. It decides which period its minimum, maximum and
 * average cover.
 */
#include "sources/energy/ipmi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/ipmi.h>

#include "core/clock.h"
#include "core/system/spawn.h"
#include "sources/columns.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define TIMEOUT_MS 10000u
#define DEVICE_TIMEOUT_MS 5000u
#define OUTPUT_MAX ((size_t)256 << 10)
#define MS 1000000ull

static const struct sample_metric columns[IPMI_POWERS] = {
	[IPMI_NOW] = GAUGE("power", WATTS, SUM, 0, "power of the node"),
	[IPMI_MINIMUM] =
		GAUGE("power_minimum", WATTS, NONE, 0, "minimum of the controller's statistics"),
	[IPMI_MAXIMUM] =
		GAUGE("power_maximum", WATTS, NONE, 0, "maximum of the controller's statistics"),
	[IPMI_AVERAGE] =
		GAUGE("power_average", WATTS, NONE, 0, "mean of the controller's statistics"),
};

/* The ways, best first. */
static const struct way {
	const char *name; /* of the program */
	const char *const argv[6];
	int (*parse)(const char *text, size_t size, struct ipmi_reading *ret);
} ways[] = {
	{"device", {NULL}, NULL},
	{"ipmi-dcmi", {"ipmi-dcmi", "--get-system-power-statistics", NULL}, ipmi_parse_text},
	{"ipmitool", {"ipmitool", "dcmi", "power", "reading", NULL}, ipmi_parse_text},
	{"ipmi-sensors",
	 {"ipmi-sensors", "--comma-separated-output", "--no-header-output",
	  "--ignore-not-available-sensors", NULL},
	 ipmi_parse_sensors},
	{"command", {NULL}, ipmi_parse_first}, /* of the option, with its arguments */
};
#define WAYS ARRAY_SIZE(ways)
#define DEVICE 0
#define COMMAND (WAYS - 1)
#define WORDS_MAX 32
#define FAILURES_MAX 3

struct ipmi {
	int fd;                  /* of the device; -1: none */
	char *programs[WAYS];    /* NULL: not there */
	unsigned failures[WAYS]; /* in a row */
	pid_t stuck;
	long msgid;
	char *words; /* of a command; argv points into it */
	const char *argv[WORDS_MAX + 1];
};

/* ---- finding a way ---- */

static int open_device(const char *root, struct strbuf *path)
{
	static const char *const names[] = {"/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"};
	int error = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		strbuf_reset(path);
		strbuf_addf(path, "%s%s", root, names[i]);
		int fd = open(path->buf, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno != ENOENT && errno != ENOTDIR)
			return -errno;
	}
	return error;
}

static bool is_way(const char *option)
{
	for (size_t i = 0; i < COMMAND; i++)
		if (!strcmp(option, ways[i].name))
			return true;
	return false;
}

/* "ipmi=PROGRAM ARGUMENT ...": a program of the site, which prints the power behind a colon. */
static int find_command(const struct source_context *ctx, struct ipmi *s, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	size_t count = 0;

	s->words = xstrdup(ctx->option);
	char *rest = s->words;
	for (char *word; (word = strsep(&rest, " ")) && count < WORDS_MAX;)
		if (*word)
			s->argv[count++] = word;
	if (count && strchr(s->argv[0], '/') && access(s->argv[0], X_OK) == 0)
		s->programs[COMMAND] = xstrdup(s->argv[0]);
	else if (count && !strchr(s->argv[0], '/') && spawn_find(ctx->root, s->argv[0], &path))
		s->programs[COMMAND] = xstrdup(path.buf);
	if (s->programs[COMMAND])
		return 0;
	return strbuf_fail(why, -ENOENT, "cannot find the program '%s'", count ? s->argv[0] : "");
}

/* Fills s with the ways that can be used: 0, or why there is none. */
static int find_ways(const struct source_context *ctx, struct ipmi *s, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT, programs = STRBUF_INIT;
	bool any = false;
	int device = -ENOENT;

	*s = (struct ipmi){.fd = -1};
	if (ctx->option && !is_way(ctx->option))
		return find_command(ctx, s, why);
	if (!ctx->option || !strcmp(ctx->option, ways[DEVICE].name)) {
		device = open_device(ctx->root, &path);
		s->fd = device >= 0 ? device : -1;
		if (device == -EACCES || device == -EPERM)
			return strbuf_fail(why, -EACCES, "cannot open '%s': %s", path.buf,
					   strerror(-device));
	}
	for (size_t i = DEVICE + 1; i < COMMAND; i++) {
		/* a recorded tree is data: its programs run only on request */
		if ((ctx->option || *ctx->root) &&
		    (!ctx->option || strcmp(ctx->option, ways[i].name) != 0))
			continue;
		if (!spawn_find(ctx->root, ways[i].name, &path))
			continue;
		s->programs[i] = xstrdup(path.buf);
		any = true;
	}
	if (any || s->fd >= 0)
		return 0;
	if (device != -ENOENT)
		strbuf_addf(why, "cannot open the management controller's device: %s",
			    strerror(-device));
	else if (*ctx->root && !ctx->option)
		strbuf_addf(why,
			    "no /dev/ipmi0 in '%s'; commands of a recorded tree run only when "
			    "named, such as ipmi=ipmitool",
			    ctx->root);
	else
		strbuf_addstr(why, "no /dev/ipmi0, and none of ipmi-dcmi, ipmitool, ipmi-sensors");
	return device == -ENOENT ? -ENOENT : device;
}

static void close_ipmi(void *state)
{
	struct ipmi *s = state;

	close_fd(&s->fd);
	for (size_t i = 0; i < WAYS; i++)
		free(s->programs[i]);
	free(s->words);
	free(s);
}

/* ---- the device ---- */

static int send_request(struct ipmi *s)
{
	/* group of DCMI, mode: statistics of the node, two reserved bytes */
	static const uint8_t body[] = {0xdc, 0x01, 0x00, 0x00};
	struct ipmi_system_interface_addr to = {.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
						.channel = IPMI_BMC_CHANNEL};
	struct ipmi_req req = {.addr = (unsigned char *)&to,
			       .addr_len = sizeof(to),
			       .msgid = ++s->msgid,
			       .msg = {.netfn = 0x2c, /* group extension */
				       .cmd = 0x02,   /* Get Power Reading */
				       .data_len = sizeof(body),
				       .data = (unsigned char *)(uintptr_t)body}};

	return ioctl(s->fd, IPMICTL_SEND_COMMAND, &req) < 0 ? -errno : 0;
}

/* The answer to our request: its size, or a negative errno. Late answers to earlier requests are
 * dropped. */
static ssize_t receive(struct ipmi *s, uint8_t *data, size_t size)
{
	uint64_t end = clock_boottime_ns() + DEVICE_TIMEOUT_MS * MS;

	for (;;) {
		uint64_t now = clock_boottime_ns();
		struct pollfd p = {.fd = s->fd, .events = POLLIN};

		if (now >= end)
			return -ETIMEDOUT;
		int n = poll(&p, 1, (int)((end - now) / MS) + 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		struct ipmi_addr from;
		struct ipmi_recv recv = {.addr = (unsigned char *)&from,
					 .addr_len = sizeof(from),
					 .msg = {.data = data, .data_len = (unsigned short)size}};
		if (ioctl(s->fd, IPMICTL_RECEIVE_MSG_TRUNC, &recv) < 0 && errno != EMSGSIZE) {
			if (errno != EAGAIN && errno != EINTR)
				return -errno;
			continue;
		}
		if (recv.recv_type == IPMI_RESPONSE_RECV_TYPE && recv.msgid == s->msgid)
			return recv.msg.data_len < size ? (ssize_t)recv.msg.data_len
							: (ssize_t)size;
	}
}

static int ask_device(struct ipmi *s, struct ipmi_reading *ret, struct strbuf *why)
{
	uint8_t data[IPMI_MAX_MSG_LENGTH];
	int r = send_request(s);
	ssize_t n = r < 0 ? r : receive(s, data, sizeof(data));

	r = n < 0 ? (int)n : ipmi_parse_dcmi(data, (size_t)n, ret);
	if (r == -ETIMEDOUT)
		strbuf_addf(why, "the management controller did not answer within %u s",
			    DEVICE_TIMEOUT_MS / 1000);
	else if (r == -EOPNOTSUPP)
		strbuf_addstr(why,
			      "the management controller does not support DCMI power readings");
	else if (r == -ENODATA)
		strbuf_addstr(why, "the management controller reports no power");
	else if (r < 0)
		strbuf_addf(why, "cannot query the management controller: %s", strerror(-r));
	return r;
}

/* ---- commands ---- */

static int ask_command(struct ipmi *s, size_t w, struct ipmi_reading *ret, struct strbuf *why)
{
	struct spawn c = {s->programs[w], w == COMMAND ? s->argv : ways[w].argv, NULL, TIMEOUT_MS,
			  OUTPUT_MAX};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	int r = spawn_run(&c, &s->stuck, &out);

	/* ipmi-sensors may complain of one sensor and have read the others */
	if (r >= 0 && ways[w].parse(out.buf, out.len, ret) == 0)
		return 0;
	if (r == 0)
		return strbuf_fail(why, -ENODATA, "'%s' prints no power", c.path);
	spawn_explain(&c, r, &out, why);
	return r < 0 ? r : -EIO;
}

/* ---- the source ---- */

static int open_ipmi(const struct source_context *ctx, struct sample_set *set, void **state,
		     struct strbuf *why)
{
	struct ipmi *s = xcalloc(1, sizeof(*s));
	int r = find_ways(ctx, s, why);

	(void)set;
	if (r < 0)
		close_ipmi(s);
	else
		*state = s;
	return r;
}

static bool may_try(const struct ipmi *s, size_t w)
{
	return s->failures[w] < FAILURES_MAX && (w == DEVICE ? s->fd >= 0 : s->programs[w] != NULL);
}

static void put_reading(const struct ipmi_reading *got, const char *by, struct sample_set *set)
{
	uint32_t e = sample_entity(set, ENTITY_NODE, "node");

	sample_set_metadata(set, e, "by", by);
	sample_row(set, e);
	for (unsigned i = 0; i < IPMI_POWERS; i++)
		if (got->present >> i & 1)
			sys_put(set, i, got->watts[i]);
		else
			sample_absent(set, i, "%s does not report it", by);
}

static int read_ipmi(void *state, struct sample_set *set)
{
	struct ipmi *s = state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = -ENODATA;

	for (size_t w = 0; w < WAYS; w++) {
		struct ipmi_reading got = {0};

		if (!may_try(s, w))
			continue;
		if (why.len)
			strbuf_addstr(&why, "; ");
		r = w == DEVICE ? ask_device(s, &got, &why) : ask_command(s, w, &got, &why);
		if (r == 0) {
			s->failures[w] = 0;
			put_reading(&got, ways[w].name, set);
			return 0;
		}
		/* a controller that did not answer in time does not answer another way either */
		if (r == -ETIMEDOUT || r == -EBUSY)
			break;
		s->failures[w] += r == -ENODATA || r == -EIO ? 1 : FAILURES_MAX;
	}
	if (why.len)
		sample_absent(set, SAMPLE_METRICS_MAX, "%s", why.buf);
	return r;
}

static void describe(void *state, struct strbuf *out)
{
	const struct ipmi *s = state;
	const char *between = "";

	strbuf_addstr(out, "measured by ");
	if (s->fd >= 0) {
		strbuf_addstr(out, "DCMI over the device");
		between = ", else ";
	}
	for (size_t i = 0; i < WAYS; i++)
		if (s->programs[i]) {
			strbuf_addf(out, "%s%s", between, s->programs[i]);
			between = ", else ";
		}
}

const struct source source_ipmi = {
	.name = "ipmi",
	.runs_option = true,
	.help = "power of the whole node as its management controller measures it",
	.describe = describe,
	.remedy = "sudo setfacl -m u:$USER:rw /dev/ipmi0",
	.metrics = columns,
	.metric_count = IPMI_POWERS,
	.every = 10,
	.slow = true,
	.open = open_ipmi,
	.read = read_ipmi,
	.close = close_ipmi,
};
