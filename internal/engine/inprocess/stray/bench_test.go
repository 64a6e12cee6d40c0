package stray

import "testing"

// BenchmarkMark is the cost for a run in which nothing is suspicious.
func BenchmarkMark(b *testing.B) {
	last := Now()
	for b.Loop() {
		now := Now()
		if last.Suspicious(now) {
			b.Log("a goroutine was started")
		}
		last = now
	}
}
