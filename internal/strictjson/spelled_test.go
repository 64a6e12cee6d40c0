package strictjson

import (
	"encoding/json"
	"testing"
)

func TestSpelled(t *testing.T) {
	type item struct {
		At int `json:"at,omitempty"`
	}
	var into struct {
		Items map[string]item `json:"items"`
		One   item            `json:"one"`
	}
	for text, want := range map[string]string{
		`{"items": {"At": {"at": 1}}, "one": {"at": 2}}`: "",
		`{"items": {"a": {"At": 1}}}`:                    `the key "At" is written "at"`,
		`{"one": {"at": 1, "AT": 2}}`:                    `the key "AT" is written "at"`,
		`{"Items": null}`:                                `the key "Items" is written "items"`,
	} {
		got := ""
		if err := json.Unmarshal([]byte(text), &into); err != nil {
			t.Fatal(err)
		}
		if err := Spelled([]byte(text), into); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}
