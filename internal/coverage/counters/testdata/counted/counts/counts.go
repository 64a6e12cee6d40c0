// Package counts is code that is counted.
package counts

// Sign has a way for each sign.
func Sign(n int) string {
	text := "zero"
	if n > 0 {
		text = "positive"
	}
	if n < 0 {
		text = "negative"
		for range -n {
			text += "-"
		}
	}
	return text
}
