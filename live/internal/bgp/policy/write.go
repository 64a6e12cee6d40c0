package policy

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// BIRD writes the policy as a filter of BIRD 2, by the policy's name.
func (p *Policy) BIRD(w io.Writer) error {
	if err := p.Check(); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "filter %s {\n", p.Name)
	for _, s := range p.Statements {
		var conditions []string
		if s.Prefixes != nil {
			var list []string
			for _, r := range s.Prefixes {
				list = append(list, fmt.Sprintf("%v{%d,%d}", r.Prefix, max(r.Min, r.Prefix.Bits()), r.Max))
			}
			conditions = append(conditions, fmt.Sprintf("net ~ [ %s ]", strings.Join(list, ", ")))
		}
		if s.Origins != nil {
			conditions = append(conditions, fmt.Sprintf("bgp_path.last ~ [ %s ]", list(s.Origins, "%d")))
		}
		if s.Communities != nil {
			var parts []string
			for _, c := range s.Communities {
				parts = append(parts, fmt.Sprintf("(%d,%d)", c>>16, c&0xffff))
			}
			conditions = append(conditions, fmt.Sprintf("bgp_community ~ [ %s ]", strings.Join(parts, ", ")))
		}
		if len(conditions) == 0 {
			fmt.Fprintf(b, "\t%s;\n", verdict(s.Accept))
		} else {
			fmt.Fprintf(b, "\tif %s then %s;\n", strings.Join(conditions, " && "), verdict(s.Accept))
		}
	}
	fmt.Fprintf(b, "\t%s;\n}\n", verdict(p.Accept))
	return b.Flush()
}

func verdict(accept bool) string {
	if accept {
		return "accept"
	}
	return "reject"
}

func list[T any](values []T, format string) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf(format, v))
	}
	return strings.Join(texts, ", ")
}

// GoBGP writes the policy in the TOML of GoBGP's configuration: sets and a policy definition of the policy's name, which applies to routes of one
// neighbour. The import-policy-list of the configuration must have that name.
func (p *Policy) GoBGP(w io.Writer, neighbour netip.Addr) error {
	if err := p.Check(); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "[[defined-sets.neighbor-sets]]\n  neighbor-set-name = %q\n  neighbor-info-list = [%q]\n", p.Name, neighbour)
	for i, s := range p.Statements {
		set := fmt.Sprintf("%s-%d", p.Name, i+1)
		if s.Prefixes != nil {
			fmt.Fprintf(b, "[[defined-sets.prefix-sets]]\n  prefix-set-name = %q\n", set)
			for _, r := range s.Prefixes {
				fmt.Fprintf(b, "  [[defined-sets.prefix-sets.prefix-list]]\n    ip-prefix = %q\n    masklength-range = \"%d..%d\"\n",
					r.Prefix, max(r.Min, r.Prefix.Bits()), r.Max)
			}
		}
		if s.Origins != nil {
			fmt.Fprintf(b, "[[defined-sets.bgp-defined-sets.as-path-sets]]\n  as-path-set-name = %q\n  as-path-list = [%s]\n", set, list(s.Origins, `"_%d$"`))
		}
		if s.Communities != nil {
			fmt.Fprintf(b, "[[defined-sets.bgp-defined-sets.community-sets]]\n  community-set-name = %q\n  community-list = [%s]\n",
				set, communities(s.Communities))
		}
	}
	fmt.Fprintf(b, "[[policy-definitions]]\n  name = %q\n", p.Name)
	for i, s := range append(p.Statements[:len(p.Statements):len(p.Statements)], Statement{Accept: p.Accept}) {
		set := fmt.Sprintf("%s-%d", p.Name, i+1)
		const of = "  [policy-definitions.statements.conditions."
		fmt.Fprintf(b, "  [[policy-definitions.statements]]\n    name = %q\n", set)
		fmt.Fprintf(b, of+"match-neighbor-set]\n    neighbor-set = %q\n", p.Name)
		if s.Prefixes != nil {
			fmt.Fprintf(b, of+"match-prefix-set]\n    prefix-set = %q\n", set)
		}
		if s.Origins != nil {
			fmt.Fprintf(b, of+"bgp-conditions.match-as-path-set]\n    as-path-set = %q\n", set)
		}
		if s.Communities != nil {
			fmt.Fprintf(b, of+"bgp-conditions.match-community-set]\n    community-set = %q\n", set)
		}
		fmt.Fprintf(b, "  [policy-definitions.statements.actions]\n    route-disposition = \"%s-route\"\n", verdict(s.Accept))
	}
	return b.Flush()
}

func communities(values []bgp.Community) string {
	var texts []string
	for _, c := range values {
		texts = append(texts, fmt.Sprintf("\"%d:%d\"", c>>16, c&0xffff))
	}
	return strings.Join(texts, ", ")
}
