// A root directory of a process' own: what paths, links, .. and names mean below it, who has it, and who may set it.
#include "compat.h"
#include <sys/socket.h>
#include <sys/un.h>

static void put(const char *path, const char *text) {
	int fd = MUST(open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

static void get(const char *path) {
	char text[64] = "";
	int fd = open(path, O_RDONLY);
	if (fd < 0) {
		say("%s: %s", path, errno_name(errno));
		return;
	}
	if (read(fd, text, sizeof text - 1) < 0) say("%s: read: %s", path, errno_name(errno));
	else say("%s: %s", path, text);
	close(fd);
}

// tree makes jail/ with a folder, files and links in it, and a file outside.
static void tree(void) {
	mkdir("jail", 0755), mkdir("jail/d", 0755), mkdir("jailer", 0755);
	put("name", "outside"), put("jail/name", "inside"), put("jail/d/name", "below");
	symlink("/name", "jail/absolute"), symlink("../../name", "jail/up"), symlink("d/name", "jail/relative");
	symlink("/d/../../../name", "jail/over"), symlink("/", "jail/slash");
}

static void where(const char *what) {
	char here[4096];
	long n = syscall(SYS_getcwd, here, sizeof here);
	if (n < 0) say("%s: %s", what, errno_name(errno));
	else if (!strncmp(here, "(unreachable)", 13)) say("%s: (unreachable)", what);
	else say("%s: %s", what, here);
}

static int privileged(void) {
	if (geteuid() == 0) return 1;
	say("skip: only root may change its root directory");
	return 0;
}

static void paths(void) {
	if (!privileged()) return;
	tree();
	IN_CHILD("in jail") {
		CALL(chroot("jail"), "chroot");
		where("before chdir");
		get("name"), get("/name"), get("/d/name"), get("/../name"), get("/../../d/../name"), get("/d/../../name");
		CALL(chdir("/"), "chdir");
		where("at the root");
		get("name"), get("../name"), get("absolute"), get("up"), get("relative"), get("over"), get("slash/name"), get("/slash/slash/d/name");
		CALL(chdir("d"), "chdir d");
		where("below");
		get("../../../name");
		CALL(mkdir("/made", 0700), "mkdir");
		CALL(rename("/name", "/made/name"), "rename");
		CALL(link("/d/name", "/made/link"), "link");
		CALL(unlink("/up"), "unlink");
		CALL(open("/proc/self/status", O_RDONLY), "/proc");
		CALL(access("/bin/sh", F_OK), "the machine's programs");
	}
	get("jail/made/name"), get("jail/made/link"), get("name");
	CALL(access("jail/up", F_OK), "what was removed");
}

static void refusals(void) {
	if (!privileged()) return;
	tree();
	mkdir("closed", 0000);
	IN_CHILD("refusals") {
		CALL(chroot("none"), "no such name");
		CALL(chroot("name"), "a file");
		CALL(chroot(""), "no path");
		CALL(chroot((char *)8), "a bad address");
		CALL(chroot("jail/slash"), "a link");
		IN_CHILD("a user") {
			unprivileged();
			CALL(chroot("/"), "a user: the root");
			CALL(chroot("/none"), "a user: no such name");
			CALL(chroot("/etc/passwd"), "a user: a file");
		}
	}
	IN_CHILD("rights that are given up inside") {
		CALL(chroot("jail"), "chroot");
		CALL(chdir("/"), "chdir");
		unprivileged();
		CALL(chroot("d"), "again, as a user");
		get("/name");
	}
}

static void inherited(void) {
	if (!privileged()) return;
	tree();
	IN_CHILD("a family") {
		CALL(chroot("jail"), "chroot");
		CALL(chdir("/"), "chdir");
		IN_CHILD("a child") {
			get("/d/name");
			CALL(chroot("d"), "deeper");
			get("/name"), get("/d/name");
		}
		get("/name");
	}
	get("name");
}

static void *deeper(void *arg) {
	CALL(chroot("jail"), "a thread");
	return arg;
}

static void threads(void) {
	if (!privileged()) return;
	tree();
	IN_CHILD("threads share it") {
		pthread_t t;
		MUST(-pthread_create(&t, NULL, deeper, NULL));
		pthread_join(t, NULL);
		get("/name");
	}
}

// What is open from before leads out, as it does on Linux: only a process without privilege is kept in.
static void descriptors(void) {
	if (!privileged()) return;
	tree();
	IN_CHILD("descriptors from before") {
		int out = MUST(open(".", O_RDONLY | O_DIRECTORY)), in = MUST(open("jail", O_RDONLY | O_DIRECTORY));
		MUST(chroot("jail"));
		MUST(chdir("/"));
		int fd = openat(out, "name", O_RDONLY);
		IS(fd >= 0, "a file outside");
		fd = openat(in, "../name", O_RDONLY);
		char text[16] = "";
		MUST(read(fd, text, sizeof text - 1));
		say("above the root, from the root: %s", text);
		CALL(fchdir(out), "fchdir");
		where("outside");
		get("name"), get("../name"), get("/name");
	}
}

static void nested(void) {
	if (!privileged()) return;
	tree();
	IN_CHILD("nested") {
		MUST(chroot("jail"));
		MUST(chdir("/"));
		CALL(chroot("/d"), "into d");
		where("still above");
		get("name"), get("/name"), get("../name");
		CALL(chroot(".."), "and out by the working directory");
		get("/name");
	}
}

static void links(void) {
	if (!privileged()) return;
	tree();
	put("jail/d/only", "one name");
	char path[4096], text[4096];
	int ask[2], tell[2];
	MUST(pipe(ask)), MUST(pipe(tell));
	pid_t child = MUST(fork());
	if (child == 0) {
		int fd = MUST(open("jail/d/only", O_RDONLY));
		dup2(fd, 70);
		if (chroot("jail") || chdir("/d")) _exit(1);
		if (write(tell[1], "x", 1) != 1 || read(ask[0], text, 1) != 1) _exit(1);
		_exit(0);
	}
	MUST(read(tell[0], text, 1));
	char here[4096];
	MUST(getcwd(here, sizeof here) ? 0 : -1);
	const char *names[] = {"root", "cwd", "fd/70"};
	for (unsigned i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", child, names[i]);
		long n = MUST(readlink(path, text, sizeof text - 1));
		text[n] = 0;
		if (!strncmp(text, here, strlen(here))) say("%s: HERE%s", names[i], text + strlen(here));
		else say("%s: elsewhere", names[i]);
	}
	snprintf(path, sizeof path, "/proc/%d/root/name", child);
	int fd = open(path, O_RDONLY);
	memset(text, 0, 16);
	if (fd >= 0 && read(fd, text, 15) >= 0) say("by its root: %s", text);
	MUST(write(ask[1], "x", 1));
	reap(child, "child");
}

static void sockets(void) {
	if (!privileged()) return;
	tree();
	IN_CHILD("sockets") {
		struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "/d/socket"};
		MUST(chroot("jail"));
		int s = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
		CALL(bind(s, (void *)&a, sizeof a), "bind");
		CALL(listen(s, 1), "listen");
		CALL(connect(c, (void *)&a, sizeof a), "connect");
	}
	struct stat st;
	CALL(stat("jail/d/socket", &st), "where it lies");
	IS(S_ISSOCK(st.st_mode), "a socket");
	unlink("jail/d/socket");
}

static void programs(void) {
	if (!privileged()) return;
	tree();
	char self[4096];
	long n = MUST(readlink("/proc/self/exe", self, sizeof self - 1));
	self[n] = 0;
	put("jail/script", "#!/no/such/interpreter\n");
	MUST(chmod("jail/script", 0755));
	IN_CHILD("programs") {
		MUST(chroot("jail"));
		MUST(chdir("/"));
		char *argv[] = {"x", NULL};
		CALL(execv(self, argv), "one that is outside");
		CALL(execv("/script", argv), "one without its interpreter");
		CALL(execv("/name", argv), "no program");
	}
}

static void renamed(void) {
	if (!privileged()) return;
	tree();
	IN_CHILD("a root that moves") {
		int out = MUST(open(".", O_RDONLY | O_DIRECTORY));
		MUST(chroot("jail"));
		MUST(chdir("/"));
		CALL(renameat(out, "jail", out, "jailer"), "rename");
		get("/name"), get("/../name");
		where("inside");
		CALL(renameat(out, "jailer", out, "jail"), "and back");
	}
	mkdir("empty", 0755);
	IN_CHILD("a root that is removed") {
		int out = MUST(open(".", O_RDONLY | O_DIRECTORY));
		MUST(chroot("empty"));
		MUST(chdir("/"));
		CALL(unlinkat(out, "empty", AT_REMOVEDIR), "rmdir");
		CALL(mkdir("/d", 0755), "mkdir");
		CALL(access("/", F_OK), "access");
		CALL(access("/..", F_OK), "above");
	}
}

CASES(C(paths), C(refusals), C(inherited), C(threads), C(descriptors), C(nested), C(links), C(sockets), C(programs), C(renamed))
