package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Renamed decodes an object into a struct that has another name for one of its keys than earlier builds: former. field points to
// the value of that key in the struct.
func Renamed(text []byte, into any, former string, field any) error {
	if bytes.Contains(text, []byte(strconv.Quote(former))) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		if value, ok := object[former]; ok {
			if err := json.Unmarshal(value, field); err != nil {
				return err
			}
		}
	}
	return json.Unmarshal(text, into)
}
