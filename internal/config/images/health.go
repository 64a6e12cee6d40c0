package images

import (
	"cmp"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// LeavesHealth reports whether a node leaves its healthcheck to an image that is not read, or that could not be had.
func LeavesHealth(l *load.State, d *load.Node) bool {
	own := d.Value.Get("healthcheck")
	hasImage := (d.Value.Has("image") || FromDockerfile(d.Value.Get("build"))) && !d.Value.Has("root")
	return hasImage && (l.Describe || d.Image == nil) && own.Get("test") == nil && !source.ValueOr(own.Get("disable"), false)
}

// Health is an image's own healthcheck, nil if it has none.
func Health(img *image.Image) *world.Healthcheck {
	c := img.Config.Config.Healthcheck
	if c == nil || HealthCommand(c.Test) == nil {
		return nil
	}
	return &world.Healthcheck{Command: HealthCommand(c.Test), IntervalNs: cmp.Or(int64(c.Interval), UsualHealth.IntervalNs),
		TimeoutNs: cmp.Or(int64(c.Timeout), UsualHealth.TimeoutNs), StartPeriodNs: int64(c.StartPeriod),
		StartIntervalNs: UsualHealth.StartIntervalNs, Retries: cmp.Or(c.Retries, UsualHealth.Retries)}
}

// UsualHealth holds Docker's defaults for the times and retries that a healthcheck leaves out.
var UsualHealth = world.Healthcheck{IntervalNs: 30e9, TimeoutNs: 30e9, StartIntervalNs: 5e9, Retries: 3}

// HealthCommand is the command of a healthcheck's test, nil if the test names none.
func HealthCommand(test []string) []string {
	switch {
	case len(test) >= 2 && test[0] == "CMD":
		return test[1:]
	case len(test) == 2 && test[0] == "CMD-SHELL":
		return []string{"/bin/sh", "-c", test[1]}
	}
	return nil
}
