//go:build linux && amd64

package host

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// What was found in a file is found again from the user's caches, and whatever is there instead does no harm.
func TestFindingsAreKept(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	key, err := keyOf(int(self.Fd()))
	if err != nil || key.size < leastKept {
		t.Fatal(key, err)
	}
	find := func(changes bool) any {
		chances.files = nil
		found, err := chanceIn(int(self.Fd()), changes)
		if err != nil || len(found.Found) == 0 {
			t.Fatalf("%v, %v: a Go program asks cpuid", found, err)
		}
		return found
	}
	kept := func() []string {
		list, _ := filepath.Glob(filepath.Join(cache, "bloodhound", "instructions", "*"))
		return list
	}
	want := find(true)
	if list := kept(); len(list) > 0 {
		t.Errorf("of a file that changes %v is kept", list)
	}
	find(false)
	list := kept()
	if len(list) != 2 {
		t.Fatalf("%v is kept, not findings by stat and by digest", list)
	}
	for _, content := range []string{"", "nonsense"} {
		if got := find(false); !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		for _, path := range list {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := find(false); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	file, err := contents(int(self.Fd()), key.size)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []findingsKey{keptByStat(key), keptByDigest(file)} {
		for _, path := range kept() {
			os.Remove(path)
		}
		findings.write(place, &code.Findings{})
		chances.files = nil
		if found, err := chanceIn(int(self.Fd()), false); err != nil || len(found.Found) != 0 {
			t.Errorf("what is kept as %s is not read: %v, %v", place, found, err)
		}
	}
	chances.files = nil
	t.Setenv("XDG_CACHE_HOME", "/proc/none")
	if got := find(false); !reflect.DeepEqual(got, want) {
		t.Errorf("without a place: %v, want %v", got, want)
	}
}
