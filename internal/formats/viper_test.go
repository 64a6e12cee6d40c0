package formats

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestViper(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"reads and writes", map[string]string{"J1.log": `{"value":[["w",1,7,true],["w",2,8,false]]}` + "\n" +
			`{"value":[["r",1,7,false],["r",2,"nil",false]]}` + "\n", "J2.log": `{"value":[["r",1,null,false]]}`,
			"check_result.txt": "x"}, `J1 ok [["w",1,7]]
J2 ok [["r",1,null]]
J1 ok [["r",1,7],["r",2,null]]`},
		{"inserts, deletes and ranges", map[string]string{"J1.log": `{"value":[["i",2,7,"nil",false,true]]}
{"value":[["d",2,9,7,false,true]]}
{"value":[["range",1,10,[{"id":3,"val":4}],[{"id":2,"val":9}]]]}
{"value":[["range","nil",2,[],[{"id":2,"val":9}]],["w",10,1,true],["w",11,1,true]]}`}, `J1 ok [["r",2,null],["w",2,7]]
J1 ok [["r",2,7],["w",2,9]]
J1 ok [["r",3,4],["r",2,9],["r",1,null],["r",10,null]]
J1 ok [["r",2,9],["r",1,null],["w",10,1],["w",11,1]]`},
		{"values at first", map[string]string{"J0.log": `{"value":[["w",1,5,true]],"isInitial":true}`,
			"J1.log": `{"value":[["r",1,5,false],["r",1,"nil",false],["r",2,"nil",false]]}`},
			`J1 ok [["r",1,null],["r",1,"no value, although there was one at first"],["r",2,null]]`},
		{"EDN", map[string]string{"Jep.log": "{:type :ok, :f :txn, :value [[:r 1 nil false] [:w 1 \"a\" true]]}\n{:type :info, :f " +
			":txn, :value [[:w 1 3 true]]}"}, `Jep ok [["r",1,null],["w",1,"a"]]`},
	} {
		files := fstest.MapFS{}
		for name, text := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		events, err := ReadFolder(files)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := told(t, events); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	for line, want := range map[string]string{
		`[]`:                               "not a transaction",
		`{"value":7}`:                      "not a list of accesses",
		`{"value":[["x",1,2]]}`:            "an access must be r, w, range",
		`{"value":[["w","a",2,true]]}`:     "not an integer",
		`{"value":[["w",1,null,true]]}`:    "without a value",
		`{"value":[["range",1,2,[7],[]]]`:  "line 1: ",
		`{"value":[["range",1,2,[7],[]]]}`: "no id and val",
		`{"value":[["r",1]]}`:              "not an access",
	} {
		_, err := readViper(fstest.MapFS{"J1.log": {Data: []byte(line)}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "J1.log: line 1: ") {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
