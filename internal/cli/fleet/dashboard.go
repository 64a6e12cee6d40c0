package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/dashboard"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
)

// tokenVariable has the token of a dashboard where no file has it.
const tokenVariable = "BLOODHOUND_DASHBOARD_TOKEN"

// Bounds of the dashboard's server.
const (
	headerTime     = 10 * time.Second
	idleTime       = 2 * time.Minute // between two requests of a connection
	maxHeaderBytes = 64 << 10
	drainTime      = 3 * time.Second
)

// dashboardFlags are those of dashboard.
type dashboardFlags struct {
	store     string
	listen    string
	tokenFile string
	export    string
	header    string
	hosts     []string
	noToken   bool
}

func dashboardVerb(a *console.App) *cobra.Command {
	f := &dashboardFlags{}
	c := &cobra.Command{
		Use:   "dashboard",
		Short: "Show a store's contents in the browser",
		Long: "Serve pages about the tests, failures, workers and corpus of a store, a JSON API below /api/v1/, " +
			"and metrics for Prometheus at /metrics. No worker needs to run. The dashboard also serves the store " +
			"itself to workers whose --store is its URL.\n\nWith --export, write the pages as files and exit. " +
			"Without a token, the dashboard listens on loopback addresses only.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serveDashboard(c.Context(), a, f) },
	}
	database.AddStoreFlag(c, &f.store, "")
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8123", "listen on this `address`; port 0 means any free port")
	c.Flags().Var(flags.File(&f.tokenFile), "token-file", "read the token that opens the dashboard from this `file` (default: "+tokenVariable+")")
	c.Flags().BoolVar(&f.noToken, "no-token", false, "let in everyone who can reach the address, without a token")
	c.Flags().StringVar(&f.header, "proxy-header", "",
		"admit requests with this `header`, which a reverse proxy sets to the user's name and strips from incoming requests")
	c.Flags().StringArrayVar(&f.hosts, "host", nil,
		"extra host `name` to accept with --no-token (guards against DNS rebinding)")
	c.Flags().Var(flags.File(&f.export), "export", "write all pages into this `folder` and exit")
	return c
}

func serveDashboard(ctx context.Context, a *console.App, f *dashboardFlags) error {
	guard, err := f.guard()
	if err != nil {
		return err
	}
	if f.export == "" {
		if err := guard.CheckListen(ctx, f.listen, f.noToken); err != nil {
			return err
		}
	}
	db, err := open.Served(database.StoreURL(f.store, open.Default))
	if err != nil {
		return fmt.Errorf("%w; give the store of the workers with --store", err)
	}
	defer db.Close()
	d := &dashboard.Dashboard{Store: db, Bloodhound: program.Version(), Now: time.Now, Guard: guard}
	if guard.Token != "" || guard.Header == "" { // users of a proxy are no workers
		d.Mounted = remote.Handler(db, guard.Token)
	}
	if f.export != "" {
		n, err := d.Export(ctx, f.export)
		if err != nil {
			return console.Failed(err)
		}
		fmt.Fprintf(a.Out, "%s, from %s\n", plural.Count(n, "page"), filepath.Join(f.export, "index.html"))
		return nil
	}
	return serve(ctx, a, d, f.listen)
}

// guard decides by the flags who sees the dashboard.
func (f *dashboardFlags) guard() (g dashboard.Guard, err error) {
	g = dashboard.Guard{Header: f.header, Hosts: f.hosts, Guesses: dashboard.NewGuesses(time.Now)}
	g.Token, err = f.token()
	return g, err
}

// token reads the token from the file, or else from the variable; it is empty if neither has one.
func (f *dashboardFlags) token() (string, error) {
	if f.tokenFile == "" {
		return os.Getenv(tokenVariable), nil
	}
	token, err := remote.ReadToken(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return token, nil
}

// serverOf bounds what a client can do to the server before a handler sees its request. The handler bounds bodies and answers.
func serverOf(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return ctx }}
}

// serve serves a dashboard until ctx ends.
func serve(ctx context.Context, a *console.App, d *dashboard.Dashboard, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return console.Failed(fmt.Errorf("--listen: %w; choose another port, or 0 for any free one", err))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := serverOf(ctx, d.Handler(ctx))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Fprintf(a.Out, "http://%s shows %s; Ctrl-C stops it\n", l.Addr(), d.Store)
	select {
	case err := <-ended:
		return console.Failed(err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := server.Shutdown(drain); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return console.Failed(err)
	}
	return nil
}
