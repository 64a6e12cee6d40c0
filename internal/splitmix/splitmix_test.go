package splitmix

import "testing"

// The first numbers of the generator with state 0, as java.util.SplittableRandom and others have them.
func TestReferenceNumbers(t *testing.T) {
	state := uint64(0)
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		state += Gamma
		if got := Mix(state); got != want {
			t.Errorf("number %d is %#x, not %#x", i, got, want)
		}
	}
}
