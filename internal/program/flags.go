package program

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// timeFlag is the value of a flag that takes a time above 0.
type timeFlag struct{ time *time.Duration }

// Time makes the value of a flag that takes a time above 0.
func Time(t *time.Duration) pflag.Value { return timeFlag{t} }

func (timeFlag) Type() string { return "time" }
func (v timeFlag) String() string {
	if v.time == nil || *v.time == 0 {
		return ""
	}
	return v.time.String()
}
func (v timeFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("give a time above 0 with its unit, such as 90s or 10m")
	}
	*v.time = d
	return nil
}
