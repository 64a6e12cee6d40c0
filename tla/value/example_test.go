package value_test

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// A function whose domain is 1..n is a tuple, and a set has each member once, in order.
func Example() {
	one, two := value.Int(1), value.Int(2)
	f := value.FunctionOf([]value.Value{two, one}, []value.Value{value.Text("b"), value.Text("a")})
	fmt.Println(f, value.Apply(f, two))

	s := value.NewSet([]value.Value{two, one, two})
	fmt.Println(s, value.Contains(s, one), value.Size(s))
	fmt.Println(value.Equal(value.Domain(f), s))
	// Output:
	// <<"a", "b">> "b"
	// {1, 2} true 2
	// true
}
