//go:build !(linux && amd64)

package online

import (
	"context"

	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
)

func birdHandlers(*config.Node) ([]string, error) { return nil, daemon.ErrSystem }

func exploreBIRD(context.Context, *Task, *config.Budget, *Pace) (*Explored, error) {
	return nil, daemon.ErrSystem
}
