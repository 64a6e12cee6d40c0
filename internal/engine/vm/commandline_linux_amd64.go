package vm

// commandLine is the command line of the guest's kernel. It disables the kernel's own tests at boot, which take an
// emulated CPU seconds, and randomised addresses.
const commandLine = "console=ttyS0 quiet panic=-1 nokaslr norandmaps cryptomgr.notests lsm=capability ima=off apparmor=0 " +
	"mitigations=off transparent_hugepage=never audit=0"
