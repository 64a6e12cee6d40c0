package corpus

import "fmt"

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32
}

type meter int16

func clamp[T integer](v, low, high T) T {
	switch {
	case v < low:
		return low
	case v > high:
		return high
	case v == low+1 || v != high && v >= high-2:
		return v * 2
	}
	return v
}

func digits[T integer](v T) (n int) {
	for v != 0 {
		v /= 10
		n++
	}
	return n
}

func widen[T integer](v T) int64 { return int64(v) + 1 }

func narrow[T integer](v int32) T { return T(v) - 3 }

func before[T integer | ~string](a, b T) int {
	if a < b {
		return -1
	}
	if a == b {
		return 0
	}
	return 1
}

func parameters(a, b int32, c uint8, s []byte) string {
	return show(clamp(a, -5, 100), clamp(c, 3, 200), clamp(meter(b), 7, 9), digits(a), digits(c), widen(int8(b)), widen(c), widen(uint16(a)), narrow[uint8](a), narrow[int64](b),
		before(a, b), before(c, 9), before(string(s), "abc"), before("b", string(s)))
}

type header struct {
	kind  uint8
	size  uint32
	name  string
	ptr   *int32
	flags [3]bool
	extra any
}

func structsEqual(a, b int32, c uint8, s []byte) string {
	x := header{kind: c, size: uint32(a), name: string(s), flags: [3]bool{a > 0}}
	y := header{kind: 7, size: 9, name: "ab", flags: [3]bool{true}}
	z := x
	z.extra = "e"
	var small [4]byte
	if len(s) >= 4 {
		small = [4]byte(s)
	}
	pad := struct {
		a uint8
		b uint32
	}{c, uint32(b)}
	return show(x == y, x == z, z != y, small == [4]byte{'a', 'b', 'c', 'a'}, pad == struct {
		a uint8
		b uint32
	}{3, 4}, fmt.Sprint(small))
}

var space = [256]bool{' ': true, '\t': true, 'c': true}

func tables(a, b int32, c uint8, s []byte) string {
	weights := []int16{5, 5, 5, -7, 5, 900}
	weights[c%6]++
	p := &weights[uint32(a)%6]
	*p += 2
	n := 0
	for _, v := range s {
		if space[v] {
			n++
		}
	}
	mixed := [4]int32{a, 2, b, 2}
	return show(weights[uint32(b)%6], n, mixed[c&3], weights, space[c])
}
