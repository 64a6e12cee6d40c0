package policy

import (
	"fmt"
	"regexp"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

var name = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// Check reports what neither router would take: a bad name, a range without a length, a condition that is an empty list.
func (p *Policy) Check() error {
	if !name.MatchString(p.Name) {
		return fmt.Errorf("policy %q needs a name of letters, digits and underscores that begins with a letter", p.Name)
	}
	for i, s := range p.Statements {
		if s.Prefixes != nil && len(s.Prefixes) == 0 || s.Origins != nil && len(s.Origins) == 0 || s.Communities != nil && len(s.Communities) == 0 {
			return fmt.Errorf("policy %s: statement %d has an empty list, with which no route would match; leave the condition out, or the statement",
				p.Name, i+1)
		}
		for _, r := range s.Prefixes {
			if !r.Prefix.IsValid() || !r.Prefix.Addr().Is4() || r.Prefix != r.Prefix.Masked() ||
				max(r.Min, r.Prefix.Bits()) > r.Max || r.Max >= prefixset.Lengths {
				return fmt.Errorf("policy %s: statement %d has the range %v ge %d le %d; it needs an IPv4 prefix "+
					"without bits beyond its length, and ge <= le <= 32",
					p.Name, i+1, r.Prefix, r.Min, r.Max)
			}
		}
	}
	return nil
}
