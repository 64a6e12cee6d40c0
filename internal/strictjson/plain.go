package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Plain gives an error of encoding/json without the names of Go's types: which field has what, and what it must be. Other errors come back as they are.
func Plain(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		field := "the value"
		if wrong.Field != "" {
			field = fmt.Sprintf("%q", wrong.Field)
		}
		return fmt.Errorf("%s is %s, and must be %s", field, is(wrong.Value), must(wrong.Type))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return errors.New("it ends within a value")
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field"):
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return err
}

// is names what a field has: an UnmarshalTypeError has "number" for what is no number of the field, and "number 1.5" for one that the field cannot have.
func is(value string) string {
	switch value {
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "object", "array":
		return "an " + value
	case "number":
		return "a number"
	}
	return strings.TrimPrefix(value, "number ")
}

func must(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return must(t.Elem())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 on, of %d bits", t.Bits())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	}
	return "another value"
}
