package contract

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// bucket is a fake. Where it lies, its lists are in the order of numbers.
type bucket struct {
	objects map[string][]byte
	lying   bool
}

func fakeBucket(name string, lying bool) Place[Objects] {
	return Place[Objects]{Name: name, With: func(_ testing.TB, play func(Objects)) { play(bucket{map[string][]byte{}, lying}) }}
}

func (b bucket) Put(key string, body []byte) error {
	b.objects[key] = bytes.Clone(body)
	return nil
}

func (b bucket) Get(key string) ([]byte, bool, error) {
	body, found := b.objects[key]
	return body, found, nil
}

func (b bucket) Range(key string, from, to int64) ([]byte, error) {
	body := b.objects[key]
	return body[min(from, int64(len(body))):min(to, int64(len(body)))], nil
}

func (b bucket) Delete(key string) error {
	delete(b.objects, key)
	return nil
}

func (b bucket) List(prefix, after string, n int) (list []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if strings.HasPrefix(key, prefix) && key > after {
			list = append(list, key)
		}
	}
	if b.lying {
		slices.SortStableFunc(list, func(x, y string) int { return len(x) - len(y) })
	}
	return list[:min(n, len(list))], nil
}

func TestBuckets(t *testing.T) {
	r, err := Compare(t, "all", Buckets(), fakeBucket("fake", false), fakeBucket("lying", true))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(r.Broken, "\n"); !strings.Contains(text,
		`lying breaks "a list has the keys of a prefix, in order": the keys that begin with "b/" are ["b/1" "b/2" "b/10"]`) ||
		strings.Contains(text, "fake breaks") {
		t.Error(text)
	}
}

// The same suite holds on a server of S3 from the module proxy, which takes minutes to build.
func TestBucketsOnS3(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("builds a server of S3: set BLOODHOUND_SOAK=1")
	}
	c := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", ".")
	c.Dir = "testdata/s3"
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "versitygw keeps 7 clauses") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
