package table

// shape describes the statistics of generated tables. The figures are those of a full table of July 2010 with 323,485
// prefixes.
var shape = struct {
	prefixes   int
	lengths    [33]float64 // the share of prefixes by length
	specifics  float64     // the share of prefixes that lie in another one
	perLength  [33]float64 // the same by length; what is missing for the sum is made up by /24
	inherited  float64     // the share of those that have the origin of the one that they lie in
	perOrigin  float64     // prefixes of an origin
	paths      []float64   // the share of paths by length, from 1; prepended AS numbers count
	prepended  float64     // the share of paths that repeat their origin
	alternate  []float64   // the share of origins with 1, 2, ... paths
	incomplete float64     // the share of routes with the ORIGIN incomplete
	egp        float64
	fourBytes  float64 // the share of origins whose AS number needs four bytes
	topTen     float64 // the share that the ten largest origins have of the prefixes whose origin is drawn; 5.8 % of all then
}{
	prefixes: 323485,
	lengths: [33]float64{8: .00006, 9: .00003, 10: .00008, 11: .00021, 12: .00061, 13: .00126, 14: .00219, 15: .00397, 16: .0345, 17: .0165, 18: .0282,
		19: .0568, 20: .0705, 21: .0707, 22: .0924, 23: .0914, 24: .5206, 25: .0032, 26: .0041, 27: .0022, 28: .0004, 29: .0001},
	specifics: .510,
	perLength: [33]float64{11: .04, 12: .1, 13: .2, 14: .12, 15: .18, 16: .195, 17: .39, 18: .42, 19: .34, 20: .39, 21: .46, 22: .54, 23: .54, 24: .565,
		25: .98, 26: .99, 27: .99, 28: 1, 29: 1},
	inherited:  .66,
	perOrigin:  9.36,
	paths:      []float64{0, .0039, .0917, .4554, .2952, .0846, .0353, .0146, .0089, .0049, .0019, .0017, .0007, .0006, .0004},
	prepended:  .097,
	alternate:  []float64{.6, .27, .1, .03},
	incomplete: .080,
	egp:        .003,
	fourBytes:  .0115,
	topTen:     .0685,
}
