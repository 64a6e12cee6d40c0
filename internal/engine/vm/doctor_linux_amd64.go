package vm

import (
	"fmt"
	"os/exec"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Doctor reports what this machine offers to the engine, and what to do about what is missing.
func (*Engine) Doctor() []engine.Check {
	qemu := engine.Check{Name: "QEMU", Required: true, Remedy: "install it (apt-get install qemu-system-x86), or " +
		"give its path with --qemu"}
	path, err := findQEMU()
	if err != nil {
		qemu.Detail = err.Error()
	} else {
		qemu.OK, qemu.Detail = true, path
	}
	img := engine.Check{Name: "qemu-img, for debug", Remedy: "install it (apt-get install qemu-utils)"}
	img.Detail, img.OK = findQEMUImg(path)
	mke2fs := engine.Check{Name: "mke2fs, for losses of power", Remedy: "install it (apt-get install e2fsprogs)"}
	mke2fs.Detail, mke2fs.OK = findMke2fs()
	guest := engine.Check{Name: "kernel of the virtual machine", Required: true,
		Remedy: "`bloodhound image pull-kernel` downloads Debian's; to use another, give its file with --kernel"}
	if k, err := findKernel(); err != nil {
		guest.Detail = err.Error()
	} else if _, err := k.load(); err != nil {
		guest.Detail = err.Error()
	} else {
		guest.OK, guest.Detail = true, k.file
	}
	return []engine.Check{qemu, guest, img, mke2fs}
}

// PullKernel has apt-get bring Debian's kernel for virtual machines of clouds into a folder of the user's, which the engine then takes. It
// returns the file.
func PullKernel(report func(line string)) (string, error) {
	for _, program := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("pulling a kernel needs Debian's programs, and %s is not installed here. "+
				"Download Debian's package linux-image-cloud-amd64 on another machine, unpack it, and give its "+
				"kernel with --kernel", program)
		}
	}
	return pullDebian(report)
}
