// Package splitmix spreads numbers over 64 bits: the generator SplitMix64 in its two parts (Steele, Lea and Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014).
package splitmix

// Gamma is the generator's step: 2^64 divided by the golden ratio, made odd.
const Gamma = 0x9e3779b97f4a7c15

// Mix is the generator's finaliser. It maps 0 to 0: what counts from 0 adds Gamma first.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
