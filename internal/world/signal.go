package world

import (
	"slices"
	"strconv"
	"strings"
)

// SIGTERM stops a node that says nothing else.
const SIGTERM = "SIGTERM"

// Standard signals of Linux on x86-64, in the order of their numbers from 1 on (signal(7)).
var signals = strings.Fields("SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE " +
	"SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS")

// Real-time signals, as the C library counts them: it keeps the first two for itself.
const (
	rtMin = 34
	rtMax = 64
)

// SignalNames lists the standard signals.
func SignalNames() []string { return slices.Clone(signals) }

// SignalNumber reads a signal as container engines do: a number, or a name with or without SIG, in any case, also
// SIGRTMIN+3 and SIGRTMAX-1; 0 is none.
func SignalNumber(text string) int {
	name := strings.ToUpper(strings.TrimSpace(text))
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= rtMax {
			return n
		}
		return 0
	}
	name = "SIG" + strings.TrimPrefix(name, "SIG")
	if i := slices.Index(signals, name); i >= 0 {
		return i + 1
	}
	n := rtMin
	rest, ok := strings.CutPrefix(name, "SIGRTMIN")
	if !ok {
		n = rtMax
		if rest, ok = strings.CutPrefix(name, "SIGRTMAX"); !ok {
			return 0
		}
	}
	if rest != "" {
		offset, err := strconv.Atoi(rest)
		if err != nil || rest[0] != '+' && rest[0] != '-' {
			return 0
		}
		n += offset
	}
	if n < rtMin || n > rtMax {
		return 0
	}
	return n
}

// SignalName is the name of a signal, such as SIGINT or SIGRTMIN+3; SIGTERM for 0.
func SignalName(number int) string {
	switch {
	case number == 0:
		return SIGTERM
	case number <= len(signals):
		return signals[number-1]
	case number < rtMin: // those of the C library have no name
		return strconv.Itoa(number)
	case number == rtMin:
		return "SIGRTMIN"
	}
	return "SIGRTMIN+" + strconv.Itoa(number-rtMin)
}
