/*
 * Commands that sources run: their output, and those that hang, say too much or leave others
 * behind.
 */
#include "tree.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/system/spawn.h"
#include "sources/sysfile.h"

static int run_script(const char *script, const char *input, unsigned timeout_ms, size_t max,
		      struct strbuf *out)
{
	_cleanup_free_ char *path = xasprintf("%s/script", tree);
	const char *argv[] = {"script", "one", "two words", NULL};
	struct spawn c = {path, argv, input, timeout_ms, max};
	pid_t stuck = 0;

	program("script", script);
	int r = spawn_run(&c, &stuck, out);
	assert_int_equal(stuck, 0);
	return r;
}

static void commands_and_their_output(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t before = open_descriptors();

	(void)state;
	assert_int_equal(setenv("LD_BIND_NOW", "1", 1), 0);
	assert_int_equal(run_script("#!/bin/sh\nread a\necho \"$a/$#/$2\"\necho bad >&2\nexit 3\n",
				    "input\n", 60000, 100, &out),
			 3);
	assert_text(&out, "input/2/two words\nbad\n");
	strbuf_reset(&out);
	/* nothing of our environment, our descriptors, our signals */
	signal(SIGTERM, SIG_IGN);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup3(fd, 200, O_CLOEXEC), 200);
	assert_int_equal(run_script("#!/bin/sh\necho \"$LD_BIND_NOW/$LC_ALL\"\ncat\n"
				    "[ -e /proc/self/fd/200 ] || echo closed\nkill -TERM $$\n",
				    NULL, 60000, 100, &out),
			 -EINTR);
	close(200);
	close(fd);
	signal(SIGTERM, SIG_DFL);
	unsetenv("LD_BIND_NOW");
	assert_text(&out, "/C\nclosed\n");
	strbuf_reset(&out);
	assert_int_equal(run_script("#!/no/such/interpreter\n", NULL, 60000, 100, &out), -ENOENT);
	assert_int_equal(open_descriptors(), before);
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* Waits for a process that was killed and belongs to nobody here any more. */
static void wait_for_end(pid_t pid)
{
	for (int i = 0; i < 1000 && is_alive(pid); i++)
		usleep(10000);
}

static pid_t pid_in(const char *name)
{
	char text[64];
	int64_t pid;

	assert_true(sys_text(text, sizeof(text), "%s/%s", tree, name) > 0);
	assert_int_equal(parse_i64(text, &pid), 0);
	return (pid_t)pid;
}

static void commands_that_hang_are_ended_with_all_they_started(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ char *script = xasprintf("#!/bin/sh\necho early\nsleep 1000 &\n"
						"echo $! >%s/child\ntrap '' TERM HUP\nwait\n"
						"sleep 1000\n",
						tree);

	(void)state;
	assert_int_equal(run_script(script, NULL, 500, 100, &out), -ETIMEDOUT);
	assert_text(&out, "early\n");
	pid_t child = pid_in("child");
	wait_for_end(child);
	assert_false(is_alive(child));

	/* one that ends while another holds its output is over */
	_cleanup_free_ char *leaves = xasprintf("#!/bin/sh\nsleep 1000 &\necho $! >%s/child\n"
						"echo said\n",
						tree);
	strbuf_reset(&out);
	assert_int_equal(run_script(leaves, NULL, 60000, 100, &out), 0);
	assert_text(&out, "said\n");
	child = pid_in("child");
	wait_for_end(child);
	assert_false(is_alive(child));
}

static void commands_that_say_too_much_are_ended(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)state;
	assert_int_equal(run_script("#!/bin/sh\nyes\n", NULL, 60000, 10000, &out), -EFBIG);
	assert_true(out.len <= 10000);
}

static void one_that_hangs_in_the_kernel_is_not_joined_by_another(void **state)
{
	const char *argv[] = {"true", NULL};
	struct spawn c = {"/bin/true", argv, NULL, 60000, 100};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	pid_t stuck = child;
	assert_int_equal(spawn_run(&c, &stuck, &out), -EBUSY);
	assert_int_equal(stuck, child);
	spawn_explain(&c, -EBUSY, &out, &why);
	assert_text(&why, "'/bin/true' still hangs");
	assert_int_equal(kill(child, SIGKILL), 0);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(spawn_run(&c, &stuck, &out), 0);
	assert_int_equal(stuck, 0);
	assert_int_equal(waitpid(child, NULL, WNOHANG), -1); /* taken */
}

static void commands_are_found_below_a_root(void **state)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	_cleanup_free_ char *want = xasprintf("%s/usr/sbin/thing", tree);
	_cleanup_free_ char *env = xstrdup(getenv("PATH"));
	_cleanup_free_ char *bin = xasprintf("relative::%s/bin:/usr/bin", tree);

	(void)state;
	assert_false(spawn_find(tree, "thing", &path));
	put("usr/bin/thing", "no program\n");
	assert_false(spawn_find(tree, "thing", &path));
	program("usr/sbin/thing", "#!/bin/sh\n");
	program("bin/thing", "#!/bin/sh\n");
	assert_true(spawn_find(tree, "thing", &path));
	assert_string_equal(path.buf, want);
	assert_int_equal(setenv("PATH", bin, 1), 0);
	assert_true(spawn_find("", "thing", &path));
	assert_true(str_suffix(path.buf, "/bin/thing"));
	assert_int_equal(setenv("PATH", env, 1), 0);
	assert_false(spawn_find("", "thing", &path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(commands_and_their_output),
		with_tree(commands_that_hang_are_ended_with_all_they_started),
		with_tree(commands_that_say_too_much_are_ended),
		with_tree(one_that_hangs_in_the_kernel_is_not_joined_by_another),
		with_tree(commands_are_found_below_a_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
