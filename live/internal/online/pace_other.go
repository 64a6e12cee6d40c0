//go:build !linux

package online

import (
	"context"
	"errors"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/config"
)

// Pace keeps what exploring uses below a number of CPUs.
type Pace struct{}

// Lower is an error here.
func Lower(*config.Budget) (*Pace, error) {
	return nil, errors.New("live processes can be explored only on Linux")
}

func (*Pace) join(int) error               { return nil }
func (*Pace) checkpoint(int) time.Duration { return 0 }
func (*Pace) spent(time.Duration)          {}
func (*Pace) wait(context.Context, int)    {}
