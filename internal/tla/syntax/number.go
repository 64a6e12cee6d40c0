package syntax

import "math/big"

// rebase writes digits of another base in decimal.
func rebase(digits string, base int) string {
	n, _ := new(big.Int).SetString(digits, base)
	return n.String()
}
