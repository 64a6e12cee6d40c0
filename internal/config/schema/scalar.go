package schema

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
)

// sizeUnits are those of Docker, each a power of 1024.
const sizeUnits = "bkmgtp"

// ReadSize reads a number of bytes as Docker does: 64m, 1.5 GB, 1gib, 4096.
func ReadSize(s string) (int64, bool) {
	unit := strings.TrimLeft(s, "0123456789.")
	n, ok := finite(strings.TrimSuffix(s, unit))
	if !ok || n < 0 {
		return 0, false
	}
	power := 0
	if unit = strings.ToLower(strings.TrimSpace(unit)); unit != "" {
		power = strings.IndexByte(sizeUnits, unit[0])
		if rest := unit[1:]; power < 0 || rest != "" && (power == 0 || rest != "b" && rest != "ib") {
			return 0, false
		}
	}
	bytes := n * math.Pow(1024, float64(power))
	if bytes > math.MaxInt64/2 {
		return 0, false
	}
	return int64(bytes), true
}

// maxSeconds bounds every time in a configuration, about 31 years, so that sums stay far from overflow.
const maxSeconds = 1e9

// checkScalar reads a single value.
func (c *checker) checkScalar(n *source.Node, s *Shape, path string) {
	if usual, ok := s.Spellings[strings.TrimSpace(n.Text)]; ok {
		c.Note(n.Position, path, "accepted spelling: %s; the usual one is %s", strings.TrimSpace(n.Text), usual)
		n.Text = usual
	}
	v, err := s.read(n.Text)
	if err == nil {
		n.Value = v
		return
	}
	n.Bad = true
	c.Fail(n.Position, err.remedy, "%s: %s", path, err.message)
}

// misread is why a text is not a value of a shape.
type misread struct{ message, remedy string }

func (s *Shape) read(written string) (any, *misread) {
	wrong := &misread{fmt.Sprintf("%q is not %s", source.Shorten(written), s.String()), s.hint(written)}
	trimmed := strings.TrimSpace(written)
	switch s.Kind {
	case Text:
		return written, nil
	case Word:
		if !slices.Contains(s.Words, trimmed) && !s.Open {
			return nil, &misread{fmt.Sprintf("unknown value %q", source.Shorten(written)), suggest.Remedy(trimmed, s.Words)}
		}
		return trimmed, nil
	case Boolean:
		switch strings.ToLower(trimmed) {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
		return nil, wrong
	case Whole:
		v, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil || !s.inside(float64(v)) {
			return nil, wrong
		}
		return v, nil
	case Unsigned:
		v, err := strconv.ParseUint(trimmed, 10, 64)
		if err != nil {
			return nil, wrong
		}
		return v, nil
	case Number:
		v, ok := finite(trimmed)
		if !ok || !s.inside(v) {
			return nil, wrong
		}
		return v, nil
	case Rate:
		return readRate(trimmed, wrong)
	case Duration, Signed:
		v, ok := readDuration(trimmed)
		if !ok || s.Kind == Duration && (v < 0 || float64(v) < s.Min) {
			return nil, wrong
		}
		return v, nil
	case Millis, Seconds:
		unit := 1e6
		if s.Kind == Seconds {
			unit = 1e9
		}
		v, ok := finite(trimmed)
		if !ok || v < 0 || v*unit < s.Min || v*unit > maxSeconds*1e9 {
			return nil, wrong
		}
		return int64(math.Round(v * unit)), nil
	case Size:
		v, ok := ReadSize(trimmed)
		if !ok || !s.inside(float64(v)) {
			return nil, wrong
		}
		return v, nil
	case Date:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", time.DateOnly} {
			if t, err := time.Parse(layout, trimmed); err == nil && t.Year() >= 1970 && t.Year() < 2200 {
				return t.UnixNano(), nil
			}
		}
		return nil, wrong
	case Pattern:
		re, err := regexp.Compile(written)
		if err != nil {
			return nil, &misread{fmt.Sprintf("%q is not a regular expression: %v", source.Shorten(written), err),
				"use Go's syntax: https://pkg.go.dev/regexp/syntax"}
		}
		return re, nil
	}
	panic("config: a shape that is not a scalar's")
}

// hint is the remedy for a scalar that cannot be read.
func (s *Shape) hint(written string) string {
	_, plain := finite(strings.TrimSpace(written))
	switch {
	case s.Kind == Rate && strings.HasSuffix(strings.TrimSpace(written), "%"):
		return "write 0.05 for 5%"
	case s.Kind == Rate:
		return "write 0.05 for 5 in 100"
	case s.Kind == Size && s.Min > 0:
		return fmt.Sprintf("write a size of at least %dm: a number of bytes, or with a unit such as 512k, 64m or 1gb", int64(s.Min)>>20)
	case s.Kind == Size:
		return "write a number of bytes, or with a unit such as 512k, 64m or 1gb"
	case s.Kind == Duration && s.Min > 0 && plain:
		return "write a number with a unit, above 0, such as 30s, 500ms or 5m"
	case (s.Kind == Duration || s.Kind == Signed) && plain:
		return fmt.Sprintf("add a unit, as in %ss or %sms", strings.TrimSpace(written), strings.TrimSpace(written))
	case s.Kind == Duration && s.Min > 0:
		return "write a number with a unit, above 0 and below 31 years, such as 30s, 500ms or 5m"
	case s.Kind == Duration || s.Kind == Signed:
		return "write a number with a unit, such as 30s, 500ms or 5m"
	case s.Kind == Millis || s.Kind == Seconds:
		return "write a number without a unit, such as 500"
	}
	return "write " + s.String()
}

func (s *Shape) inside(v float64) bool { return v >= s.Min && (s.Max == 0 || v <= s.Max) }

func finite(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

func readRate(s string, wrong *misread) (any, *misread) {
	v, ok := finite(s)
	if !ok || v < 0 || v > 1 {
		return nil, wrong
	}
	ppm := uint64(math.Round(v * 1e6))
	if ppm == 0 && v > 0 {
		return nil, &misread{s + " is too small for a rate", "the smallest rate above 0 is 0.000001"}
	}
	return ppm, nil
}

func readDuration(s string) (int64, bool) {
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	return int64(d), err == nil && d.Abs() <= time.Duration(maxSeconds)*time.Second
}
