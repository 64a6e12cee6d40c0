package strictjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Spelled looks for keys that differ from the name of their field in capital letters, of a text that encoding/json has read into
// a value of the type of v: it takes "Calls" for "calls", and two keys for one. The structs of v have a tag at each field, and
// embed none.
func Spelled(text []byte, v any) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return spelled(value, reflect.TypeOf(v))
}

func spelled(value any, t reflect.Type) error {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		of := t
		if t.Kind() == reflect.Map {
			of = t.Elem()
		}
		for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if !strings.EqualFold(name, key) {
				continue
			}
			if name != key {
				return fmt.Errorf("the key %q is written %q", key, name)
			}
			of = t.Field(i).Type
		}
		if err := spelled(object[key], of); err != nil {
			return err
		}
	}
	return nil
}
