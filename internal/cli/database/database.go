// Package database opens the database of a project for verbs.
package database

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// WithStore calls f with a database. What it adds to a local one in front of a shared one is in both afterwards.
func WithStore(ctx context.Context, a *console.App, url string, opens func(string) (store.Store, error), f func(store.Store) error) error {
	s, err := opens(url)
	if err != nil {
		return err
	}
	err = f(s)
	if l, ok := s.(*store.Layered); ok && err == nil {
		err = l.Flush(ctx)
	}
	if closing := s.Close(); err == nil {
		err = closing
	}
	var own *program.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case ctx.Err() != nil:
		return program.WithCode(check.ExitUnknown, errors.New("interrupted; the same command continues"))
	}
	return console.Failed(err)
}

// NoteDamages prints what reading a database has found damaged, and how many there are.
func NoteDamages(a *console.App, s store.Store) []store.Damage {
	list := store.Damages(s)
	for _, d := range list {
		a.Note("%s is damaged: %s: %s; `bloodhound db fsck` lists all damage", s, d.What, d.Damage)
	}
	return list
}

// AsMistake marks an error as the user's, within WithStore.
func AsMistake(err error) error { return program.WithCode(check.ExitUsage, err) }

// storeVariable names the store where no flag does, so that no password is an argument.
const storeVariable = "BLOODHOUND_STORE"

// AddStoreFlag is of the verbs that use a store; beside says where the default one lies.
func AddStoreFlag(c *cobra.Command, url *string, beside string) {
	c.Flags().StringVar(url, "store", "", "the store, a `URL` or a folder (default: "+storeVariable+", or .bloodhound/store"+beside+")")
}

// StoreURL is the store that a flag names, or else the environment.
func StoreURL(flag, otherwise string) string {
	return cmp.Or(flag, os.Getenv(storeVariable), otherwise)
}

// ViewOf reads the entries under a prefix into a View.
func ViewOf(ctx context.Context, s store.Store, prefix string) (*records.View, error) {
	v := records.NewView()
	_, err := s.Read(ctx, prefix, "", func(e store.Entry) error { v.AddEntry(e); return nil })
	return v, err
}

// UserName names who asks workers for something.
func UserName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}
