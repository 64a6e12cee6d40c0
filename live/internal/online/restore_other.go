//go:build !linux

package online

import (
	"context"
	"errors"

	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
)

type restored struct{ *attach.Attached }

// Close is for nothing here.
func (*restored) Close() error { return nil }

func restore(context.Context, *config.Node, attach.Request) (*restored, error) {
	return nil, errors.New("live processes can be explored only on Linux")
}
