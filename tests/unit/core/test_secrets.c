/* Masking: the whole of a command line, and any bytes. */
#include "unit.h"

#include "core/text/secrets.h"

static void masks(const char *line, const char *want)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	/* '|' between arguments */
	strbuf_addstr(&text, line);
	for (size_t i = 0; i < text.len; i++)
		if (text.buf[i] == '|')
			text.buf[i] = 0;
	secrets_mask_arguments(&text, 0, NULL);
	for (size_t i = 0; i < text.len; i++)
		if (!text.buf[i])
			text.buf[i] = '|';
	if (strcmp(text.buf, want) != 0)
		fail_msg("%s\nbecame %s\nwant   %s", line, text.buf, want);
}

static void shell_lines(void **state)
{
	(void)state;
	masks("bash|-c|prog --password X1; PASSWORD=\"X 2\" prog",
	      "bash|-c|prog --password ***; PASSWORD=\"***\" prog");
	masks("sh|-c|mysql -pX; cd /a && curl -u me:X h",
	      "sh|-c|mysql -p***; cd /a && curl -u me:*** h");
	masks("sh|-c|echo `mysql -pX` $(mysql -pX)", "sh|-c|echo `mysql -p***` $(mysql -p***)");
	masks("sh|-c|sh -c 'sh -c \"mysql -pX db\"'", "sh|-c|sh -c 'sh -c \"mysql -p*** db\"'");
	masks("sh|-c|a --password $X --token '$Y z'", "sh|-c|a --password $X --token '$Y z'");
	masks("ssh|h|mysql -pX", "ssh|h|mysql -p***");
	masks("sh|-c|x -p 8080; make -p 4", "sh|-c|x -p 8080; make -p 4");
	masks("npm|config|set|//r.host/:_authToken|X", "npm|config|set|//r.host/:_authToken|***");
	masks("npm|config|set|_authToken|X", "npm|config|set|_authToken|***");
	masks("sh|-c|npm config set //r/:_authToken X; ls d",
	      "sh|-c|npm config set //r/:_authToken ***; ls d");
	masks("npm|config|set|//r.host/:registry|x", "npm|config|set|//r.host/:registry|x");
	masks("python3|-c|import os; os.environ[\"API_TOKEN\"]=\"X\"",
	      "python3|-c|import os; os.environ[\"API_TOKEN\"]=\"***\"");
	masks("sh|-c|htpasswd -b f u X; ls f", "sh|-c|htpasswd -b f u ***; ls f");
}

static void tags(void **state)
{
	static const char *const rows[][2] = {
		{"password:X;op:a", "password:***;op:a"},
		{"op:a; token : X", "op:a; token :***"},
		{"op", "op"},
		{"", ""},
		{";;a:b:c;", ";;a:b:c;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addstr(&text, rows[i][0]);
		secrets_mask_tags(&text);
		assert_string_equal(text.buf, rows[i][1]);
	}
}

static void texts(void **state)
{
	static const char *const rows[][2] = {
		/* letters only */
		{"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", "***"},
		{"see 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 there", "see *** there"},
		{"hf_this_is_the_name_of_something_long", "hf_this_is_the_name_of_something_long"},
		{"npm_config_that_has_a_very_long_name_too",
		 "npm_config_that_has_a_very_long_name_too"},
		{"sk-learn-Some-Words-With-Capitals-In-Them",
		 "sk-learn-Some-Words-With-Capitals-In-Them"},
		/* option and value apart */
		{"--password X", "--password ***"},
		{"mysql --password X -h db", "mysql --password *** -h db"},
		{"--password 'X y' z", "--password '***' z"},
		{"--password -h db", "--password -h db"},
		{"--password $X", "--password $X"},
		{"--password-file x", "--password-file x"},
		{"--verbose x", "--verbose x"},
		{"--password ", "--password "},
		/* a token alone in front of a host of the web; elsewhere it is a name */
		{"https://X@host/r.git", "https://***@host/r.git"},
		{"git clone HTTP://X@host:80/ d", "git clone HTTP://***@host:80/ d"},
		{"https://me:X@host/", "https://me:***@host/"},
		{"https://host/a@b", "https://host/a@b"},
		{"ssh://git@host/r.git", "ssh://git@host/r.git"},
		/* npm's keys, and those of a program's environment */
		{"//r.host/:_authToken=X", "//r.host/:_authToken=***"},
		{"os.environ[\"API_TOKEN\"]=\"X y\"; go()",
		 "os.environ[\"API_TOKEN\"]=\"***\"; go()"},
		{"ENV['API_TOKEN'] = 'X'", "ENV['API_TOKEN'] = '***'"},
		{"if os.environ['API_TOKEN'] == 'X':", "if os.environ['API_TOKEN'] == 'X':"},
		{"os.environ['HOME']='/x'", "os.environ['HOME']='/x'"},
		/* lists */
		{"{\"password\": [\"X\", \"Y\"], \"n\": [1]}", "{\"password\": [***], \"n\": [1]}"},
		{"{\"password\": [\"X", "{\"password\": [***"},
		{"{\"password\": [", "{\"password\": ["},
		/* names */
		{"KEY=X y", "KEY=*** y"},
		{"MASTERKEY=X", "MASTERKEY=***"},
		{"KEYS=x", "KEYS=x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addstr(&text, rows[i][0]);
		secrets_mask_text(&text);
		assert_string_equal(text.buf, rows[i][1]);
	}
}

/* Nothing is read beyond its end: for the sanitizers. */
static void any_bytes(void **state)
{
	static const char *const pieces[] = {"--password",  "=",       ":",
					     " ",           "\"",      "'",
					     "\\",          "//",      "@",
					     "mysql",       "-p",      "curl",
					     "-u",          "X1",      "Authorization",
					     "Bearer ",     "token",   "{",
					     "}",           ";",       "|",
					     "SG.",         "AKIA",    "thin:",
					     "sh",          "-c",      "hooks.slack.com/services/",
					     "12345678:AA", "eyJ",     "\xff",
					     "\n",          "sqlplus", "/",
					     "-b",          "htpasswd"};
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
		size_t n = random_next(&seed) % 14;

		for (size_t i = 0; i < n; i++) {
			strbuf_addstr(&line, pieces[random_next(&seed) % ARRAY_SIZE(pieces)]);
			if (random_next(&seed) % 3 == 0)
				strbuf_addch(&line, 0);
		}
		char *copy = exact_copy(line.buf, line.len);
		secrets_add_masked(&text, copy, line.len);
		free(copy);
		secrets_mask_arguments(&line, 0, NULL);
		secrets_mask_arguments(&line, 0, NULL);
		secrets_mask_tags(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shell_lines),
		cmocka_unit_test(tags),
		cmocka_unit_test(texts),
		cmocka_unit_test(any_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
