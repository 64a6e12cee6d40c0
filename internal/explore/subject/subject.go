// Package subject lets a program make a campaign of its own of a world inside its process, in place of the one that package sim makes.
// Programs for research (bench/contest) measure strategies by that.
package subject

import (
	"context"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/counters"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Subject is the world that campaigns are made of.
type Subject struct {
	Spec *world.Spec
	// Strategy makes a strategy by its name. Lines counts executed blocks; nil if the strategy does not learn from them.
	Strategy func(name string, seed uint64) (s search.Strategy, p search.Plan, lines *counters.Reader, err error)
	// Unguide has the following runs not followed in a model that only guides.
	Unguide func()
	// Reply makes a run and passes its outcome to look.
	Reply func(setup *explore.Setup, job *explore.Job, interrupt <-chan struct{}, look func(*check.Judged)) *explore.Reply
	// Try repeats a violation in smaller runs.
	Try func(signature string) shrink.Try
	// Story is the schedule of a run.
	Story func(*world.Spec, tape.Tape) (string, error)
}

// Campaign makes a campaign of a world.
type Campaign func(context.Context, *Subject) (*explore.Totals, error)

type campaignKey struct{}

// WithCampaign replaces the campaigns that run under a context.
func WithCampaign(ctx context.Context, c Campaign) context.Context {
	return context.WithValue(ctx, campaignKey{}, c)
}

// CampaignOf returns what WithCampaign has put into a context, or nil.
func CampaignOf(ctx context.Context) Campaign {
	c, _ := ctx.Value(campaignKey{}).(Campaign)
	return c
}
