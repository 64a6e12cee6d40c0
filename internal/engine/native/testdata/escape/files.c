/* Ways to files of the host beside those of the node, whose root is a folder of its own. */
#include "escape.h"
#include <dirent.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static char path[800];
static int reads(const char *p) { show_file(p); return access(p, R_OK) == 0 && strstr(p, "secret"); }
static int reads_below(const char *prefix) { snprintf(path, sizeof path, "%s%s", prefix, SECRET); return reads(path); }

static int by_name(void) { return reads(SECRET); }
static int above_root(void) { return reads_below("/../../../../../../..") | reads_below("/work/../../.."); }
static int by_symlink(void) { unlink("link"); return symlink(SECRET, "link") == 0 && reads("link"); }
static int by_symlink_above(void) { snprintf(path, sizeof path, "../../../../../..%s", SECRET); unlink("up"); symlink(path, "up"); show_file("up"); return 0; }
static int by_folder_link(void) { unlink("root"); symlink("/proc/1/root", "root"); show_file("root"); return reads_below("root"); }
static int by_hard_link(void) { return link(SECRET, "hard") == 0 && reads("hard"); }
static int by_proc_root(void) { return reads_below("/proc/self/root") | reads_below("/proc/1/root") | reads_below("/proc/self/cwd/../../..") | reads_below("/proc/thread-self/root"); }
static int by_every_process(void) { /* the engine's own descriptors, and those of all processes of the host */
	for (int pid = 1; pid < 40000; pid++) {
		if (pid == getpid() || pid == getppid()) continue;
		snprintf(path, sizeof path, "/proc/%d/root%s", pid, SECRET);
		show_file(path);
		for (int fd = 0; fd < 12; fd += 3) {
			snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
			int got = open(path, O_RDONLY | O_NONBLOCK);
			if (got >= 0) { printf("%s is open\n", path); return pid > 100; }
		}
		if (pid == 2000) pid = VICTIM - 20;
		if (pid == VICTIM + 20) break;
	}
	return 0;
}
static int by_handle(void) {
	struct { struct file_handle h; char b[128]; } h = {{128}};
	int mount;
	if (name_to_handle_at(AT_FDCWD, "/", &h.h, &mount, 0) == 0 && open_by_handle_at(AT_FDCWD, &h.h, O_RDONLY) >= 0) return 1;
	h.h.handle_bytes = 8, h.h.handle_type = 1;
	memcpy(h.h.f_handle, "\x02\0\0\0\0\0\0\0", 8); /* the root of many file systems */
	return open_by_handle_at(open("/", O_RDONLY), &h.h, O_RDONLY) >= 0;
}
static int by_openat2(void) { uint64_t how[3] = {O_RDONLY, 0, 0}; return syscall(437, AT_FDCWD, SECRET, how, sizeof how) >= 0; }
static int by_tree(void) { return syscall(428, AT_FDCWD, "/", 1) >= 0 || syscall(430, "ext4", 0) >= 0 || syscall(442, 0, "", 0, NULL, 0) == 0; }
static int by_mount(void) { return mount("/dev/vda", "/work", "ext4", 0, NULL) == 0 || mount("/", "/work", NULL, MS_BIND, NULL) == 0 || mount("proc", "/work", "proc", 0, NULL) == 0 || umount("/") == 0; }
static int by_chroot(void) { /* the old way out of a changed root */
	mkdir("jail", 0700);
	int up = open("/", O_RDONLY | O_DIRECTORY);
	if (chroot("jail") == 0) { fchdir(up); for (int i = 0; i < 64; i++) chdir(".."); chroot("."); }
	return reads(SECRET);
}
static int by_pivot(void) { mkdir("new", 0700); return syscall(SYS_pivot_root, "new", "new") == 0; }
static int by_device(void) {
	static const char *const devices[] = {"/dev/vda", "/dev/sda", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/loop-control", "/dev/net/tun", "/dev/mapper/control", "/dev/ptmx0"};
	for (int i = 0; i < 12; i++) if (open(devices[i], O_RDONLY) >= 0) { printf("%s\n", devices[i]); return 1; }
	mknod("disk", S_IFBLK | 0600, makedev(254, 0)), mknod("memory", S_IFCHR | 0600, makedev(1, 1));
	return open("disk", O_RDONLY) >= 0 || open("memory", O_RDONLY) >= 0;
}
static int executes_outside(void) {
	pid_t child = fork();
	if (child == 0) { execl("/bin/sh", "sh", "-c", "echo outside", NULL); execl("/usr/bin/env", "env", NULL); execl(SECRET, "secret", NULL); _exit(7); }
	int status;
	waitpid(child, &status, 0);
	return status != 7 << 8;
}
/* A program that names a file of the host as its interpreter, which the host's kernel would open. */
static int by_interpreter(void) {
	struct { unsigned char ident[16]; uint16_t type, machine; uint32_t version; uint64_t entry, phoff, shoff; uint32_t flags; uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx; } h =
		{{0x7f, 'E', 'L', 'F', 2, 1, 1}, 2, 62, 1, 0x400800, 64, 0, 0, 64, 56, 2, 64, 0, 0};
	struct { uint32_t type, flags; uint64_t offset, vaddr, paddr, filesz, memsz, align; } p[2] = {{3, 4, 1024, 0x400400, 0, 0, 0, 1}, {1, 7, 0, 0x400000, 0, 4096, 4096, 4096}};
	static const char *const names[] = {"/bin/sh", "/lib64/ld-linux-x86-64.so.2", "/proc/self/exe", "../../../../bin/sh"};
	for (int i = 0; i < 5; i++) {
		char file[4096] = {0};
		const char *name = i < 4 ? names[i] : SECRET;
		p[0].filesz = p[0].memsz = strlen(name) + 1;
		memcpy(file, &h, sizeof h), memcpy(file + sizeof h, p, sizeof p), strcpy(file + 1024, name);
		int fd = open("interpreted", O_RDWR | O_CREAT | O_TRUNC, 0700);
		if (write(fd, file, sizeof file) != sizeof file) return 0;
		close(fd);
		pid_t child = fork();
		if (child == 0) { execl("interpreted", "interpreted", "-c", "echo outside", NULL); _exit(7); }
		int status;
		waitpid(child, &status, 0);
		printf("interpreter %s: %x\n", i < 4 ? name : "secret", status);
		if (status == 0 && i != 2) return 1;
	}
	return 0;
}
static int by_script(void) {
	int fd = open("script", O_RDWR | O_CREAT, 0700);
	dprintf(fd, "#!%s\n", SECRET);
	close(fd);
	pid_t child = fork();
	if (child == 0) { execl("script", "script", NULL); _exit(7); }
	int status;
	waitpid(child, &status, 0);
	return status != 7 << 8;
}
static int writes_by_name(void) { return open(witness("by-name"), O_RDWR | O_CREAT, 0644) >= 0 || open(witness("kept"), O_RDWR | O_TRUNC) >= 0 || truncate(witness("kept"), 0) == 0; }
static int writes_names(void) { char kept[600]; strcpy(kept, witness("kept")); return unlink(kept) == 0 || rename(kept, witness("moved")) == 0 || mkdir(witness("folder"), 0700) == 0 || symlink("x", witness("link")) == 0 || chmod(kept, 0) == 0 || setxattr(kept, "user.x", "x", 1, 0) == 0; }
static int made_below(void) { /* the same names may well exist in the node: then they are its own */
	for (char *p = strcpy(path, WITNESS) + 1; *p; p++) if (*p == '/') { *p = 0; mkdir(path, 0755); *p = '/'; }
	mkdir(path, 0755);
	int fd = open(witness("kept"), O_RDWR | O_CREAT, 0644);
	printf("inside: %d\n", fd >= 0 && write(fd, "changed inside", 14) == 14);
	unlink(witness("kept"));
	return 0;
}
static int writes_own_base(void) { /* the node's own file is the host's underneath */
	int fd = open("/escape", O_RDWR);
	if (fd < 0) return 0; /* as on Linux: it is being executed */
	char b[4] = "hit";
	void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m != MAP_FAILED) memcpy(m, b, 3);
	pwrite(fd, b, 3, 0);
	return 0;
}
static int maps_base_shared(void) {
	int fd = open("/escape", O_RDONLY);
	void *m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	return m != MAP_FAILED && mprotect(m, 4096, PROT_READ | PROT_WRITE) == 0;
}
static int settings(void) {
	static const char *const names[] = {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger", "/proc/self/oom_score_adj", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/cgroup.procs", "/proc/self/uid_map", "/proc/self/clear_refs", "/proc/sys/vm/drop_caches"};
	for (int i = 0; i < 10; i++) { int fd = open(names[i], O_WRONLY); if (fd >= 0) { write(fd, "0", 1); printf("%s could be opened\n", names[i]); } }
	return open("/proc/sysrq-trigger", O_WRONLY) >= 0 || open("/sys/power/state", O_WRONLY) >= 0;
}
static int machine_files(void) { /* what says something about the host */
	static const char *const names[] = {"/etc/passwd", "/etc/shadow", "/etc/hostname", "/proc/cmdline", "/proc/mounts", "/proc/self/mountinfo", "/proc/self/cgroup", "/proc/kallsyms", "/proc/kcore", "/proc/iomem", "/proc/keys", "/proc/net/tcp", "/proc/net/unix", "/proc/self/maps", "/proc/self/environ", "/sys/class/net/eth0/address"};
	for (int i = 0; i < 16; i++) show_file(names[i]);
	return access("/etc/shadow", F_OK) == 0 || access("/proc/kcore", R_OK) == 0;
}
static int watches(void) { int fd = inotify_init(); return inotify_add_watch(fd, SECRET, IN_ALL_EVENTS) >= 0 || syscall(SYS_fanotify_init, 0, 0) >= 0; }
static int swaps(void) { return swapon("/dev/vda", 0) == 0 || syscall(SYS_quotactl, 0, NULL, 0, NULL) == 0 || syscall(SYS_acct, witness("acct")) == 0; }
static int by_io_uring(void) { char p[256] = {0}; return syscall(SYS_io_uring_setup, 4, p) >= 0 || syscall(SYS_io_setup, 4, p) == 0; }
static int by_splice(void) { int fd = open("/proc/self/mem", O_RDWR), p[2]; pipe(p); long at = 0x400000; return syscall(SYS_splice, fd, &at, p[1], NULL, 64, 0) > 0 && 0; }
static int many_descriptors(void) { /* numbers that the engine has open, which are not ours */
	for (int fd = 3; fd < 2000; fd++) { struct stat s; char b[16]; if (fstat(fd, &s) == 0 || read(fd, b, 1) > 0) { printf("descriptor %d\n", fd); return 1; } }
	return 0;
}

