/* Addresses as they are shown, and what others say of them. */
#include "unit.h"

#include "core/text/secrets.h"

static void shows(const char *address, const char *want)
{
	_cleanup_free_ char *shown = secrets_shown(address);

	assert_string_equal(shown, want);
	_cleanup_free_ char *again = secrets_shown(shown);
	assert_string_equal(again, want);
}

static void passwords(void **state)
{
	(void)state;
	shows("postgresql://u:X@h:1/x", "postgresql://u:***@h:1/x");
	shows("POSTGRESQL://u:X@h/x", "POSTGRESQL://u:***@h/x");
	shows("mysql://u:X@h/x", "mysql://u:***@h/x");
	shows("redis://:X@h", "redis://:***@h");
	shows("postgresql://u:X/@h:1/x", "postgresql://u:***@h:1/x");
	shows("postgresql://u:X?a@h:1/x", "postgresql://u:***@h:1/x");
	shows("postgresql://u:X#a@h:1/x", "postgresql://u:***@h:1/x");
	shows("postgresql://u:a@X@h:1/x", "postgresql://u:***@h:1/x");
	shows("postgresql:u:X@h/x", "postgresql:***@h/x");
	shows("//u:X@h/x", "//u:***@h/x");
	shows("u:X@h:1", "u:***@h:1");
	shows("u:X://a@h:1", "u:***@h:1");
	shows("http://X@h:1/", "http://***@h:1/");
	shows("https://X/y@h:1/", "https://***@h:1/");
	shows("http://u:X@h:1,http://u:Y@h:2?cluster=c",
	      "http://u:***@h:1,http://u:***@h:2?cluster=c");
	/* the rest of the address was forgotten */
	shows("postgresql://u:X", "postgresql://u:***");
	shows("postgresql://u:X/y", "postgresql://u:***");
	shows("http://h:1,u:X", "http://h:1,u:***");
}

static void parameters(void **state)
{
	(void)state;
	shows("http://h:1/?X-ClickHouse-Key=X", "http://h:1/?X-ClickHouse-Key=***");
	shows("http://h:1/?user=u&password=X&database=d",
	      "http://h:1/?user=u&password=***&database=d");
	shows("postgresql:///x?password=X&Y&host=h", "postgresql:///x?password=***&host=h");
	shows("postgresql:///x?pass%77ord=X", "postgresql:///x?pass%77ord=***");
	shows("postgresql://h:1/x?password=X@Y", "postgresql://h:***");
	shows("host=h port=1 password=X", "host=h port=1 password=***");
	shows("host=h password = 'X Y\\' Z' port=1", "host=h password =***");
	shows("PASSWORD=X", "PASSWORD=***");
}

static void what_has_none(void **state)
{
	static const char *const plain[] = {
		"",
		"jobs.db",
		":memory:",
		"sqlite://",
		"sqlite://:memory:",
		"sqlite:////data/a:b@c/jobs.db",
		"/data/a:b@c/password=x/jobs.db",
		"./a:b@c",
		"me@site.db",
		"postgresql:///jobs",
		"postgresql://u@h/x",
		"postgresql://u@[::1]:5432,h2:5433/x?sslmode=require&connect_timeout=3",
		"postgresql://[::1]:5432,h2:5433/x",
		"http://h:9200/prefix?timeout=3s",
		"http://h:1,http://h:2?cluster=c&database=d",
		"tcp://*:5558",
		"tcp://127.0.0.1:*",
		"ipc:///run/a:b/c",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		shows(plain[i], plain[i]);
}

static void hides(const char *address, const char *said, const char *want)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addstr(&text, said);
	secrets_hide(&text, address);
	assert_string_equal(text.buf, want);
}

static void what_libraries_say(void **state)
{
	(void)state;
	hides("postgresql://u:hunter2/@h:1/x", "invalid integer value \"hunter2\" for \"port\"",
	      "invalid integer value \"***\" for \"port\"");
	hides("postgresql://u:hun%74er2@h", "role \"hunter2\" or hun%74er2", "role \"***\" or ***");
	hides("postgresql://u:12/hunter2@h", "u port 12: 127.0.0.1 hunter2",
	      "u port ***: 127.0.0.1 ***");
	hides("http://h?key=hunter2&x=y", "bad /?key=hunter2&x=y", "bad /?key=***&x=y");
	hides("http://u:***@h", "a *** b", "a *** b");
	hides("postgresql://u@h/x", "role \"u\"", "role \"u\"");
	hides("/a:b@c", "a b c", "a b c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passwords),
		cmocka_unit_test(parameters),
		cmocka_unit_test(what_has_none),
		cmocka_unit_test(what_libraries_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
