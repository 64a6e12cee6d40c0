package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/federation"
)

// federationFile is the configuration of a domain.
const federationFile = "federation.yaml"

func (a *app) federateVerb() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "federate",
		Short: "Answer other domains from copies of this domain's router",
		Long: "Answer the peers of federation.yaml until interrupted. Messages go to copies of this domain's " +
			"router, and a peer learns a few bits about each. The router itself continues undisturbed. All " +
			"answers are in a signed log. `federate check` follows a message through the copies of all domains.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.federate(c.Context(), file) },
	}
	c.PersistentFlags().StringVar(&file, "config", federationFile, "the `file` that describes this domain, its router and its peers")
	c.AddCommand(a.federateCheckVerb(&file), a.federateOriginVerb(&file), a.federateKeyVerb(), a.federateAuditVerb(&file))
	return c
}

// ownDomain is this domain as its configuration describes it.
type ownDomain struct {
	conf  *config.Federation
	self  federation.Identity
	peers []*federation.Peer
}

func (a *app) ownDomain(file string) (*ownDomain, error) {
	f, notes, err := config.LoadFederation(file)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		a.note("%s", n)
	}
	text, err := os.ReadFile(f.Key)
	if err != nil {
		return nil, fmt.Errorf("the key of %s: %w; make one with `bloodhound live federate key FILE`", file, err)
	}
	key, err := federation.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Key, err)
	}
	d := &ownDomain{conf: f, self: federation.Identity{Name: f.Name, Key: key}}
	for _, p := range f.Peers {
		d.peers = append(d.peers, &federation.Peer{Name: p.Name, Key: p.Key, Address: p.Address, Neighbour: p.Session.IsValid(),
			Prefixes: prefixset.FromRanges(p.Prefixes...),
			Budget:   federation.Budget{Total: p.Queries, PerMinute: p.QueriesPerMinute}})
	}
	return d, nil
}

