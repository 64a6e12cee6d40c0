//go:build !(linux && amd64)

package online

import (
	"context"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/live/daemon"
)

func birdHandlers(*config.LiveNode) ([]string, error) { return nil, daemon.ErrSystem }

func exploreBIRD(context.Context, *Task, *config.LiveBudget, *Pace) (*Explored, error) {
	return nil, daemon.ErrSystem
}
