// SPDX-License-Identifier: GPL-2.0
/*
 * init.c - PID 1 of the test VM. Runs the tests of /tests/list one after the
 * other, each in a cgroup of its own and under a time limit, counts their TAP
 * results, looks for what they leaked in the kernel, tells the host over a port
 * of its own, and powers off.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT_NAME	"org.hugetext.report"
#define TEST_LIST	"/tests/list"
#define TEST_CGROUP	"/sys/fs/cgroup/test"
#define DEFAULT_LIMIT	300		/* seconds per test */
#define DRAIN_LIMIT	5		/* seconds for output after a test's end */
#define KILL_LIMIT	20		/* seconds until a killed test must be gone */
#define MAX_ARGS	32
#define KSFT_SKIP	4
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
#define LEAK_AGE	6		/* seconds; younger memory is not called leaked */

/* Taints that mean the kernel has hurt itself: bad page, died, warned, soft lockup. */
#define BAD_TAINTS	(1ul << 5 | 1ul << 7 | 1ul << 9 | 1ul << 14)

struct counts {
	unsigned int planned;
	unsigned int passed;
	unsigned int failed;
	unsigned int skipped;
	bool plan_skipped;	/* "1..0 # SKIP": the whole test has no business here */
};

struct test {
	char *argv[MAX_ARGS + 1];
	unsigned int limit;
};

static const struct {
	const char *type, *where, *options;
} mounts[] = {
	{ "proc",	"/proc",		NULL },
	{ "sysfs",	"/sys",			NULL },
	{ "devtmpfs",	"/dev",			NULL },
	{ "devpts",	"/dev/pts",		"ptmxmode=0666" },
	{ "tmpfs",	"/dev/shm",		NULL },
	{ "tmpfs",	"/tmp",			NULL },
	{ "tmpfs",	"/run",			NULL },
	{ "debugfs",	"/sys/kernel/debug",	NULL },
	{ "tracefs",	"/sys/kernel/tracing",	NULL },
	{ "cgroup2",	"/sys/fs/cgroup",	NULL },
};

static int report_fd = STDOUT_FILENO;
static const char *running = "init";

static __attribute__((format(printf, 1, 2))) void report(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(report_fd, format, args);
	va_end(args);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

static void read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].where, 0755);
		/* EBUSY: the initramfs did it, or the kernel mounts it by itself. */
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, 0, mounts[i].options) &&
		    errno != EBUSY)
			fprintf(stderr, "init: cannot mount %s: %m\n", mounts[i].where);
	}
	chmod("/tmp", 01777);
	chmod("/dev/shm", 01777);
}

/* There is no udev here, so the port is found by the name it carries in sysfs. */
static void open_port(void)
{
	char path[300], name[64];
	struct dirent *entry;
	DIR *dir = opendir("/sys/class/virtio-ports");

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", entry->d_name);
		read_file(path, name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		if (strcmp(name, PORT_NAME))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		report_fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	if (report_fd < 0)
		report_fd = STDOUT_FILENO;
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		fprintf(stderr, "init: lo stays down: %m\n");
	close(fd);
}

static void set_environment(void)
{
	static char module[256];
	struct utsname name;

	uname(&name);
	snprintf(module, sizeof(module), "/lib/modules/%s/updates/hugetext.ko", name.release);
	setenv("HUGETEXT_MODULE", module, 1);
	setenv("PATH", "/ht/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/root", 1);
	setenv("TERM", "linux", 0);
	sethostname("hugetext", 8);
}

/* Taints stay; only those that came since the last call are news. */
static unsigned long new_taints(void)
{
	static unsigned long seen;
	unsigned long now, news;
	char text[32];

	read_file("/proc/sys/kernel/tainted", text, sizeof(text));
	now = strtoul(text, NULL, 10) & BAD_TAINTS;
	news = now & ~seen;
	seen = now;
	return news;
}

/* The kernel log shows which test a message belongs to. */
static void mark_log(const char *what, const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "<6>hugetext-vm: %s %s\n", what, name);
	write_file("/dev/kmsg", line);
}

static void count_line(struct counts *counts, const char *line)
{
	unsigned int last;

	if (!strncmp(line, "not ok", 6) && !isalnum((unsigned char)line[6])) {
		counts->failed++;
	} else if (!strncmp(line, "ok", 2) && !isalnum((unsigned char)line[2])) {
		if (strcasestr(line, "# skip"))
			counts->skipped++;
		else
			counts->passed++;
	} else if (sscanf(line, "1..%u", &last) == 1) {
		counts->planned += last;
		if (!last && strcasestr(line, "# skip"))
			counts->plan_skipped = true;
	}
}

