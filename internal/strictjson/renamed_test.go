package strictjson

import (
	"slices"
	"testing"
)

func TestRenamed(t *testing.T) {
	type record struct {
		Name  string `json:"name"`
		Marks []int  `json:"marks"`
	}
	for text, want := range map[string][]int{
		`{"name": "a", "marks": [1, 2]}`:                  {1, 2},
		`{"name": "a", "scores": [3]}`:                    {3},
		`{"name": "a", "scores": [3], "marks": [1]}`:      {1},
		`{"name": "a"}`:                                   nil,
		`{"name": "a", "of": {"scores": [3]}}`:            nil,
		`{"name": "a", "note": "\"scores\" is a string"}`: nil,
	} {
		var r record
		if err := Renamed([]byte(text), &r, "scores", &r.Marks); err != nil || r.Name != "a" || !slices.Equal(r.Marks, want) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{`{"scores": 3}`, `{"scores": [3]`, `{"name": 1}`} {
		var r record
		if err := Renamed([]byte(text), &r, "scores", &r.Marks); err == nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}
