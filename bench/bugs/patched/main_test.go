package main

import "testing"

func TestAPieceIsReplacedOnlyWhereItIsMeant(t *testing.T) {
	got, err := replace("a := 1\nb := 1\n", "a := 1", "a := 2")
	if want := "a := 2\nb := 1\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for source, why := range map[string]string{"b := 1\n": "is missing", "a := 1\na := 1\n": "is there twice"} {
		if got, err := replace(source, "a := 1", "a := 2"); err == nil {
			t.Errorf("a text that %s was replaced: %q", why, got)
		}
	}
}
