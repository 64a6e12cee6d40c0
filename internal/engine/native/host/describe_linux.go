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
	var u unix.Utsname
	unix.Uname(&u)
	var f []string
	for _, x := range []struct {
		on   bool
		name string
	}{{cpu.X86.HasSSE42, "sse4.2"}, {cpu.X86.HasAVX, "avx"}, {cpu.X86.HasAVX2, "avx2"}, {cpu.X86.HasBMI2, "bmi2"}, {cpu.X86.HasERMS, "erms"}, {cpu.X86.HasAES, "aes"},
		{cpu.X86.HasAVX512F, "avx512f"}, {cpu.X86.HasAVX512VL, "avx512vl"}, {cpu.X86.HasRDRAND, "rdrand"}} {
		if x.on {
			f = append(f, x.name)
		}
	}
	return "linux " + unix.ByteSliceToString(u.Release[:]) + " x86-64 " + strings.Join(f, ",")
}
