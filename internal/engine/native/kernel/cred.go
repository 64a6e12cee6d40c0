//go:build linux && amd64

package kernel

import (
	"slices"
	"strconv"
	"strings"
)

// AllCaps are the capabilities that there are, up to CAP_CHECKPOINT_RESTORE.
const AllCaps = 1<<41 - 1

// PermittedCaps and effective are the capabilities of a process (capabilities(7)): root has them all, others what was kept for
// them over a change of ids.
func (c *Cred) PermittedCaps() uint64 {
	if c.UID == 0 || c.EUID == 0 || c.SUID == 0 {
		return AllCaps
	}
	return c.Permitted
}

// EffectiveCaps are the capabilities in force.
func (c *Cred) EffectiveCaps() uint64 {
	if c.EUID == 0 {
		return AllCaps
	}
	return c.Effective
}

// May reports whether a process has a capability.
func (c *Cred) May(capability int) bool { return c.EffectiveCaps()&(1<<capability) != 0 }

// Follow changes capabilities as a change of user ids does.
func (c *Cred) Follow(before *Cred) {
	if before.EUID == 0 && c.EUID != 0 {
		c.Effective = 0
	}
	root := func(c *Cred) bool { return c.UID == 0 || c.EUID == 0 || c.SUID == 0 }
	if root(before) && !root(c) {
		c.Permitted = 0
		if c.KeepCaps {
			c.Permitted = AllCaps
		}
	}
}

// Join adds groups of the node's /etc/group, by name or number.
func (c *Cred) Join(groups []string, group string) error {
	for _, name := range groups {
		gid, err := strconv.Atoi(name)
		for line := range strings.Lines(group) {
			if f := strings.Split(strings.TrimSpace(line), ":"); len(f) >= 3 && f[0] == name {
				gid, err = strconv.Atoi(f[2])
				break
			}
		}
		if err != nil {
			return &UserError{name, "no such group in the node's /etc/group"}
		}
		if !slices.Contains(c.Groups, gid) {
			c.Groups = append(c.Groups, gid)
		}
	}
	return nil
}

// UserError says that a node's user does not exist.
type UserError struct{ User, What string }

func (e *UserError) Error() string { return "user " + strconv.Quote(e.User) + ": " + e.What }
