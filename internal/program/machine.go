package program

import (
	"os"
	"runtime"
	"strings"
)

// System names the operating system.
func System() string {
	text, _ := os.ReadFile("/etc/os-release")
	for _, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(name, `"'`)
		}
	}
	return runtime.GOOS
}

// Machine names the processor.
func Machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
