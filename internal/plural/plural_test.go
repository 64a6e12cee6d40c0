package plural

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 run": Count(1, "run"), "0 runs": Count(uint64(0), "run"), "2 properties": Count(2, "property"),
		"2 kinds of failure": Count(2, "kind of failure"), "1 further property": Count(1, "further property"),
		"3 delays": Count(int64(3), "delay"), "2 classes": Count(2, "class"), "2 branches": Count(2, "branch"),
		"was": Verb(1, "was", "were"), "were": Verb(0, "was", "were"),
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
