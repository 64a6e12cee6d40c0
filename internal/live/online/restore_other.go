//go:build !linux

package online

import (
	"context"
	"errors"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/live/attach"
)

type restored struct{ *attach.Attached }

// Close is for nothing here.
func (*restored) Close() error { return nil }

func restore(context.Context, *config.LiveNode, attach.Request) (*restored, error) {
	return nil, errors.New("live processes can be explored on Linux alone")
}