static int residency(void) { /* mincore fills its vector part by part, and fails at the first page that is not mapped */
	static unsigned char vector[8192];
	char *p = mmap(NULL, 32 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p + (24 << 20), 4096);
	memset(vector, 1, sizeof vector);
	mincore(p, 32 << 20, vector);
	return memchr(vector, 0, sizeof vector) != NULL;
}

PROBES({"by name", by_name}, {"above the root", above_root}, {"by a symlink", by_symlink}, {"by a symlink above the root", by_symlink_above}, {"by /proc in a symlink", by_folder_link},
	{"by a hard link", by_hard_link}, {"by /proc/PID/root", by_proc_root}, {"by descriptors of all processes", by_every_process}, {"by a handle", by_handle},
	{"by openat2", by_openat2}, {"by a tree of mounts", by_tree}, {"by a mount", by_mount}, {"by a changed root", by_chroot}, {"by a pivoted root", by_pivot},
	{"by a device", by_device}, {"executes outside", executes_outside}, {"by an interpreter", by_interpreter}, {"by a script", by_script}, {"writes by name", writes_by_name},
	{"changes names", writes_names}, {"writes inside where the host has a folder", made_below}, {"writes its own program", writes_own_base}, {"maps its own program", maps_base_shared},
	{"settings of the machine", settings}, {"files of the machine", machine_files}, {"watches folders", watches}, {"swaps", swaps}, {"io_uring and aio", by_io_uring},
	{"splices memory", by_splice}, {"descriptors of the engine", many_descriptors}, {"what is in memory", residency})
