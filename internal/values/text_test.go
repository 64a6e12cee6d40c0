package values

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTextsOfJSON: texts are spelt as encoding/json spells them.
func TestTextsOfJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "Z9", " ", `"`, `\`, "<", ">", "&", "\n", "\x00", "\x7f", "é", "\u2028", "\U0001f600", "\xff"}
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		want, err := json.Marshal(b.String())
		if got := AppendQuoted(nil, b.String()); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: %s, want %s", b.String(), got, want)
		}
	}
}