// peer is the peer of a name, or nil.
func (d *ownDomain) peer(name string) *federation.Peer {
	for _, p := range d.peers {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// router is this domain's router.
func (d *ownDomain) router() federation.Router {
	neighbours := map[string]netip.Addr{}
	for _, p := range d.conf.Peers {
		if p.Session.IsValid() {
			neighbours[p.Name] = p.Session
		}
	}
	if d.conf.Socket != "" {
		return &federation.Service{ASN: d.conf.ASN, Socket: d.conf.Socket, Neighbours: neighbours}
	}
	return &federation.BIRD{ASN: d.conf.ASN, PIDFile: d.conf.PIDFile, Control: d.conf.Control, Neighbours: neighbours}
}

func (a *app) federate(ctx context.Context, file string) error {
	d, err := a.ownDomain(file)
	if err != nil {
		return err
	}
	log, err := federation.OpenLog(d.conf.Log, d.self)
	if err != nil {
		return err
	}
	defer log.Close()
	router := d.router()
	// What would make each check fail is better known now.
	c, err := router.Checkpoint(ctx)
	if err != nil {
		return fmt.Errorf("cannot copy the router: %w", err)
	}
	if err := c.Close(); err != nil {
		return program.Failed(err)
	}
	domain, err := federation.NewDomain(d.self, d.conf.ASN, router, d.peers, log)
	if err != nil {
		return err
	}
	domain.Note = func(err error) { a.note("%v", err) }
	defer domain.Close()
	l, err := net.Listen("tcp", d.conf.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(a.out, "domain %s answers at %s; its key is %s\n", d.self.Name, l.Addr(), federation.KeyText(d.self.Public()))
	if err := domain.Serve(ctx, l); err != nil {
		return program.Failed(err)
	}
	for _, p := range d.peers {
		if g := log.Given(p.Name); g.Entries > 0 {
			fmt.Fprintf(a.out, "%s received %s in %s\n", p.Name, plural.Count(g.Bits, "bit"), plural.Count(g.Entries, "answer"))
		}
	}
	return nil
}

func (a *app) federateCheckVerb(file *string) *cobra.Command {
	o := &announced{}
	c := &cobra.Command{
		Use:   "check --from PEER --prefix PREFIX --path ASNS",
		Short: "Follow an announcement through the copies of all domains",
		Long: "Ask this domain, for which `federate` must run, how its router would react to an announcement of a " +
			"neighbour. Follow the messages it would send through the copies of all domains.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.federateCheck(c.Context(), *file, o) },
	}
	c.Flags().StringVar(&o.from, "from", "", "the announcing neighbour, a `peer` of the configuration")
	c.Flags().StringVar(&o.prefix, "prefix", "", "the announced `prefix`")
	c.Flags().StringVar(&o.path, "path", "", "the `ASes` of the path, separated by spaces, the neighbour's first")
	c.Flags().StringSliceVar(&o.communities, "community", nil, "a `community` of the route, such as 65001:100")
	c.Flags().StringVar(&o.nextHop, "next-hop", "", "`address` of the next hop (default: the neighbour)")
	c.Flags().IntVar(&o.most, "deliveries", 256, "most `messages` to deliver")
	for _, name := range []string{"from", "prefix", "path"} {
		c.MarkFlagRequired(name)
	}
	return c
}

// announced is an announcement, as flags say it.
type announced struct {
	from, prefix, path, nextHop string
	communities                 []string
	most                        int
}

// message is the announcement as an UPDATE.
func (o *announced) message(nextHop netip.Addr) ([]byte, error) {
	p, err := prefixOf(o.prefix)
	if err != nil {
		return nil, err
	}
	r := &bgp.Attributes{NextHop: nextHop}
	var asns []uint32
	for word := range strings.FieldsSeq(o.path) {
		asn, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--path: %q is not an AS number", word)
		}
		asns = append(asns, uint32(asn))
	}
	r.Path = bgp.Sequence(asns...)
	for _, text := range o.communities {
		high, low, _ := strings.Cut(text, ":")
		x, err1 := strconv.ParseUint(high, 10, 16)
		y, err2 := strconv.ParseUint(low, 10, 16)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("--community: %q is not a community; write it as 65001:100", text)
		}
		r.Communities = append(r.Communities, bgp.Community(x<<16|y))
	}
	if o.nextHop != "" {
		if r.NextHop, err = netip.ParseAddr(o.nextHop); err != nil {
			return nil, fmt.Errorf("--next-hop: %w", err)
		}
	}
	if !r.NextHop.Is4() {
		return nil, fmt.Errorf("--next-hop: %v is not an IPv4 address", r.NextHop)
	}
	return bgp.AppendMessage(nil, &bgp.Update{Attributes: r, Announced: []netip.Prefix{p}}, bgp.AS4)
}

func prefixOf(text string) (netip.Prefix, error) {
	r, err := prefixset.ParseRange(text)
	if err == nil && r != prefixset.Exactly(r.Prefix) {
		err = fmt.Errorf("%q is more than one prefix", text)
	}
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("--prefix: %w", err)
	}
	return r.Prefix, nil
}

func (a *app) federateCheck(ctx context.Context, file string, o *announced) error {
	d, err := a.ownDomain(file)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(d.conf.Peers, func(p config.Peer) bool { return p.Name == o.from && p.Session.IsValid() })
	if i < 0 {
		return fmt.Errorf("--from: %s has no peer %s with a session", file, o.from)
	}
	m, err := o.message(d.conf.Peers[i].Session)
	if err != nil {
		return err
	}
	c := &federation.Check{Self: &d.self, Most: o.most,
		Domains: append([]*federation.Peer{{Name: d.self.Name, Key: d.self.Public(), Address: d.conf.Listen}}, d.peers...)}
	r, err := c.Run(ctx, d.self.Name, o.from, m)
	switch {
	case ctx.Err() != nil:
		return program.ErrInterrupted
	case err != nil:
		return fmt.Errorf("%w; start `bloodhound live federate` for this domain", err)
	}
	a.federateReport(r)
	return federation.Keep(d.conf.Received, r.Received)
}

// federateReport prints what a check has found.
func (a *app) federateReport(r *federation.Result) {
	for _, x := range r.Deliveries {
		fmt.Fprintf(a.out, "%s > %s: %s\n", x.From, x.Domain, x.Verdict)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(a.out, "FOUND %s\n", f)
	}
	for _, u := range r.Unfollowed {
		fmt.Fprintf(a.out, "not followed: %s\n", u)
	}
	if r.Left > 0 {
		fmt.Fprintf(a.out, "not followed: %s; --deliveries was reached\n", plural.Count(r.Left, "message"))
	}
	by := ""
	for _, name := range slices.Sorted(maps.Keys(r.Bits)) {
		by += fmt.Sprintf(", %s %d", name, r.Bits[name])
	}
	fmt.Fprintf(a.out, "%s in %s; other domains have disclosed %s%s\n", plural.Count(len(r.Findings), "finding"),
		plural.Count(len(r.Deliveries), "message"), plural.Count(r.Total(), "bit"), by)
	switch {
	case len(r.Findings) > 0:
		a.code = exitcode.Violated
	case !r.Complete():
		a.code = exitcode.Unknown
	}
}

