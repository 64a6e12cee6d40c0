package stray

import "testing"

// BenchmarkMark is the cost for a run in which nothing is suspicious.
func BenchmarkMark(b *testing.B) {
	for b.Loop() {
		if Now().Suspicious() {
			b.Log("a goroutine was started")
		}
	}
}