/* Forwards whole lines and keeps the rest; false at the end of the output. */
static bool forward_output(int fd, struct counts *counts)
{
	static char buffer[8192];
	static size_t used;
	ssize_t n = read(fd, buffer + used, sizeof(buffer) - 1 - used);
	char *line = buffer, *end;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	used += n > 0 ? n : 0;
	/* A line that has no end, or is too long to wait for it, gets one. */
	if (used && (n <= 0 || used == sizeof(buffer) - 1) && !memchr(buffer, '\n', used))
		buffer[used < sizeof(buffer) - 1 ? used++ : used - 1] = '\n';
	while ((end = memchr(line, '\n', buffer + used - line))) {
		*end = '\0';
		count_line(counts, line);
		report("%s\n", line);
		line = end + 1;
	}
	used -= line - buffer;
	memmove(buffer, line, used);
	return n > 0;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void start_test(const struct test *test, int out)
{
	int null = open("/dev/null", O_RDONLY);

	setsid();
	write_file(TEST_CGROUP "/cgroup.procs", "0");
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (chdir("/tests"))
		fprintf(stderr, "# init: no /tests: %m\n");
	execv(test->argv[0], test->argv);
	fprintf(stderr, "# init: cannot run %s: %m\n", test->argv[0]);
	_exit(127);
}

/* Everything the test left behind goes; its memory and files must not reach the next one. */
static void kill_test(pid_t pid)
{
	kill(-pid, SIGKILL);
	write_file(TEST_CGROUP "/cgroup.kill", "1");
}

/* Forwards output until the test ends or its time is over; true if it ended by itself. */
static bool watch_test(int pidfd, int out, unsigned int limit, struct counts *counts)
{
	struct pollfd fds[2] = { { pidfd, POLLIN, 0 }, { out, POLLIN, 0 } };
	long left, deadline = now_ms() + limit * 1000L;

	while ((left = deadline - now_ms()) > 0) {
		if (poll(fds, 2, left) < 0 && errno != EINTR)
			break;
		if (fds[1].revents && !forward_output(out, counts))
			fds[1].fd = -1;
		if (fds[0].revents)
			return true;
	}
	return false;
}

static void drain_output(int out, struct counts *counts)
{
	struct pollfd fd = { out, POLLIN, 0 };
	long deadline = now_ms() + DRAIN_LIMIT * 1000L;

	while (deadline > now_ms() && poll(&fd, 1, deadline - now_ms()) > 0)
		if (!forward_output(out, counts))
			return;
}

/* What the results say, the exit status and the number of results must agree with. */
static void judge(struct counts *counts, int status, bool ended)
{
	unsigned int results = counts->passed + counts->failed + counts->skipped;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	char why[80];

	if (!ended) {
		snprintf(why, sizeof(why), "time limit");
	} else if (WIFSIGNALED(status)) {
		snprintf(why, sizeof(why), "killed by signal %d", WTERMSIG(status));
	} else if (!results && counts->plan_skipped) {
		counts->skipped++;
		return;
	} else if (!results) {
		snprintf(why, sizeof(why), "no result, exit status %d", code);
	} else if (counts->planned && results != counts->planned) {
		snprintf(why, sizeof(why), "%u results, planned %u", results, counts->planned);
	} else if (code && !counts->failed && !(code == KSFT_SKIP && counts->skipped)) {
		snprintf(why, sizeof(why), "exit status %d", code);
	} else {
		return;
	}
	report("not ok - %s: %s\n", running, why);
	counts->failed++;
}

static void wait_gone(pid_t pid, int pidfd, int *status)
{
	struct pollfd fd = { pidfd, POLLIN, 0 };

	if (poll(&fd, 1, KILL_LIMIT * 1000) > 0) {
		waitpid(pid, status, 0);
		return;
	}
	/* Not even SIGKILL helps: show where it hangs, for the tests after it may too. */
	report("# %s cannot be killed\n", running);
	write_file("/proc/sysrq-trigger", "w");
}

static void run_test(const struct test *test, struct counts *total)
{
	struct counts counts = { 0 };
	int out[2], pidfd, status = 0;
	bool ended;
	pid_t pid;

	running = test->argv[0];
	report("# test %s\n", running);
	mark_log("test", running);
	mkdir(TEST_CGROUP, 0755);
	pid = pipe2(out, O_CLOEXEC) ? -1 : fork();
	if (pid < 0) {
		report("not ok - %s: cannot start: %m\n", running);
		total->failed++;
		return;
	}
	if (!pid)
		start_test(test, out[1]);
	close(out[1]);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	ended = watch_test(pidfd, out[0], test->limit, &counts);
	if (!ended)
		write_file("/proc/sysrq-trigger", "w");
	kill_test(pid);
	wait_gone(pid, pidfd, &status);
	drain_output(out[0], &counts);
	close(out[0]);
	close(pidfd);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	judge(&counts, status, ended);
	if (new_taints()) {
		report("not ok - %s: kernel tainted\n", running);
		counts.failed++;
	}
	total->passed += counts.passed;
	total->failed += counts.failed;
	total->skipped += counts.skipped;
}

/* "[timeout=SECONDS] program [argument...]"; false for a line without a test. */
static bool parse_test(char *line, struct test *test)
{
	size_t n = 0;
	char *word, *rest = line;

	test->limit = DEFAULT_LIMIT;
	line[strcspn(line, "#\n")] = '\0';
	while ((word = strtok_r(rest, " \t", &rest)) && n < MAX_ARGS)
		if (n || sscanf(word, "timeout=%u", &test->limit) != 1)
			test->argv[n++] = word;
	test->argv[n] = NULL;
	return n > 0;
}

static void run_tests(struct counts *total)
{
	FILE *list = fopen(TEST_LIST, "re");
	struct test test;
	char *line = NULL;
	size_t size = 0;

	if (!list) {
		report("not ok - no %s\n", TEST_LIST);
		total->failed++;
		return;
	}
	while (getline(&line, &size, list) > 0)
		if (parse_test(line, &test))
			run_test(&test, total);
	free(line);
	fclose(list);
}

/*
 * Kernels with kmemleak look for memory that nothing points to any more. A scan
 * trusts no object whose contents changed since the scan before.
 */
static void check_leaks(struct counts *total)
{
	const char *trouble = NULL;
	char line[256];
	FILE *leaks;

	if (access(KMEMLEAK, F_OK))
		return;
	mark_log("scan", "kmemleak");
	if (!access("/sys/module/hugetext", F_OK))
		trouble = "the module is still loaded";
	for (int i = 0; i < 2; i++) {
		sleep(LEAK_AGE);
		if (!write_file(KMEMLEAK, "scan"))
			trouble = "it cannot scan";
	}
	leaks = fopen(KMEMLEAK, "re");
	while (leaks && fgets(line, sizeof(line), leaks)) {
		report("# %s", line);
		trouble = "memory leaked";
	}
	if (leaks)
		fclose(leaks);
	if (trouble) {
		report("not ok - kmemleak: %s\n", trouble);
		total->failed++;
	} else {
		report("ok - kmemleak: nothing leaked\n");
		total->passed++;
	}
}

/* What we were started with is the initramfs's console; a shell wants a terminal. */
static void open_terminal(void)
{
	char path[64] = "/dev/", *name = path + strlen(path);
	int fd;

	read_file("/sys/class/tty/console/active", name, sizeof(path) - strlen(path));
	name[strcspn(name, "\n ")] = '\0';
	setsid();
	fd = open(path, O_RDWR);
	if (fd < 0)
		return;
	ioctl(fd, TIOCSCTTY, 1);
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
}

static void run_shell(void)
{
	pid_t pid = fork();

	if (!pid) {
		open_terminal();
		if (chdir("/tests"))
			fprintf(stderr, "init: no /tests: %m\n");
		execl("/bin/bash", "bash", "-i", NULL);
		fprintf(stderr, "init: no shell: %m\n");
		_exit(127);
	}
	/* Orphans end up here too; only the shell's end counts. */
	while (wait(NULL) != pid)
		;
}

int main(void)
{
	struct counts total = { 0 };
	struct utsname name;
	char cmdline[4096];

	mount_all();
	set_environment();
	loopback_up();
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory +cpu +pids");
	read_file("/proc/cmdline", cmdline, sizeof(cmdline));
	if (strstr(cmdline, "hugetext_vm.shell")) {
		run_shell();
	} else {
		open_port();
		uname(&name);
		report("# kernel %s\n", name.release);
		run_tests(&total);
		check_leaks(&total);
		report("# report: %u passed, %u failed, %u skipped\n",
		       total.passed, total.failed, total.skipped);
	}
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
