package prometheus

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// sample is a number at a time, in milliseconds since 1970.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

type series struct {
	labels  labels.Labels
	samples []chunks.Sample // in the order of their times
}

// memory has the series of one run. It is what queries are evaluated on.
type memory struct {
	byName map[string][]*series
	byKey  map[string]*series
	list   []*series
}

func newMemory() *memory {
	return &memory{byName: map[string][]*series{}, byKey: map[string]*series{}}
}

func (m *memory) add(l labels.Labels, t int64, v float64) *series {
	key := string(l.Bytes(nil))
	s := m.byKey[key]
	if s == nil {
		s = &series{labels: l}
		name := l.Get(labels.MetricName)
		m.byKey[key] = s
		m.byName[name] = append(m.byName[name], s)
		m.list = append(m.list, s)
	}
	if n := len(s.samples); n > 0 && s.samples[n-1].T() >= t { // a series has one sample at a time: the first
		return s
	}
	s.samples = append(s.samples, sample{t, v})
	return s
}

// end marks a series as gone, as a server of Prometheus does when a scrape no longer has it.
func (s *series) end(t int64) {
	if n := len(s.samples); n > 0 && s.samples[n-1].T() < t {
		s.samples = append(s.samples, sample{t, math.Float64frombits(value.StaleNaN)})
	}
}

// Querier implements storage.Queryable.
func (m *memory) Querier(from, to int64) (storage.Querier, error) {
	return &querier{memory: m, from: from, to: to}, nil
}

type querier struct {
	memory   *memory
	from, to int64
}

func (q *querier) Select(_ context.Context, sorted bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	among := q.memory.list
	if name := metricOf(matchers); name != "" {
		among = q.memory.byName[name]
	}
	set := &set{at: -1}
	for _, s := range among {
		if !matches(s.labels, matchers) {
			continue
		}
		first := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].T() >= q.from })
		end := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].T() > q.to })
		if first < end {
			set.list = append(set.list, storage.NewListSeries(s.labels, s.samples[first:end]))
		}
	}
	if sorted {
		slices.SortFunc(set.list, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	}
	return set
}

func (q *querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (q *querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (q *querier) Close() error { return nil }

type set struct {
	list []storage.Series
	at   int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *set) At() storage.Series                { return s.list[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// parse reads the text format of metrics, and gives each sample the labels of its target. A label of the program that the target has, too, is renamed,
// as with Prometheus' honor_labels: false.
func parse(text string, of labels.Labels, each func(l labels.Labels, v float64)) error {
	return samples(text, func(l labels.Labels, v float64) {
		b := labels.NewBuilder(l)
		of.Range(func(target labels.Label) {
			if theirs := l.Get(target.Name); theirs != "" {
				b.Set("exported_"+target.Name, theirs)
			}
			b.Set(target.Name, target.Value)
		})
		each(b.Labels(), v)
	})
}
