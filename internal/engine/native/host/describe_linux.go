//go:build linux && amd64

package host

import (
	"strings"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Describe names what a run depends on and the engine cannot hide: the kernel's release and the CPU features that
// programs choose their code by.
func Describe() string {
	return "linux " + release() + " x86-64 " + strings.Join(processor(), ",")
}

// Features are the same, by the version of the kernel: its patches do not change what programs see.
func Features() []string {
	version := strings.SplitN(release(), ".", 3)
	return append([]string{"linux " + strings.Join(version[:min(len(version), 2)], ".")}, processor()...)
}

func release() string {
	var u unix.Utsname
	unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:])
}

func processor() (f []string) {
	for _, x := range []struct {
		on   bool
		name string
	}{{cpu.X86.HasSSE42, "sse4.2"}, {cpu.X86.HasAVX, "avx"}, {cpu.X86.HasAVX2, "avx2"}, {cpu.X86.HasBMI2, "bmi2"},
		{cpu.X86.HasERMS, "erms"}, {cpu.X86.HasAES, "aes"},
		{cpu.X86.HasAVX512F, "avx512f"}, {cpu.X86.HasAVX512VL, "avx512vl"}, {cpu.X86.HasRDRAND, "rdrand"}} {
		if x.on {
			f = append(f, x.name)
		}
	}
	return f
}
