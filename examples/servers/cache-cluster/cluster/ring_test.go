package main

import (
	"fmt"
	"testing"
)

func TestRing(t *testing.T) {
	if newRing(nil).owner("k") != "" {
		t.Error("an empty ring has an owner")
	}
	all, two := newRing([]string{"a", "b", "c"}), newRing([]string{"a", "c"})
	owned := map[string]int{}
	for i := range 3000 {
		key := fmt.Sprint("k", i)
		was, is := all.owner(key), two.owner(key)
		owned[was]++
		if was != is && was != "b" {
			t.Fatalf("%s moves from %s to %s although b went", key, was, is)
		}
		if was == "b" && is == "b" {
			t.Fatalf("%s stays with b", key)
		}
	}
	for n, keys := range owned {
		if keys < 500 || keys > 1500 {
			t.Errorf("%s owns %d of 3000 keys", n, keys)
		}
	}
}
