package world

import "testing"

// Signals are written in all the ways that images and Compose files write them, and each name is read as its number.
func TestSignals(t *testing.T) {
	for text, want := range map[string]int{"SIGTERM": 15, "term": 15, "Int": 2, "SIGQUIT": 3, "1": 1, "15": 15, "64": 64, "SIGRTMIN+3": 37, "rtmin": 34,
		"SIGRTMAX-2": 62, "SIGRTMAX": 64, " sigusr1 ": 10,
		"": 0, "0": 0, "65": 0, "-1": 0, "SIGTREM": 0, "SIGRTMIN+31": 0, "SIGRTMIN-1": 0, "SIGRTMAX+1": 0, "SIGRTMIN3": 0, "SIGRTMIN+": 0} {
		if got := SignalNumber(text); got != want {
			t.Errorf("%q is signal %d, want %d", text, got, want)
		}
	}
	for n := 1; n <= 64; n++ {
		if name := SignalName(n); SignalNumber(name) != n {
			t.Errorf("signal %d is called %q, which is %d", n, name, SignalNumber(name))
		}
	}
	if name := SignalName(0); name != "SIGTERM" {
		t.Errorf("without a signal it is %s", name)
	}
}