func (a *app) federateOriginVerb(file *string) *cobra.Command {
	var prefix string
	var asn uint32
	c := &cobra.Command{
		Use:   "origin --prefix PREFIX --asn ASN [PEER...]",
		Short: "Ask peers whether an AS originates a prefix in their tables",
		Long: "Ask all peers, or the named ones, whether their tables have a route to the prefix that the AS " +
			"originates. A peer does not learn the prefix or the AS. It discloses this one bit, and the size of " +
			"its table.",
		RunE: func(c *cobra.Command, args []string) error {
			p, err := prefixOf(prefix)
			if err != nil {
				return err
			}
			return a.federateOrigin(c.Context(), *file, federation.Origin{Prefix: p, ASN: asn}, args)
		},
	}
	c.Flags().StringVar(&prefix, "prefix", "", "the `prefix` to ask about")
	c.Flags().Uint32Var(&asn, "asn", 0, "`number` of the AS")
	c.MarkFlagRequired("prefix")
	c.MarkFlagRequired("asn")
	return c
}

func (a *app) federateOrigin(ctx context.Context, file string, origin federation.Origin, names []string) error {
	d, err := a.ownDomain(file)
	if err != nil {
		return err
	}
	for _, name := range names {
		if d.peer(name) == nil {
			return fmt.Errorf("%s has no peer %s", file, name)
		}
	}
	var errs []error
	for _, p := range d.peers {
		if len(names) > 0 && !slices.Contains(names, p.Name) {
			continue
		}
		o, err := federation.AskOrigins(ctx, &d.self, p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		has, err := o.Has(ctx, origin)
		o.Close()
		err = errors.Join(err, federation.Keep(d.conf.Received, o.Received))
		switch {
		case err != nil:
			errs = append(errs, err)
		case has:
			fmt.Fprintf(a.out, "%s: AS%d originates %s\n", p.Name, origin.ASN, origin.Prefix)
		default:
			fmt.Fprintf(a.out, "%s: no, among %s\n", p.Name, plural.Count(o.Size(), "origin"))
		}
	}
	if ctx.Err() != nil {
		return program.ErrInterrupted
	}
	return errors.Join(errs...)
}

func (a *app) federateKeyVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make the key of a domain and print the public key",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, public, err := federation.NewKey()
			if err != nil {
				return program.Failed(err)
			}
			f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			if _, err := f.Write(text); err != nil {
				return errors.Join(err, f.Close())
			}
			fmt.Fprintln(a.out, federation.KeyText(public))
			return f.Close()
		},
	}
}

func (a *app) federateAuditVerb(file *string) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use:   "audit [LOG]",
		Short: "Verify a domain's log of answers",
		Long: "Verify the signatures of a log, that no entry is missing or added, and that each message belongs to " +
			"its entry. The log is this domain's, unless --of names a peer. Then everything that the peer signed " +
			"for this domain must also be in it.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := a.ownDomain(*file)
			if err != nil {
				return err
			}
			var received []federation.Statement
			by, key := d.self.Name, d.self.Public()
			if of != "" {
				p := d.peer(of)
				if p == nil || len(args) == 0 {
					return fmt.Errorf("--of needs a peer of %s, and the file of its log", *file)
				}
				by, key = p.Name, p.Key
				if received, err = federation.Kept(d.conf.Received); err != nil {
					return err
				}
			}
			return a.federateAudit(append(args, d.conf.Log)[0], by, key, received)
		},
	}
	c.Flags().StringVar(&of, "of", "", "the `peer` that wrote the log")
	return c
}

func (a *app) federateAudit(name, domain string, key ed25519.PublicKey, received []federation.Statement) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	given, err := federation.Audit(f, domain, key, received)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, peer := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(a.out, "%s received %s in %s\n", peer, plural.Count(given[peer].Bits, "bit"), plural.Count(given[peer].Entries, "answer"))
	}
	return nil
}
