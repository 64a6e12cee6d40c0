package vm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// kernelPackage depends on the newest of Debian's kernels for virtual machines.
const kernelPackage = "linux-image-cloud-amd64"

func pullDebian(report func(line string)) (string, error) {
	text, err := exec.Command("apt-cache", "depends", kernelPackage).Output()
	m := regexp.MustCompile(`Depends: (linux-image-(\S+))`).FindSubmatch(text)
	if err != nil || m == nil {
		return "", fmt.Errorf("apt-cache does not know the package %s; run `apt-get update`, and make sure that "+
			"sources.list includes Debian's main archive",
			kernelPackage)
	}
	name, version := string(m[1]), string(m[2])
	dir, err := KernelDir()
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, version)
	file := filepath.Join(target, "boot", "vmlinuz-"+version)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(dir, ".pull-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	report("downloads " + name)
	download := exec.Command("apt-get", "download", name)
	download.Dir = scratch
	if text, err := download.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get download %s: %w: %s", name, err, bytes.TrimSpace(text))
	}
	packages, err := filepath.Glob(filepath.Join(scratch, "*.deb"))
	if err != nil || len(packages) != 1 {
		return "", errors.New("apt-get download did not download a package")
	}
	unpacked := filepath.Join(scratch, version)
	if text, err := exec.Command("dpkg-deb", "-x", packages[0], unpacked).CombinedOutput(); err != nil {
		return "", fmt.Errorf("dpkg-deb -x: %w: %s", err, bytes.TrimSpace(text))
	}
	if err := os.Rename(unpacked, target); err != nil {
		return "", err
	}
	return file, nil
}
