// Package redisclient knows what a go-redis client does of its own accord.
package redisclient

import "github.com/redis/go-redis/v9"

// SetsUpConnection reports whether commands are those with which a client sets up a connection (baseClient.initConn of go-redis):
// it passes them to the hooks too, though no program called for them, and how many there are depends on how many connections the
// pool happens to open.
func SetsUpConnection(commands ...redis.Cmder) bool {
	for _, cmd := range commands {
		switch cmd.Name() {
		case "hello", "auth", "select", "readonly", "client":
		default:
			return false
		}
	}
	return true
}
