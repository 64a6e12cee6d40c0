package bv

import (
	"fmt"
	"math/rand"
	"syscall"
	"testing"
	"time"
)

// filterQueries are queries as a filter of routes gives them. The inputs are an address and a length; the address has no bit
// below the length, the route matches none of n entries (a /24 and what is more specific, up to some length), and it lies in one
// more range.
func filterQueries(b *Builder, r *rand.Rand, n, count int) (queries [][]*Expr) {
	ip, length := b.Input(0, 32, 0x0a000000), b.Input(1, 8, 8)
	k32 := func(v uint64) *Expr { return b.Const(v, 32) }
	k8 := func(v uint64) *Expr { return b.Const(v, 8) }
	prefix := []*Expr{
		b.Ule(length, k8(32)),
		b.Eq(b.And(ip, b.LShr(k32(0xffffffff), b.ZExt(length, 32))), k32(0)),
	}
	for range n {
		network := uint64(0x0a0000 + r.Intn(512))
		prefix = append(prefix, b.Not(b.And(b.And(
			b.Eq(b.And(ip, k32(0xffffff00)), k32(network<<8)),
			b.Ule(k8(24), length)), b.Ule(length, k8(uint64(24+r.Intn(9)))))))
	}
	for range count {
		low := uint64(0x0a000000 + r.Intn(512<<8))
		target := []*Expr{
			b.Ule(k32(low), ip), b.Ule(ip, k32(low+uint64(r.Intn(1<<12)))),
			b.Ule(k8(uint64(20+r.Intn(6))), length), b.Ule(length, k8(uint64(24+r.Intn(9)))),
		}
		queries = append(queries, append(prefix[:len(prefix):len(prefix)], target...))
	}
	return queries
}

// BenchmarkFilter measures queries of a filter of 12 and of 200 entries: by all steps and by SAT alone, with one solver for all
// queries and with a fresh one for each.
func BenchmarkFilter(bench *testing.B) {
	for _, n := range []int{12, 200} {
		for _, fresh := range []bool{false, true} {
			for _, alone := range []bool{false, true} {
				bench.Run(fmt.Sprintf("entries=%d/fresh=%v/sat-only=%v", n, fresh, alone), func(bench *testing.B) {
					var b Builder
					queries := filterQueries(&b, rand.New(rand.NewSource(21)), n, 2000)
					widths := []uint8{32, 8}
					var s *Solver
					counts := map[Result]int{}
					began := cpuTime(bench)
					for i := range bench.N {
						if s == nil || fresh {
							s = NewSolver(&b, widths)
							s.SATOnly = alone
						}
						_, result := s.Solve([]uint64{0x0a000000, 8}, queries[i%len(queries)], 20000)
						counts[result]++
					}
					bench.ReportMetric(float64(bench.N)/(cpuTime(bench)-began).Seconds(), "queries/cpu-s")
					bench.ReportMetric(float64(counts[Sat])/float64(bench.N), "sat")

					bench.ReportMetric(float64(counts[Unknown])/float64(bench.N), "unknown")
				})
			}
		}
	}
}

// BenchmarkBuild measures what a program records when it decodes an address from four bytes and compares its network with
// constants, one operation a constructor.
func BenchmarkBuild(bench *testing.B) {
	var b Builder
	began := cpuTime(bench)
	operations := 0
	for i := range bench.N {
		if i%1000 == 0 {
			b.Reset()
		}
		word := b.Const(0, 32)
		for n := range 4 {
			word = b.Or(b.Shl(word, b.Const(8, 32)), b.ZExt(b.Input(n, 8, uint64(n)), 32))
			operations += 3
		}
		masked := b.And(word, b.Const(0xffffff00, 32))
		b.Eq(masked, b.Const(uint64(i)<<8, 32))
		b.Ult(b.Add(word, b.Const(uint64(i), 32)), b.Const(0x0b000000, 32))
		operations += 4
	}
	bench.ReportMetric(float64((cpuTime(bench)-began).Nanoseconds())/float64(operations), "cpu-ns/operation")
}

// cpuTime is the time that this process has computed for, which other programs of the machine change little.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
