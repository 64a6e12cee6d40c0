package cli

import (
	"reflect"
	"testing"
)

func TestChangedLines(t *testing.T) {
	c := changes{"/repo", changedLines("/repo", `diff --git kv/server.go kv/server.go
--- kv/server.go
+++ kv/server.go
@@ -3 +3,2 @@ func a()
+x
@@ -10,2 +12 @@
@@ -30,4 +31,0 @@ gone
diff --git a name a name
--- /dev/null
+++ a name	
@@ -0,0 +1,3 @@
`)}
	want := map[string][][2]int{"/repo/kv/server.go": {{3, 5}, {12, 13}}, "/repo/a name": {{1, 4}}}
	if !reflect.DeepEqual(c.files, want) {
		t.Fatalf("%v, want %v", c.files, want)
	}
	for file, n := range map[string]int{"/repo/kv/server.go": 2, "/src/kv/server.go": 2, "example.com/x/kv/server.go": 2, "kv/server.go": 2, "/src/server.go": 0, "/repo/lv/server.go": 0, "skv/server.go": 0} {
		if got := c.lines(file); len(got) != n {
			t.Errorf("%s: %v", file, got)
		}
	}
}
