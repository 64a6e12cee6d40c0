package explore

import (
	"math"

	"github.com/bloodhound-dst/bloodhound/history"
)

// maxPoints bounds the points of a Curve, and maxBuckets those of a Load.
const (
	maxPoints  = 400
	maxBuckets = 96
	// maxBehaviours bounds the distinct behaviours that are counted.
	maxBehaviours = 1 << 20
)

// Point is how far a campaign had come after a run.
type Point struct {
	Run uint64 `json:"run"` // runs so far
	// Behaviours are distinct ones that runs have reached, if anybody asked for them, and Code blocks of programs that have run.
	Behaviours int `json:"behaviours,omitempty"`
	Code       int `json:"code,omitempty"`
	Failures   int `json:"failures,omitempty"` // distinct ones
}

// Curve is how a campaign went on, in at most so many points. The last one is of its end.
type Curve struct {
	Points []Point `json:"points,omitempty"`
	every  uint64  // a point once in so many runs
}

// add takes in where a campaign stands. Of a long one, points are left out evenly.
func (c *Curve) add(p Point) {
	c.every = max(c.every, 1)
	if n := len(c.Points); n > 1 && c.Points[n-1].Run%c.every != 0 {
		c.Points = c.Points[:n-1] // it was only the last one so far
	}
	c.Points = append(c.Points, p)
	if len(c.Points) <= maxPoints {
		return
	}
	c.every *= 2
	kept := c.Points[:0]
	for i, p := range c.Points {
		if i == 0 || i == len(c.Points)-1 || p.Run%c.every == 0 {
			kept = append(kept, p)
		}
	}
	c.Points = kept
}

// Load is how many operations clients made over virtual time, their results, and their latencies. Runs of different lengths
// can be added up.
type Load struct {
	BucketNs int64    `json:"bucket_ns"` // a power of two of milliseconds
	Buckets  []Bucket `json:"buckets,omitempty"`
	// Runs counts the runs that were added up.
	Runs uint64 `json:"runs"`
}

// Bucket are the operations that were invoked in a part of virtual time.
type Bucket struct {
	Ok   uint64 `json:"ok,omitempty"`
	Fail uint64 `json:"fail,omitempty"`
	Info uint64 `json:"info,omitempty"` // and those that never returned
	// Latency counts operations that were ok by their latency: of class i it is from 2^(i/4) microseconds on.
	Latency map[int]uint64 `json:"latency,omitempty"`
}

// classesPerOctave is how finely latencies are distinguished.
const classesPerOctave = 4

// loadOf counts the operations of a history; nil if it has none.
func loadOf(h []history.Event) *Load {
	if len(h) == 0 {
		return nil
	}
	ops, err := history.Pair(h)
	if err != nil || len(ops) == 0 {
		return nil
	}
	l := &Load{BucketNs: 1e6, Runs: 1}
	for i := range ops {
		l.coarsen(ops[i].CallTimeNs)
	}
	for i := range ops {
		op := &ops[i]
		at := int(max(op.CallTimeNs, 0) / l.BucketNs)
		for len(l.Buckets) <= at {
			l.Buckets = append(l.Buckets, Bucket{})
		}
		b := &l.Buckets[at]
		switch op.Type {
		case history.Ok:
			b.Ok++
			if b.Latency == nil {
				b.Latency = map[int]uint64{}
			}
			b.Latency[classOf(op.ReturnTimeNs-op.CallTimeNs)]++
		case history.Fail:
			b.Fail++
		default:
			b.Info++
		}
	}
	return l
}

func classOf(ns int64) int {
	return max(int(classesPerOctave*math.Log2(math.Max(float64(ns)/1e3, 1))), 0)
}

// coarsen makes buckets as wide as a time needs.
func (l *Load) coarsen(ns int64) {
	for ns/l.BucketNs >= maxBuckets {
		l.BucketNs *= 2
		for i := range l.Buckets {
			if i%2 == 0 {
				l.Buckets[i/2] = l.Buckets[i]
			} else {
				l.Buckets[i/2].add(&l.Buckets[i])
			}
		}
		l.Buckets = l.Buckets[:(len(l.Buckets)+1)/2]
	}
}

func (b *Bucket) add(o *Bucket) {
	b.Ok, b.Fail, b.Info = b.Ok+o.Ok, b.Fail+o.Fail, b.Info+o.Info
	sum := make(map[int]uint64, len(b.Latency)+len(o.Latency))
	for _, m := range []map[int]uint64{b.Latency, o.Latency} {
		for class, n := range m {
			sum[class] += n
		}
	}
	b.Latency = sum
}

// Add takes in the operations of another run.
func (l *Load) Add(o *Load) {
	if o == nil || o.BucketNs <= 0 {
		return
	}
	if l.BucketNs == 0 {
		l.BucketNs = o.BucketNs
	}
	for l.BucketNs < o.BucketNs {
		l.coarsen(l.BucketNs * maxBuckets)
	}
	l.Runs += o.Runs
	for i := range o.Buckets {
		at := int(int64(i) * o.BucketNs / l.BucketNs)
		for len(l.Buckets) <= at {
			l.Buckets = append(l.Buckets, Bucket{})
		}
		l.Buckets[at].add(&o.Buckets[i])
	}
}

// Quantile is the latency that a share of the operations of a bucket did not exceed, in nanoseconds; 0 if none was ok.
func (b *Bucket) Quantile(share float64) int64 {
	all, highest := uint64(0), 0
	for class, n := range b.Latency {
		all, highest = all+n, max(highest, class)
	}
	sum := uint64(0)
	for class := 0; class <= highest; class++ {
		if sum += b.Latency[class]; all > 0 && float64(sum) >= share*float64(all) {
			return int64(1e3 * math.Exp2(float64(class+1)/classesPerOctave))
		}
	}
	return 0
}
