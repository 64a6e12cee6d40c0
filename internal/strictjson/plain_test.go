package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		`{"items": [{"reason": 3}]}`:          `"items.reason" is a number, and must be a text`,
		`{"items": [{"at": "1"}]}`:            `"items.at" is a text, and must be a whole number of 64 bits`,
		`{"items": [{"at": 1.5}]}`:            `"items.at" is 1.5, and must be a whole number of 64 bits`,
		`{"items": [{"of": {"name": true}}]}`: `"items.of.name" is true or false, and must be a text`,
		`{"items": [{"of": []}]}`:             `"items.of" is an array, and must be an object`,
		`{"items": [{"on": {}}]}`:             `"items.on" is an object, and must be true or false`,
		`{"items": [{"n": -1}]}`:              `"items.n" is -1, and must be a whole number from 0 on, of 64 bits`,
		`{"items": {}}`:                       `"items" is an object, and must be an array`,
		`[]`:                                  `the value is an array, and must be an object`,
		`{"items": [`:                         `it ends within a value`,
		`{"item": []}`:                        `unknown field "item"`,
		`{"items": [}`:                        `invalid character '}' looking for beginning of value`,
	} {
		var into struct {
			Items []struct {
				Reason string `json:"reason"`
				At     *int64 `json:"at"`
				On     bool   `json:"on"`
				N      uint64 `json:"n"`
				Of     struct {
					Name string `json:"name"`
				} `json:"of"`
			} `json:"items"`
		}
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields()
		if err := Plain(d.Decode(&into)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := errors.New("else"); Plain(err) != err || Plain(nil) != nil {
		t.Error("other errors change")
	}
}
