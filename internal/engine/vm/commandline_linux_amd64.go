package vm

// commandLine is that of the guest's kernel: no tests of its own at boot, which take an emulated CPU seconds, and no places in memory that
// chance decides.
const commandLine = "console=ttyS0 quiet panic=-1 nokaslr norandmaps cryptomgr.notests lsm=capability ima=off apparmor=0 " +
	"mitigations=off transparent_hugepage=never audit=0"
