package federation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const routesOfBIRD = `0001 BIRD 2.0.12 ready.
1007-Table master4:
 10.0.0.0/8           unreachable [a_in 10:25:22.180 from 127.0.0.2] * (100) [AS9i]
1008-	Type: BGP univ
1012-	BGP.origin: IGP
 	BGP.as_path: 65004 9
 	BGP.next_hop: 127.0.0.2
1007-                     unicast [c_in 2026-11-26 from 127.0.0.3] (100) [?]
 	via 192.0.2.1 on eth0
1008-	Type: BGP univ
1012-	BGP.origin: Incomplete
 	BGP.as_path: 65003 7 {8 5} 4 {1}
1007-16.0.1.0/24          blackhole [static1 10:25:22.125] * (200)
1008-	Type: static univ
0000 
`

func TestReadBIRD(t *testing.T) {
	var got []string
	err := readBIRD(strings.NewReader(routesOfBIRD), func(r birdRoute) bool {
		got = append(got, fmt.Sprintln(r.prefix, r.protocol, r.bgp, r.origin, r.path))
		return true
	})
	want := []string{"10.0.0.0/8 a_in true 9 [{false [65004 9]}]\n",
		"10.0.0.0/8 c_in true 0 [{false [65003 7]} {true [8 5]} {false [4]} {true [1]}]\n", "16.0.1.0/24 static1 false 0 []\n"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	none := func(r birdRoute) bool {
		t.Errorf("%+v", r)
		return true
	}
	if err := readBIRD(strings.NewReader("0001 BIRD 2.0.12 ready.\n8001 Network not found\n"), none); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "0001 BIRD 2.0.12 ready.\n", "9001 syntax error\n", "x\n", "1007-10.0.0.0/99 unicast [a 1] (100)\n"} {
		if err := readBIRD(strings.NewReader(bad), none); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
	for cut := range len(routesOfBIRD) - len("0000 \n") {
		if err := readBIRD(strings.NewReader(routesOfBIRD[:cut]), func(birdRoute) bool { return true }); err == nil {
			t.Fatalf("%q is no error", routesOfBIRD[:cut])
		}
	}
}
