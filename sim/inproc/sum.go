package inproc

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"reflect"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// sum is the running hash of a trace, in two lanes. It distinguishes runs that differ by chance, not by malice.
type sum struct{ a, b uint64 }

func (s *sum) add(x uint64) {
	s.a = splitmix.Mix(s.a ^ x)
	s.b = splitmix.Mix(s.b + x*splitmix.Gamma + 1)
}

// event adds four numbers at once: odd factors keep them apart.
func (s *sum) event(a, b, c, d uint64) {
	s.add(a*0xbf58476d1ce4e5b9 + b*0x94d049bb133111eb + c*0xff51afd7ed558ccd + d*0xc4ceb9fe1a85ec53)
}

func (s *sum) String() string {
	var p [16]byte
	binary.BigEndian.PutUint64(p[:8], s.a)
	binary.BigEndian.PutUint64(p[8:], s.b)
	return hex.EncodeToString(p[:])
}

// hashText is FNV-1a, 64 bits, finished by splitmix.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return splitmix.Mix(h + uint64(len(s)))
}

func hashBytes(p []byte) uint64 {
	h := uint64(len(p)) + splitmix.Gamma
	for len(p) >= 8 {
		h = splitmix.Mix(h ^ binary.LittleEndian.Uint64(p))
		p = p[8:]
	}
	for _, c := range p {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return splitmix.Mix(h)
}

// Digester is a payload that computes its own digest. Other payloads are digested by walking through everything they
// hold, which is correct and takes about a microsecond.
type Digester interface {
	// Digest returns a number that is equal for equal payloads and, with high probability, different for different
	// ones. It must not depend on addresses or the order of maps.
	Digest() uint64
}

// intSalt distinguishes digests of numbers from digests of bytes.
const intSalt = 0xa0761d6478bd642f

// Bounds of the walk through a payload.
const (
	maxDigestDepth = 32
	maxDigestSteps = 100_000
)

// digestOf is the digest of a payload: of values alone, whatever their addresses and the order of maps.
func digestOf(payload any) uint64 {
	switch v := payload.(type) {
	case nil:
		return 0
	case Digester:
		return v.Digest()
	case string:
		return hashText(v)
	case []byte:
		return hashBytes(v)
	case int:
		return splitmix.Mix(uint64(v)+splitmix.Gamma) ^ intSalt
	}
	w := walk{}
	v := reflect.ValueOf(payload)
	return w.value(v, 0) ^ hashText(v.Type().String())
}

type walk struct{ steps int }

func (w *walk) value(v reflect.Value, depth int) uint64 {
	if w.steps++; depth > maxDigestDepth || w.steps > maxDigestSteps {
		return 1
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return 3
		}
		return 2
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return splitmix.Mix(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return splitmix.Mix(v.Uint())
	case reflect.Float32, reflect.Float64:
		return splitmix.Mix(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		c := v.Complex()
		return splitmix.Mix(math.Float64bits(real(c)) ^ splitmix.Mix(math.Float64bits(imag(c))))
	case reflect.String:
		return hashText(v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return hashBytes(v.Bytes())
		}
		return w.list(v, depth)
	case reflect.Array:
		return w.list(v, depth)
	case reflect.Struct:
		h := uint64(v.NumField())
		for i := range v.NumField() {
			h = splitmix.Mix(h*splitmix.Gamma + w.value(v.Field(i), depth+1))
		}
		return h
	case reflect.Map:
		h := splitmix.Mix(uint64(v.Len()))
		for i := v.MapRange(); i.Next(); { // a sum, which no order changes
			h += splitmix.Mix(w.value(i.Key(), depth+1) + splitmix.Gamma*w.value(i.Value(), depth+1))
		}
		return h
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 4
		}
		h := w.value(v.Elem(), depth+1)
		if v.Kind() == reflect.Interface {
			h ^= hashText(v.Elem().Type().String())
		}
		return splitmix.Mix(h + 5)
	}
	// Functions, channels and bare addresses have no value of their own.
	return 6
}

func (w *walk) list(v reflect.Value, depth int) uint64 {
	h := splitmix.Mix(uint64(v.Len()))
	for i := range v.Len() {
		h = splitmix.Mix(h*splitmix.Gamma + w.value(v.Index(i), depth+1))
	}
	return h
}
