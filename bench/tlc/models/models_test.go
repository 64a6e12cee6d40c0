package models

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
)

// folderVariable names the folder with TLC's own test models: test-model below tlatools/org.lamport.tlatools of github.com/tlaplus/tlaplus.
const folderVariable = "BLOODHOUND_TLC_MODELS"

// TestModels compares the answers for the models of a folder with those of TLC, which testdata/models.txt has: verdict, property,
// generated and distinct states.
//
//	go -C bench run ./tlc -jar tla2tools.jar:CommunityModules.jar -models FOLDER > bench/tlc/models/testdata/models.txt
func TestModels(t *testing.T) {
	rows, err := Read(filepath.Join("testdata", "models.txt"))
	if err != nil {
		t.Fatal(err)
	}
	folder := os.Getenv(folderVariable)
	if folder == "" {
		t.Skipf("set %s to a checkout's tlatools/org.lamport.tlatools/test-model of github.com/tlaplus/tlaplus", folderVariable)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		t.Fatal(err)
	}
	agree := 0
	for _, row := range rows {
		name := row.Config
		if row.NoDeadlock {
			name += ", no deadlock"
		}
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			is, err := digest(folder, row.Model)
			if err != nil {
				t.Fatal(err)
			}
			if is != row.Digest {
				t.Fatalf("the files of %s are not those that TLC was asked about: the digest is %s, not %s", row.Spec, is, row.Digest)
			}
			if row.Kind == Late {
				return // there is nothing to compare with
			}
			t.Chdir(t.TempDir()) // some write files
			got, why := Check(folder, row.Model, 2*row.Distinct+100_000)
			want := row.Answer
			if want.Kind == random.Endless {
				want = random.Answer{Kind: random.Failed}
			}
			reason := differs[name]
			switch same := random.Agree(got, want); {
			case same && reason != "":
				t.Errorf("the answers are the same, although %s", reason)
			case !same && reason == "":
				t.Errorf("%v, and TLC %v; %v", got, want, why)
			case same:
				agree++
			}
		})
	}
	t.Logf("%d models agree, and %d differ for a reason that is known", agree, len(differs))
}
