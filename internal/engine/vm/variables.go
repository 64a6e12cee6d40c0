package vm

// Variables of the environment by which users choose what a virtual machine is made of. The flags of the command line set them, so
// that processes which it starts have them, too.
const (
	KernelVariable = "BLOODHOUND_VM_KERNEL" // the kernel: a file vmlinuz-VERSION
	InitrdVariable = "BLOODHOUND_VM_INITRD" // a further archive, unpacked before Bloodhound's own
	QEMUVariable   = "BLOODHOUND_VM_QEMU"   // the program qemu-system-x86_64
	RootVariable   = "BLOODHOUND_VM_BASE"   // the folder that nodes have for this machine's files
	// AsyncVariable is the socket at which a world that runs in real time takes orders. Where it is empty, worlds run in virtual time.
	AsyncVariable = "BLOODHOUND_VM_ASYNC"
)
