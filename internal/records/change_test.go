package records

import "testing"

// What became of a failure from code a to code b, by what is known of it there, in one environment or in two.
func TestChanged(t *testing.T) {
	for _, test := range []struct {
		a, b, elsewhere string // results; the last one on b in another environment
		want            Change
	}{
		{Reproduced, Reproduced, "", UnchangedChange},
		{"", Reproduced, "", NewChange},
		{Clean, Reproduced, "", NewChange},
		{Diverged, Reproduced, "", NewChange},
		{Reproduced, Clean, "", FixedChange},
		{Reproduced, "", Clean, UnclearChange},
		{Reproduced, Clean, Reproduced, UnchangedChange},
		{Reproduced, Diverged, "", UnclearChange},
		{Reproduced, "", "", UnclearChange},
		{"", Clean, "", NoChange},
		{"", "", "", NoChange},
	} {
		f := &FailureView{}
		for place, result := range map[Place]string{{"a", "e"}: test.a, {"b", "e"}: test.b, {"b", "other"}: test.elsewhere, {"c", "e"}: Reproduced} {
			if result != "" {
				f.Replays = append(f.Replays, &Replay{Code: place.Code, Env: place.Env, Result: result})
			}
		}
		if got := f.Changed("a", "b"); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
