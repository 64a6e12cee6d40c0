package check

import (
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Each row of world.CheckKinds has one way to judge, in the same order: histories.Methods for those that judge operations, and methods
// for the others.
func TestMethods(t *testing.T) {
	var ofOperations, ofRuns, methodsOfOperations, methodsOfRuns []world.CheckType
	for _, k := range world.CheckKinds {
		if k.Basis == world.ByOperations {
			ofOperations = append(ofOperations, k.Type)
		} else {
			ofRuns = append(ofRuns, k.Type)
		}
	}
	for i := range histories.Methods {
		m := &histories.Methods[i]
		if methodsOfOperations = append(methodsOfOperations, m.Of); m.Judge == nil || m.Near == nil {
			t.Errorf("%s: judges %v, measures %v", m.Of, m.Judge != nil, m.Near != nil)
		}
	}
	for i := range methods {
		if methodsOfRuns = append(methodsOfRuns, methods[i].of); methods[i].judge == nil {
			t.Errorf("%s judges no run", methods[i].of)
		}
	}
	if !slices.Equal(ofOperations, methodsOfOperations) {
		t.Errorf("histories are judged by %q, and types by operations are %q", methodsOfOperations, ofOperations)
	}
	if !slices.Equal(ofRuns, methodsOfRuns) {
		t.Errorf("runs are judged by %q, and the other types are %q", methodsOfRuns, ofRuns)
	}
}
