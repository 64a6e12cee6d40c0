package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
)

// Switch makes the value of a flag that is there or not.
func Switch(on *bool) pflag.Value { return switchFlag{on} }

type switchFlag struct{ on *bool }

func (switchFlag) Type() string     { return "bool" }
func (v switchFlag) String() string { return strconv.FormatBool(v.on != nil && *v.on) }
func (v switchFlag) Set(text string) error {
	if text != "true" && text != "false" {
		return errors.New("this flag takes no value; =false turns it off")
	}
	*v.on = text == "true"
	return nil
}

// File makes the value of a flag that names a file.
func File(name *string) pflag.Value { return fileFlag{name} }

type fileFlag struct{ name *string }

func (v fileFlag) String() string { return Value(v.name) }
func (fileFlag) Type() string     { return "file" }
func (v fileFlag) Set(text string) error {
	if text == "" {
		return errors.New("give the name of a file")
	}
	*v.name = text
	return nil
}

// Files makes the value of a flag that names a file each time it is given.
func Files(names *[]string) pflag.Value { return filesFlag{names} }

type filesFlag struct{ names *[]string }

func (v filesFlag) String() string {
	if v.names == nil {
		return ""
	}
	return strings.Join(*v.names, " ")
}
func (filesFlag) Type() string { return "file" }
func (v filesFlag) Set(text string) error {
	var name string
	if err := (fileFlag{&name}).Set(text); err != nil {
		return err
	}
	*v.names = append(*v.names, name)
	return nil
}

// Number makes the value of a flag that takes a whole number within bounds; says is the remedy for anything else.
func Number(number *uint64, from, to uint64, says string) pflag.Value {
	return numberFlag{number, from, to, says}
}

type numberFlag struct {
	number   *uint64
	from, to uint64
	says     string
}

func (v numberFlag) Type() string { return "number" }
func (v numberFlag) String() string {
	if v.number == nil {
		return ""
	}
	return strconv.FormatUint(*v.number, 10)
}
func (v numberFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < v.from || n > v.to {
		return errors.New(v.says)
	}
	*v.number = n
	return nil
}

// Size makes the value of a flag that takes a number of bytes.
func Size(bytes **int64) pflag.Value { return sizeFlag{bytes} }

type sizeFlag struct{ bytes **int64 }

func (sizeFlag) Type() string { return "size" }
func (v sizeFlag) String() string {
	if v.bytes == nil || *v.bytes == nil {
		return ""
	}
	return strconv.FormatInt(**v.bytes, 10)
}
func (v sizeFlag) Set(text string) error {
	n, ok := schema.ReadSize(text)
	if !ok {
		return errors.New("give a size with its unit, such as 512m or 2g")
	}
	*v.bytes = &n
	return nil
}

// Word makes the value of a flag that takes one of some words; what names them in an error.
func Word(word *string, words []string, what string) pflag.Value { return wordFlag{word, words, what} }

type wordFlag struct {
	word  *string
	words []string
	what  string
}

func (v wordFlag) String() string { return Value(v.word) }
func (v wordFlag) Type() string   { return "word" }
func (v wordFlag) Set(text string) error {
	if !slices.Contains(v.words, text) {
		return fmt.Errorf("%s are %s", v.what, strings.Join(v.words, " and "))
	}
	*v.word = text
	return nil
}

// modeFlag is the value of a flag that names a preset of faults.
type modeFlag struct{ name *string }

func (v modeFlag) String() string { return Value(v.name) }
func (v modeFlag) Type() string   { return "word" }
func (v modeFlag) Set(text string) error {
	if !slices.Contains(config.FaultModes(), text) {
		return fmt.Errorf("unknown preset %q; presets are %s", text, strings.Join(config.FaultModes(), ", "))
	}
	*v.name = text
	return nil
}

// Strategy makes the value of a flag that names a strategy, with a guide perhaps.
func Strategy(name *string) pflag.Value { return strategyFlag{name} }

type strategyFlag struct{ name *string }

func (v strategyFlag) String() string { return Value(v.name) }
func (v strategyFlag) Type() string   { return "word" }
func (v strategyFlag) Set(text string) error {
	switch p, err := search.Parse(text); {
	case text == "" || err != nil && !search.Known(p.Strategy):
		return fmt.Errorf("strategies are %s; with --actor-mode, also %s for worlds with a schedule",
			strings.Join(search.Names, " and "), strings.Join(search.Scheduled(), " and "))
	case err != nil:
		return err
	}
	*v.name = text
	return nil
}

// Value returns the text of a flag, empty where it has none: the flags' package also asks a nil flag.
func Value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
